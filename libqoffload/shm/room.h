/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much memory may still be reserved.  The kernel promises shared memory
 * freely and kills whoever touches too much, so we ask before.
 */
#ifndef QOI_ROOM_H
#define QOI_ROOM_H

#include <stdint.h>

#define QOI_ROOM_LIMIT_BYTES 160

struct qoi_room {
	uint64_t available_bytes;
	/* What sets this bound and how to move it, for an error message. */
	char limit[QOI_ROOM_LIMIT_BYTES];
};

/*
 * The tightest of: memory of the machine, memory limit of the cgroup and of
 * those above it (v1 and v2), file size limit of the process (which holds
 * for memory files too, and whose excess raises SIGXFSZ).  What can't be
 * read doesn't bound.
 * proc, cgroup: "/proc" and "/sys/fs/cgroup"; a test has its own.
 */
void qoi_room_find(const char *proc, const char *cgroup,
		   struct qoi_room *room_out);

#endif
