/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "libqoffload/shm/packet.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libqoffload/base/error.h"

/* For a few control messages of the largest size; the kernel may cut it. */
#define SEND_BUFFER_BYTES (1 << 20)
/* Where the kernel does not say. */
#define OVERFLOW_UID 65534
/* SCM_MAX_FD of the kernel. */
#define FDS_SENT_MAX 253

int qoi_packet_socket(int *fd_out)
{
	int bytes = SEND_BUFFER_BYTES;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC,
			0);

	if (fd < 0)
		return -ENOMEM;
	/* More is better, less still works. */
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	*fd_out = fd;
	return 0;
}

/* What an unmapped uid reads as; see user_namespaces(7). */
static uid_t overflow_uid(void)
{
	char text[16] = "";
	int fd = open("/proc/sys/kernel/overflowuid", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return OVERFLOW_UID;
	if (read(fd, text, sizeof(text) - 1) <= 0)
		text[0] = '\0';
	close(fd);
	return text[0] == '\0' ? OVERFLOW_UID : (uid_t)strtoul(text, NULL, 10);
}

static int shares_user_name_space(pid_t pid)
{
	struct stat own, its;
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	return stat("/proc/self/ns/user", &own) == 0 && stat(path, &its) == 0 &&
	       own.st_dev == its.st_dev && own.st_ino == its.st_ino;
}

int qoi_packet_is_own_user(uid_t uid, pid_t pid)
{
	if (uid != geteuid())
		return 0;
	return uid != overflow_uid() || shares_user_name_space(pid);
}

int qoi_packet_peer(int fd, pid_t *pid_out)
{
	struct ucred peer = { 0, 0, 0 };
	socklen_t bytes = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0)
		return -EPERM;
	*pid_out = peer.pid;
	return peer.uid == 0 || qoi_packet_is_own_user(peer.uid, peer.pid)
		       ? 0
		       : -EPERM;
}

void qoi_packet_init(struct qoi_packet *packet, void *data, size_t bytes)
{
	memset(packet, 0, sizeof(*packet));
	packet->parts[0].iov_base = data;
	packet->parts[0].iov_len = bytes;
	for (uint32_t i = 0; i < QOI_PACKET_FDS_MAX; i++)
		packet->fds[i] = -1;
}

static void close_now(int fd)
{
	close(fd);
}

static void (*close_stranger)(int fd) = close_now;

void qoi_packet_set_closer(void (*closer)(int fd))
{
	close_stranger = closer == NULL ? close_now : closer;
}

void qoi_packet_close_fd(int fd)
{
	close_stranger(fd);
}

void qoi_packet_close(struct qoi_packet *packet)
{
	for (uint32_t i = 0; i < packet->fd_count; i++)
		qoi_packet_close_fd(packet->fds[i]);
	packet->fd_count = 0;
}

int qoi_packet_send(int fd, const struct qoi_packet *packet)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(QOI_PACKET_FDS_MAX * sizeof(int))];
	} control = { .bytes = { 0 } };
	struct msghdr message = {
		.msg_iov = (struct iovec *)packet->parts,
		.msg_iovlen = 2,
	};
	size_t fds_bytes = packet->fd_count * sizeof(int);

	if (packet->fd_count > 0) {
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(fds_bytes);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(fds_bytes);
		memcpy(CMSG_DATA(&control.header), packet->fds, fds_bytes);
	}
	if (sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
		return 0;
	switch (errno) {
	case EAGAIN:
	case EINTR:
	case ENOBUFS:
		return -EAGAIN;
	case EPIPE:
	case ECONNRESET:
	case ENOTCONN:
		return -ECONNRESET;
	case ETOOMANYREFS:
		return qoi_fail(-ENOMEM, "too many descriptors on their "
					 "way; raise the limit of open files "
					 "(ulimit -n)");
	default:
		return qoi_fail(-EIO, "sendmsg: %m");
	}
}

/* Returns 1 when more came than are wanted; those are closed. */
static int collect_fds(struct msghdr *message, struct qoi_packet *packet)
{
	struct cmsghdr *header = CMSG_FIRSTHDR(message);
	int excess = 0;

	for (; header != NULL; header = CMSG_NXTHDR(message, header)) {
		const unsigned char *data = CMSG_DATA(header);
		size_t count;

		if (header->cmsg_level != SOL_SOCKET ||
		    header->cmsg_type != SCM_RIGHTS)
			continue;
		count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < count; i++) {
			int fd;

			memcpy(&fd, data + i * sizeof(fd), sizeof(fd));
			if (packet->fd_count < QOI_PACKET_FDS_MAX) {
				packet->fds[packet->fd_count++] = fd;
				continue;
			}
			excess = 1;
			qoi_packet_close_fd(fd);
		}
	}
	return excess;
}

int qoi_packet_recv(int fd, struct qoi_packet *packet, size_t *bytes_out)
{
	/* Room for all that can come: what the kernel drops, it drops here. */
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(FDS_SENT_MAX * sizeof(int))];
	} control;
	struct msghdr message = {
		.msg_iov = packet->parts,
		.msg_iovlen = 2,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	int flags = MSG_DONTWAIT | MSG_CMSG_CLOEXEC;
	ssize_t bytes = recvmsg(fd, &message, flags);
	int excess;

	/*
	 * A peer that closes with unread messages leaves this error, once,
	 * before what it sent earlier.
	 */
	if (bytes < 0 && errno == ECONNRESET)
		bytes = recvmsg(fd, &message, flags);
	packet->fd_count = 0;
	if (bytes < 0) {
		if (errno == EAGAIN || errno == EINTR)
			return -EAGAIN;
		if (errno == ECONNRESET || errno == ENOTCONN)
			return -ECONNRESET;
		return qoi_fail(-EIO, "recvmsg: %m");
	}
	excess = collect_fds(&message, packet);
	/* With no descriptor left in this process, not all of them arrive. */
	packet->fds_lost = (message.msg_flags & MSG_CTRUNC) != 0;
	if (packet->fds_lost)
		qoi_packet_close(packet);
	if ((message.msg_flags & MSG_TRUNC) != 0 || excess) {
		qoi_packet_close(packet);
		return -EBADMSG;
	}
	/* Nobody here sends empty messages: it is the end. */
	if (bytes == 0) {
		qoi_packet_close(packet);
		return -ECONNRESET;
	}
	*bytes_out = (size_t)bytes;
	return 0;
}

int qoi_packet_next(int fd, size_t *bytes_out)
{
	int flags = MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT;
	ssize_t bytes = recv(fd, NULL, 0, flags);

	/* As above. */
	if (bytes < 0 && errno == ECONNRESET)
		bytes = recv(fd, NULL, 0, flags);
	if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
		return -EAGAIN;
	if (bytes <= 0)
		return -ECONNRESET;
	*bytes_out = (size_t)bytes;
	return 0;
}
