/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "providers/shm/socket.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "libqoffload/base/error.h"
#include "providers/shm/wire.h"

/* The kernel takes its own limit when that is lower. */
#define BACKLOG_MAX 4096
/* For a few control messages of the largest size; the kernel may cut it. */
#define SEND_BUFFER_BYTES (1 << 20)

static int open_socket(int *fd_out)
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

static socklen_t name_of(const uint8_t *id, struct sockaddr_un *name_out)
{
	char *text = name_out->sun_path + 1; /* a leading 0: abstract */
	int length;

	length = sprintf(text, "qoffload-");
	for (uint32_t i = 0; i < QO_SHM_ID_BYTES; i++)
		length += sprintf(text + length, "%02x", id[i]);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   (size_t)length);
}

int qo_shm_socket_listen(const uint8_t *id, int *fd_out)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	socklen_t bytes = name_of(id, &name);
	int fd;
	int rc = open_socket(&fd);

	if (rc != 0)
		return rc;
	if (bind(fd, (struct sockaddr *)&name, bytes) != 0 ||
	    listen(fd, BACKLOG_MAX) != 0) {
		rc = errno == EPERM || errno == EACCES ? -EPERM : -ENOMEM;
		close(fd);
		return rc;
	}
	*fd_out = fd;
	return 0;
}

int qo_shm_socket_connect(const uint8_t *id, int *fd_out)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	socklen_t bytes = name_of(id, &name);
	int fd;
	int rc = open_socket(&fd);

	if (rc != 0)
		return rc;
	if (connect(fd, (struct sockaddr *)&name, bytes) == 0) {
		*fd_out = fd;
		return 0;
	}
	if (errno == EAGAIN || errno == EINTR)
		rc = -EAGAIN;
	else if (errno == ECONNREFUSED)
		rc = -ECONNRESET;
	else if (errno == EPERM || errno == EACCES)
		rc = -EPERM;
	else
		rc = -ENOMEM;
	close(fd);
	return rc;
}

int qo_shm_socket_peer(int fd, pid_t *pid_out)
{
	struct ucred peer = { 0, 0, 0 };
	socklen_t bytes = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0)
		return -EPERM;
	*pid_out = peer.pid;
	return peer.uid == geteuid() || peer.uid == 0 ? 0 : -EPERM;
}

void qo_shm_packet_init(struct qo_shm_packet *packet, void *data, size_t bytes)
{
	memset(packet, 0, sizeof(*packet));
	packet->parts[0].iov_base = data;
	packet->parts[0].iov_len = bytes;
	for (uint32_t i = 0; i < QO_SHM_FDS_MAX; i++)
		packet->fds[i] = -1;
}

void qo_shm_packet_close(struct qo_shm_packet *packet)
{
	for (uint32_t i = 0; i < packet->fd_count; i++)
		close(packet->fds[i]);
	packet->fd_count = 0;
}

int qo_shm_socket_send(int fd, const struct qo_shm_packet *packet)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(QO_SHM_FDS_MAX * sizeof(int))];
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
		return qoi_fail(-ENOMEM, "shm: too many descriptors on their "
					 "way; raise the limit of open files "
					 "(ulimit -n)");
	default:
		return qoi_fail(-EIO, "shm: sendmsg: %m");
	}
}

static void collect_fds(struct msghdr *message, struct qo_shm_packet *packet)
{
	struct cmsghdr *header = CMSG_FIRSTHDR(message);

	for (; header != NULL; header = CMSG_NXTHDR(message, header)) {
		size_t count;

		if (header->cmsg_level != SOL_SOCKET ||
		    header->cmsg_type != SCM_RIGHTS)
			continue;
		count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		if (count > QO_SHM_FDS_MAX - packet->fd_count)
			count = QO_SHM_FDS_MAX - packet->fd_count;
		memcpy(packet->fds + packet->fd_count, CMSG_DATA(header),
		       count * sizeof(int));
		packet->fd_count += (uint32_t)count;
	}
}

int qo_shm_socket_recv(int fd, struct qo_shm_packet *packet, size_t *bytes_out)
{
	/* Room for exactly the descriptors we take: the kernel drops others. */
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(QO_SHM_FDS_MAX * sizeof(int))];
	} control;
	struct msghdr message = {
		.msg_iov = packet->parts,
		.msg_iovlen = 2,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	int flags = MSG_DONTWAIT | MSG_CMSG_CLOEXEC;
	ssize_t bytes = recvmsg(fd, &message, flags);

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
		return qoi_fail(-EIO, "shm: recvmsg: %m");
	}
	collect_fds(&message, packet);
	/* None of them arrives when this process has no descriptor left. */
	packet->fds_lost =
		(message.msg_flags & MSG_CTRUNC) != 0 && packet->fd_count == 0;
	if ((message.msg_flags & MSG_TRUNC) != 0 ||
	    ((message.msg_flags & MSG_CTRUNC) != 0 && !packet->fds_lost)) {
		qo_shm_packet_close(packet);
		return -EBADMSG;
	}
	/* Nobody here sends empty messages: it is the end. */
	if (bytes == 0) {
		qo_shm_packet_close(packet);
		return -ECONNRESET;
	}
	*bytes_out = (size_t)bytes;
	return 0;
}

int qo_shm_socket_next(int fd, size_t *bytes_out)
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
