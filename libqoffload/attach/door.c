/* SPDX-License-Identifier: BSD-3-Clause */
/* The side of an address that listens. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "libqoffload/attach/address.h"
#include "libqoffload/base/error.h"
#include "libqoffload/base/log.h"
#include "libqoffload/shm/packet.h"

/* The kernel takes its own limit when that is lower. */
#define BACKLOG_MAX 4096
#define SOCKET_MODE 0600
/* How often another that starts or ends now is given a moment. */
#define TRIES_MAX 50
#define NAP_NS 10000000

static void nap(void)
{
	const struct timespec time = { 0, NAP_NS };

	nanosleep(&time, NULL);
}

/* What became of a try to take one name, besides 0 and told errors. */
enum take {
	TAKE_OURS = 1, /* a live daemon of this user has it */
	TAKE_STRANGER, /* go on to the next */
	TAKE_DEAD      /* nobody is behind it: try again */
};

/* The file part of a path. */
static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static int folder_open(const char *path, int *fd_out)
{
	char folder[QOI_ATTACH_NAME_BYTES];
	int length = (int)(base_of(path) - path);
	int fd;

	snprintf(folder, sizeof(folder), "%.*s", length, path);
	fd = open(length > 0 ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return qoi_fail(-ENOENT, "agent socket %s: folder: %m", path);
	if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
		return qoi_fail(-ENOMEM, "agent socket %s: folder: %m", path);
	if (fd < 0)
		return qoi_fail(-EPERM, "agent socket %s: folder: %m", path);
	*fd_out = fd;
	return 0;
}

/*
 * Others that look for dead files in this folder wait until it is unlocked; a
 * lock of the folder itself leaves nothing behind.  Where it can't be had (a
 * network file system), two that start in the same instant may both believe
 * that they listen: the clients find the later one.
 */
static void folder_lock(const struct qoi_attach_door *door, const char *name)
{
	if (door->folder_fd < 0)
		return;
	for (uint32_t i = 0; i < TRIES_MAX; i++) {
		if (flock(door->folder_fd, LOCK_EX | LOCK_NB) == 0)
			return;
		if (errno != EWOULDBLOCK && errno != EINTR)
			break;
		nap();
	}
	qoi_log_warn("agent socket %s: its folder can't be locked: %m; going on",
		     name);
}

static void folder_unlock(const struct qoi_attach_door *door)
{
	if (door->folder_fd >= 0)
		(void)flock(door->folder_fd, LOCK_UN);
}

static int fail_bind(const char *name)
{
	switch (errno) {
	case ENOENT:
	case ENOTDIR:
		return qoi_fail(-ENOENT, "agent socket %s: %m", name);
	case EACCES:
	case EPERM:
	case EROFS:
		return qoi_fail(-EPERM, "agent socket %s: %m", name);
	default:
		return qoi_fail(-ENOMEM, "agent socket %s: bind: %m", name);
	}
}

/* The file at this path: 1 when there is one. */
static int find_file(const struct qoi_attach_door *door, const char *name,
		     struct stat *info_out)
{
	return door->folder_fd >= 0 &&
	       fstatat(door->folder_fd, base_of(name), info_out,
		       AT_SYMLINK_NOFOLLOW) == 0;
}

/* Who has this name. */
static int find_holder(const struct qoi_attach_door *door, const char *name)
{
	struct stat info;
	pid_t pid = 0;
	int fd = -1;
	int rc = qoi_attach_dial(name, &fd, &pid);

	if (rc == 0) {
		close(fd);
		return TAKE_OURS;
	}
	if (rc == -ENOENT)
		return TAKE_DEAD;
	if (rc == -EPERM)
		return TAKE_STRANGER;
	if (rc != -EAGAIN)
		return rc;
	/* Of a file the owner is known; a name with a full door isn't ours: a
	 * daemon has room for thousands there. */
	if (find_file(door, name, &info) && info.st_uid == geteuid())
		return TAKE_OURS;
	return TAKE_STRANGER;
}

/* The folder is locked, so that nobody of ours makes it anew meanwhile. */
static int remove_dead(const struct qoi_attach_door *door, const char *name)
{
	struct stat info;

	if (!find_file(door, name, &info))
		return errno == ENOENT ? TAKE_DEAD : fail_bind(name);
	if (!S_ISSOCK(info.st_mode))
		return qoi_fail(-EPERM,
				"agent socket %s: there is something that is "
				"no socket; remove it or take another name",
				name);
	if (info.st_uid != geteuid())
		return TAKE_STRANGER;
	if (unlinkat(door->folder_fd, base_of(name), 0) != 0 && errno != ENOENT)
		return fail_bind(name);
	qoi_log_info("agent socket %s: replaced, its daemon is dead", name);
	return TAKE_DEAD;
}

static int try_bind(const struct qoi_attach_door *door, const char *name)
{
	struct qoi_attach_address address;
	int take;

	qoi_attach_address_of(name, &address);
	if (bind(door->fd, (const struct sockaddr *)&address.name,
		 address.bytes) == 0)
		return 0;
	if (errno != EADDRINUSE)
		return fail_bind(name);
	take = find_holder(door, name);
	if (take != TAKE_DEAD)
		return take;
	if (qoi_attach_is_path(name))
		return remove_dead(door, name);
	/* An abstract name that is bound: its owner will listen, or end. */
	nap();
	return TAKE_DEAD;
}

static int take_name(struct qoi_attach_door *door, const char *name)
{
	int take = TAKE_DEAD;
	struct stat info;

	for (uint32_t i = 0; i < TRIES_MAX && take == TAKE_DEAD; i++)
		take = try_bind(door, name);
	if (take == TAKE_DEAD)
		return TAKE_STRANGER;
	if (take != 0)
		return take;
	snprintf(door->name, sizeof(door->name), "%s", name);
	if (find_file(door, name, &info)) {
		door->device = info.st_dev;
		door->inode = info.st_ino;
	}
	if (listen(door->fd, BACKLOG_MAX) != 0)
		return qoi_fail(-ENOMEM, "agent socket %s: listen: %m", name);
	return 0;
}

/* Takes the first name that is free, unless a daemon of ours has one. */
static int take_any(struct qoi_attach_door *door, const char *name)
{
	char numbered[QOI_ATTACH_NAME_BYTES];
	int take = TAKE_STRANGER;

	for (uint32_t i = 0; i <= QOI_ATTACH_SUFFIXES; i++) {
		qoi_attach_name_number(name, i, numbered);
		take = find_holder(door, numbered);
		if (take < 0 || take == TAKE_OURS)
			break;
	}
	if (take >= 0 && take != TAKE_OURS)
		take = TAKE_STRANGER;
	for (uint32_t i = 0; i <= QOI_ATTACH_SUFFIXES && take == TAKE_STRANGER;
	     i++) {
		qoi_attach_name_number(name, i, numbered);
		take = take_name(door, numbered);
	}
	if (take == TAKE_OURS)
		return qoi_fail(-EBUSY,
				"agent socket %s: a daemon of this user listens"
				" there already",
				numbered);
	if (take == TAKE_STRANGER)
		return qoi_fail(-EPERM,
				"agent socket %s: other users or programs have "
				"it and the %d names after it; take another",
				name, QOI_ATTACH_SUFFIXES);
	return take;
}

int qoi_attach_listen(const char *name, struct qoi_attach_door *door_out)
{
	struct qoi_attach_door door = { .fd = -1, .folder_fd = -1 };
	int rc = qoi_attach_name_check(name);

	if (rc != 0)
		return rc;
	if (qoi_packet_socket(&door.fd) != 0)
		return qoi_fail(-ENOMEM, "agent socket %s: %m (see ulimit -n)",
				name);
	/* The file will have what the socket has now; never more, not even for
	 * an instant. */
	if (fchmod(door.fd, SOCKET_MODE) != 0) {
		rc = qoi_fail(-EIO, "agent socket %s: fchmod: %m", name);
		goto err_socket;
	}
	if (qoi_attach_is_path(name)) {
		rc = folder_open(name, &door.folder_fd);
		if (rc != 0)
			goto err_socket;
	}
	folder_lock(&door, name);
	rc = take_any(&door, name);
	folder_unlock(&door);
	if (rc != 0) {
		qoi_attach_door_close(&door);
		return rc;
	}
	*door_out = door;
	return 0;
err_socket:
	close(door.fd);
	return rc;
}

static int get_option(int fd, int option)
{
	int value = -1;
	socklen_t bytes = sizeof(value);

	if (getsockopt(fd, SOL_SOCKET, option, &value, &bytes) != 0)
		return -1;
	return value;
}

static void read_name(int fd, char name_out[QOI_ATTACH_NAME_BYTES])
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t bytes = sizeof(address);
	size_t length = 0;

	if (getsockname(fd, (struct sockaddr *)&address, &bytes) == 0 &&
	    bytes > offsetof(struct sockaddr_un, sun_path))
		length = bytes - offsetof(struct sockaddr_un, sun_path);
	if (length > 0 && address.sun_path[0] == '\0')
		address.sun_path[0] = '@';
	snprintf(name_out, QOI_ATTACH_NAME_BYTES, "%.*s", (int)length,
		 address.sun_path);
}

