/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sockets between endpoints: SOCK_SEQPACKET, in the abstract name space, so
 * that no name outlives its socket; non-blocking, close-on-exec, no SIGPIPE.
 */
#ifndef QO_SHM_SOCKET_H
#define QO_SHM_SOCKET_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#define QO_SHM_FDS_MAX 2

/* A message; receivers own fds, -1 where none came. */
struct qo_shm_packet {
	struct iovec parts[2];
	int fds[QO_SHM_FDS_MAX];
	uint32_t fd_count;
	uint32_t fds_lost; /* 1: came with descriptors, no room for them here */
};

/* Failures to open one are told by their callers, with errno as it is. */

/* Returns 0, -ENOMEM, -EPERM. */
int qo_shm_socket_listen(const uint8_t *id, int *fd_out);

/* Returns 0, -EAGAIN (too many at its door), -ECONNRESET, -ENOMEM, -EPERM. */
int qo_shm_socket_connect(const uint8_t *id, int *fd_out);

/*
 * Who is at the other end, as the kernel knows it.
 * Returns 0, or -EPERM: neither this user nor root; pid_out is set.
 */
int qo_shm_socket_peer(int fd, pid_t *pid_out);

/* Returns 0, -EAGAIN, -ECONNRESET, -ENOMEM (too many descriptors), -EIO. */
int qo_shm_socket_send(int fd, const struct qo_shm_packet *packet);

/*
 * Takes one message whole.
 * Returns 0, -EAGAIN, -ECONNRESET (hung up), -EBADMSG (larger than the parts,
 * or with more descriptors; what came was closed), -EIO.
 */
int qo_shm_socket_recv(int fd, struct qo_shm_packet *packet, size_t *bytes_out);

/* Size of the next message, without taking it: 0, -EAGAIN, -ECONNRESET. */
int qo_shm_socket_next(int fd, size_t *bytes_out);

void qo_shm_packet_init(struct qo_shm_packet *packet, void *data, size_t bytes);
void qo_shm_packet_close(struct qo_shm_packet *packet);

#endif
