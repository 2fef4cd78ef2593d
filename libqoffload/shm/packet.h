/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages with descriptors over a SOCK_SEQPACKET socket between processes of
 * one node: whole or not at all, never blocking, no SIGPIPE.
 */
#ifndef QOI_PACKET_H
#define QOI_PACKET_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#define QOI_PACKET_FDS_MAX 2

/* A message; receivers own fds, -1 where none came. */
struct qoi_packet {
	struct iovec parts[2];
	int fds[QOI_PACKET_FDS_MAX];
	uint32_t fd_count;
	uint32_t fds_lost; /* 1: came with descriptors, no room for them here */
};

/*
 * A socket, non-blocking and closed on exec, with room for a few large
 * messages.  Returns 0 or -ENOMEM, with errno as it is.
 */
int qoi_packet_socket(int *fd_out);

/*
 * Who is at the other end, as the kernel knows it.
 * Returns 0, or -EPERM: neither this user nor root; pid_out is set.
 */
int qoi_packet_peer(int fd, pid_t *pid_out);

/*
 * Whether a process is of this very user.  In a user name space without a name
 * for it, all strangers have one number: then only who is in the same name
 * space is no stranger.
 */
int qoi_packet_is_own_user(uid_t uid, pid_t pid);

/* Returns 0, -EAGAIN, -ECONNRESET, -ENOMEM (too many descriptors), -EIO. */
int qoi_packet_send(int fd, const struct qoi_packet *packet);

/*
 * Takes one message whole.
 * Returns 0, -EAGAIN, -ECONNRESET (hung up), -EBADMSG (larger than the parts,
 * or with more descriptors; what came was closed), -EIO.
 */
int qoi_packet_recv(int fd, struct qoi_packet *packet, size_t *bytes_out);

/* Size of the next message, without taking it: 0, -EAGAIN, -ECONNRESET. */
int qoi_packet_next(int fd, size_t *bytes_out);

void qoi_packet_init(struct qoi_packet *packet, void *data, size_t bytes);
void qoi_packet_close(struct qoi_packet *packet);
/* Closes a descriptor that a stranger sent, of whatever sort it is. */
void qoi_packet_close_fd(int fd);
/*
 * How that is done in this process, for who must not wait for it; NULL: by
 * close(2).  Before the first packet is received.
 */
void qoi_packet_set_closer(void (*closer)(int fd));

#endif