int qoi_attach_adopt(int fd, struct qoi_attach_door *door_out)
{
	struct qoi_attach_door door = { .fd = fd, .folder_fd = -1 };
	int flags = fcntl(fd, F_GETFL);

	if (get_option(fd, SO_DOMAIN) != AF_UNIX ||
	    get_option(fd, SO_TYPE) != SOCK_SEQPACKET ||
	    get_option(fd, SO_ACCEPTCONN) != 1)
		return qoi_fail(-EINVAL,
				"descriptor %d is no listening UNIX socket of "
				"sequential packets (ListenSequentialPacket=)",
				fd);
	/* Once more: from now on, who connects is told of us as its owner. */
	if (listen(fd, BACKLOG_MAX) != 0 ||
	    fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
	    fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
		return qoi_fail(-EINVAL, "descriptor %d: %m", fd);
	read_name(fd, door.name);
	*door_out = door;
	return 0;
}

static void remove_own(const struct qoi_attach_door *door)
{
	struct stat info;

	if (door->inode == 0)
		return;
	folder_lock(door, door->name);
	if (find_file(door, door->name, &info) && info.st_dev == door->device &&
	    info.st_ino == door->inode &&
	    unlinkat(door->folder_fd, base_of(door->name), 0) != 0)
		qoi_log_warn("agent socket %s: can't be removed: %m",
			     door->name);
	folder_unlock(door);
}

void qoi_attach_door_close(struct qoi_attach_door *door)
{
	remove_own(door);
	if (door->fd >= 0)
		close(door->fd);
	if (door->folder_fd >= 0)
		close(door->folder_fd);
	door->fd = -1;
	door->folder_fd = -1;
	door->inode = 0;
}
