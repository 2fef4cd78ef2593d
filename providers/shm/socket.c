/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "providers/shm/socket.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "libqoffload/shm/packet.h"
#include "providers/shm/wire.h"

/* The kernel takes its own limit when that is lower. */
#define BACKLOG_MAX 4096

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
	int rc = qoi_packet_socket(&fd);

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
	int rc = qoi_packet_socket(&fd);

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
