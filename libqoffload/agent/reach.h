/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How an agent gets at the buffers of the rank it works for: by address, or,
 * where the rank is another process that it does not map, by cross-memory
 * copies.  These wait in the kernel for the other's address space: for a fork
 * of it, or for the server of a file that is mapped there.
 */
#ifndef QOI_REACH_H
#define QOI_REACH_H

#include <stdint.h>
#include <sys/types.h>

/* A process whose memory may be copied to and from. */
struct qoi_far {
	pid_t pid;
	int pid_fd; /* readable once it has ended; -1: not known */
	int socket; /* hangs up when it ends, or runs another program; or -1 */
	/* Not 0 once it takes no copies any more.  In its memory, or NULL. */
	const uint32_t *revoked;
};

/*
 * Copies; bounded by the caller.  Returns 0; -ECONNRESET: the process has
 * ended; -EFAULT: no such memory there; -EPERM.
 */
int qoi_far_read(const struct qoi_far *far, uint64_t address, void *local,
		 uint64_t bytes);
int qoi_far_write(const struct qoi_far *far, uint64_t address,
		  const void *local, uint64_t bytes);

/* Where a buffer is that is not mapped here. */
struct qoi_reach {
	const struct qoi_far *far; /* NULL: it is empty.  Owner: the session */
	uint64_t address;	   /* over there */
};

struct qoi_exec;

/*
 * At a buffer of an exec.  Returns as qoi_far_read(), but -EOWNERDEAD when the
 * process that has the buffer has ended: a peer of it may live.
 */
int qoi_reach_read(const struct qoi_exec *exec, uint8_t buffer, uint64_t offset,
		   void *local, uint64_t bytes);
int qoi_reach_write(const struct qoi_exec *exec, uint8_t buffer,
		    uint64_t offset, const void *local, uint64_t bytes);
/*
 * Combines into the buffer, as the schedule's type and reduction say.  Of a
 * buffer that is not mapped it needs the second half of the spare room.
 */
int qoi_reach_fold(const struct qoi_exec *exec, uint8_t buffer, uint64_t offset,
		   const void *local, uint64_t bytes);

/* A place in a buffer of an exec. */
struct qoi_place {
	const struct qoi_exec *exec;
	uint8_t buffer; /* enum qoi_buffer */
	uint64_t offset;
};

/*
 * From buffer to buffer, also of two ranks; both ranges are valid and apart.
 * folds: 1 combines with what is there.  Returns 0; -EPERM; -ECONNRESET or
 * -EIO: another rank's source is not there; -EOWNERDEAD or -EFAULT: an own end.
 */
int qoi_reach_move(const struct qoi_place *from, const struct qoi_place *to,
		   uint64_t bytes, int folds);

#endif
