/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "libqoffload/attach/address.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "libqoffload/base/error.h"
#include "libqoffload/base/log.h"
#include "libqoffload/shm/packet.h"

/* ".7" must still fit, and the zero at the end of a path. */
#define NAME_CHARS_MAX (QOI_ATTACH_NAME_BYTES - 1 - 2)

_Static_assert(QOI_ATTACH_NAME_BYTES ==
		       sizeof(((struct sockaddr_un *)0)->sun_path),
	       "a name is what the kernel takes");

/* FNV-1a, from the published constants; it only has to tell jobs apart. */
static uint64_t hash_text(const char *text)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *text != '\0'; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return hash;
}

int qoi_attach_name_check(const char *name)
{
	size_t length = strlen(name);

	if (length > (qoi_attach_is_path(name) ? 0 : 1) &&
	    length <= NAME_CHARS_MAX)
		return 0;
	return qoi_fail(-EINVAL,
			"agent socket \"%.120s\": want a path, or @ and a name,"
			" of at most %d characters",
			name, NAME_CHARS_MAX);
}

int qoi_attach_name(const char *wanted, const char *job,
		    char name_out[QOI_ATTACH_NAME_BYTES])
{
	int error;

	if (strcmp(wanted, "auto") != 0) {
		error = qoi_attach_name_check(wanted);
		if (error != 0)
			return error;
		snprintf(name_out, QOI_ATTACH_NAME_BYTES, "%s", wanted);
	} else if (job == NULL || job[0] == '\0') {
		snprintf(name_out, QOI_ATTACH_NAME_BYTES, "@qo-agentd.%u",
			 (unsigned)geteuid());
	} else {
		snprintf(name_out, QOI_ATTACH_NAME_BYTES,
			 "@qo-agentd.%u.%016" PRIx64, (unsigned)geteuid(),
			 hash_text(job));
	}
	return 0;
}

void qoi_attach_name_number(const char *name, uint32_t number,
			    char name_out[QOI_ATTACH_NAME_BYTES])
{
	if (number == 0)
		snprintf(name_out, QOI_ATTACH_NAME_BYTES, "%s", name);
	else
		snprintf(name_out, QOI_ATTACH_NAME_BYTES, "%.*s.%u",
			 NAME_CHARS_MAX, name, number % 10);
}

void qoi_attach_address_of(const char *name,
			   struct qoi_attach_address *address_out)
{
	size_t length = strlen(name);

	memset(address_out, 0, sizeof(*address_out));
	address_out->name.sun_family = AF_UNIX;
	memcpy(address_out->name.sun_path, name, length);
	/* An abstract name has a 0 before it and none after it. */
	if (qoi_attach_is_path(name))
		length++;
	else
		address_out->name.sun_path[0] = '\0';
	address_out->bytes =
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
}

static int dial_error(int code, const char *name)
{
	switch (code) {
	case ENOENT:
	case ENOTDIR:
	case ECONNREFUSED:
		return -ENOENT;
	case EAGAIN:
	case EINTR:
		return -EAGAIN;
	case EACCES:
	case EPERM:
	case EPROTOTYPE:
		return -EPERM;
	case ENOMEM:
	case ENOBUFS:
		return qoi_fail(-ENOMEM, "agent socket %s: connect: %m", name);
	default:
		return qoi_fail(-EIO, "agent socket %s: connect: %m", name);
	}
}

int qoi_attach_dial(const char *name, int *fd_out, pid_t *pid_out)
{
	struct qoi_attach_address address;
	struct ucred peer = { 0, 0, 0 };
	socklen_t bytes = sizeof(peer);
	int fd, rc;

	qoi_attach_address_of(name, &address);
	if (qoi_packet_socket(&fd) != 0)
		return qoi_fail(-ENOMEM, "agent socket %s: %m (see ulimit -n)",
				name);
	rc = connect(fd, (const struct sockaddr *)&address.name, address.bytes);
	if (rc != 0)
		rc = dial_error(errno, name);
	else if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0 ||
		 !qoi_packet_is_own_user(peer.uid, peer.pid))
		rc = -EPERM;
	if (rc != 0) {
		close(fd);
		return rc;
	}
	*fd_out = fd;
	*pid_out = peer.pid;
	return 0;
}

int qoi_attach_connect(const char *name, int *fd_out, pid_t *pid_out)
{
	int rc = qoi_attach_name_check(name);
	int full = 0, strange = 0;

	if (rc != 0)
		return rc;
	/* A stranger may be gone by now, and the daemon still be further on. */
	for (uint32_t i = 0; i <= QOI_ATTACH_SUFFIXES; i++) {
		char numbered[QOI_ATTACH_NAME_BYTES];

		qoi_attach_name_number(name, i, numbered);
		rc = qoi_attach_dial(numbered, fd_out, pid_out);
		full |= rc == -EAGAIN;
		strange |= rc == -EPERM;
		if (rc != -ENOENT && rc != -EAGAIN && rc != -EPERM)
			return rc;
	}
	if (full)
		return -EAGAIN;
	if (strange)
		return qoi_fail(-EPERM,
				"agent socket %s: another user or another "
				"program has it, and no daemon of this user "
				"is near; set QO_AGENT_SOCKET",
				name);
	qoi_log_debug("agent socket %s: nobody listens there", name);
	return -ENOENT;
}
