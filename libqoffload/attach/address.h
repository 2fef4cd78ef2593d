/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where a daemon listens.  A name is a path, or "@name" in the abstract name
 * space, which leaves nothing in the file system and ends with its owner.
 * Anyone may take an abstract name, so both sides ask the kernel who is at
 * the other end, and go on to "name.1" ... when it is a stranger.
 */
#ifndef QOI_ATTACH_ADDRESS_H
#define QOI_ATTACH_ADDRESS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#define QOI_ATTACH_NAME_BYTES 108
/* Names that are tried in turn, besides the first. */
#define QOI_ATTACH_SUFFIXES 7

/*
 * wanted: the setting; "auto" gives "@qo-agentd.<uid>".  With a job (neither
 * NULL nor ""), the name of that job's private daemon:
 * "@qo-agentd.<uid>.<hash of job>".  A name that is set is meant as it is.
 * Returns 0, -EINVAL (told): too long or empty.
 */
int qoi_attach_name(const char *wanted, const char *job,
		    char name_out[QOI_ATTACH_NAME_BYTES]);

/* For both sides: a name as the kernel takes it. */
struct qoi_attach_address {
	struct sockaddr_un name;
	socklen_t bytes;
};

static inline int qoi_attach_is_path(const char *name)
{
	return name[0] != '@';
}

/* Returns 0, -EINVAL (told): too long or empty. */
int qoi_attach_name_check(const char *name);
/* "name.number"; number 0 is the name itself. */
void qoi_attach_name_number(const char *name, uint32_t number,
			    char name_out[QOI_ATTACH_NAME_BYTES]);
void qoi_attach_address_of(const char *name,
			   struct qoi_attach_address *address_out);
/*
 * Connects to this very name.  Never blocks.
 * Returns 0; -ENOENT: nobody listens; -EPERM: another user, or something else
 * than a daemon; -EAGAIN: full; -ENOMEM, -EIO (told).
 */
int qoi_attach_dial(const char *name, int *fd_out, pid_t *pid_out);

struct qoi_attach_door {
	int fd;	       /* listening, non-blocking.  Owner: the door */
	int folder_fd; /* of a path: where its file is, else -1.  Owner: door */
	uint64_t device; /* of the file, with its inode: whether it is ours */
	uint64_t inode;	 /* 0: no file of ours */
	char name[QOI_ATTACH_NAME_BYTES]; /* that it got */
};

/*
 * Listens.  A socket file that a dead daemon left behind is replaced; of a
 * live one, never: the folder is locked meanwhile, which leaves no file.
 * Files are 0600.  Blocks for a moment where others start at the same time.
 * Returns 0; -EBUSY: a daemon of this user is there already; -EPERM: all names
 * are a stranger's; -ENOENT, -EPERM: the folder; -ENOMEM, -EINVAL, -EIO.  All
 * are told.
 */
int qoi_attach_listen(const char *name, struct qoi_attach_door *door_out);
/*
 * A descriptor that was inherited, listening already (socket activation); its
 * file stays who made it.  The door owns it on success.
 * Returns 0 or -EINVAL (told): not a listening socket of the right kind.
 */
int qoi_attach_adopt(int fd, struct qoi_attach_door *door_out);
/* Closes; a file of ours is removed.  The name is free then. */
void qoi_attach_door_close(struct qoi_attach_door *door);

/*
 * Connects to the daemon of this user.  Never blocks.  pid_out: of the daemon,
 * as the kernel says.
 * Returns 0; -ENOENT: none listens there (told only at debug level, for it is
 * no failure under `auto`); -EAGAIN: too many at its door; -EPERM: a stranger
 * has it (told); -ENOMEM; -EINVAL, -EIO (told).
 */
int qoi_attach_connect(const char *name, int *fd_out, pid_t *pid_out);

#endif
