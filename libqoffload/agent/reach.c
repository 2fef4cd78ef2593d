/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* process_vm_readv, POLLRDHUP */
#include "libqoffload/agent/reach.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/uio.h>

#include "libqoffload/agent/exec.h"
#include "libqoffload/base/error.h"
#include "libqoffload/shm/atomic.h"

/* Its number may be another process's by now, or it another program. */
static int has_ended(const struct qoi_far *far)
{
	struct pollfd ends[] = {
		{ .fd = far->pid_fd, .events = POLLIN },
		{ .fd = far->socket, .events = POLLRDHUP },
	};

	return poll(ends, 2, 0) > 0;
}

static int copy_error(const struct qoi_far *far, const char *what,
		      uint64_t address)
{
	int error = errno;

	if (error == ESRCH || has_ended(far))
		return -ECONNRESET;
	if (error == EPERM)
		return qoi_answer(-EPERM, "%s memory of process %d: %m", what,
				  (int)far->pid);
	return qoi_answer(-EFAULT, "%s memory of process %d at %#llx: %m", what,
			  (int)far->pid, (unsigned long long)address);
}

/* The kernel may copy less than it was asked for. */
static int copy(const struct qoi_far *far, uint64_t address, uint8_t *local,
		uint64_t bytes, int writes)
{
	uint64_t done = 0;

	while (done < bytes) {
		struct iovec here = { local + done, bytes - done };
		struct iovec there = { (void *)(uintptr_t)(address + done),
				       bytes - done };
		ssize_t moved;

		if (far->revoked != NULL && qoi_observe32(far->revoked) != 0)
			return -ECONNRESET;
		moved = writes ? process_vm_writev(far->pid, &here, 1, &there,
						   1, 0)
			       : process_vm_readv(far->pid, &here, 1, &there, 1,
						  0);

		if (moved <= 0)
			return copy_error(far, writes ? "write" : "read",
					  address + done);
		done += (uint64_t)moved;
	}
	return 0;
}

int qoi_far_read(const struct qoi_far *far, uint64_t address, void *local,
		 uint64_t bytes)
{
	int error = copy(far, address, local, bytes, 0);

	/* What was read counts only if it was still the one we know. */
	if (error == 0 && has_ended(far))
		return -ECONNRESET;
	return error;
}

int qoi_far_write(const struct qoi_far *far, uint64_t address,
		  const void *local, uint64_t bytes)
{
	/* Before: nothing may be written into a stranger. */
	if (has_ended(far))
		return -ECONNRESET;
	return copy(far, address, (uint8_t *)(uintptr_t)local, bytes, 1);
}

/* Whose end it is, is for the caller to tell: not every peer's, for one. */
static int owner_error(int error)
{
	return error == -ECONNRESET ? -EOWNERDEAD : error;
}

int qoi_reach_read(const struct qoi_exec *exec, uint8_t buffer, uint64_t offset,
		   void *local, uint64_t bytes)
{
	const struct qoi_reach *reach = &exec->reach[buffer];

	if (bytes == 0)
		return 0;
	assert(local != NULL);
	if (exec->buffers[buffer] != NULL) {
		memcpy(local, exec->buffers[buffer] + offset, bytes);
		return 0;
	}
	if (reach->far == NULL)
		return -EFAULT;
	return owner_error(qoi_far_read(reach->far, reach->address + offset,
					local, bytes));
}

int qoi_reach_write(const struct qoi_exec *exec, uint8_t buffer,
		    uint64_t offset, const void *local, uint64_t bytes)
{
	const struct qoi_reach *reach = &exec->reach[buffer];

	if (bytes == 0)
		return 0;
	assert(local != NULL);
	if (exec->buffers[buffer] != NULL) {
		memcpy(exec->buffers[buffer] + offset, local, bytes);
		return 0;
	}
	if (reach->far == NULL)
		return -EFAULT;
	return owner_error(qoi_far_write(reach->far, reach->address + offset,
					 local, bytes));
}

static void fold(const struct qoi_exec *exec, uint8_t *to, const void *from,
		 uint64_t bytes)
{
	const struct qoi_schedule *schedule = exec->schedule;

	qoi_reduce_apply(schedule->type, schedule->reduce, to, from,
			 bytes / qoi_type_bytes(schedule->type));
}

int qoi_reach_fold(const struct qoi_exec *exec, uint8_t buffer, uint64_t offset,
		   const void *local, uint64_t bytes)
{
	/* The first half of the spare room may be what is folded in. */
	uint8_t *room =
		exec->spare == NULL ? NULL : exec->spare + QOI_BOUNCE_BYTES;
	uint64_t done = 0;

	if (exec->buffers[buffer] != NULL) {
		if (bytes != 0)
			fold(exec, exec->buffers[buffer] + offset, local, bytes);
		return 0;
	}
	while (done < bytes) {
		uint64_t piece = bytes - done;
		int error;

		if (piece > QOI_BOUNCE_BYTES)
			piece = QOI_BOUNCE_BYTES;
		error = qoi_reach_read(exec, buffer, offset + done, room, piece);
		if (error != 0)
			return error;
		fold(exec, room, (const uint8_t *)local + done, piece);
		error = qoi_reach_write(exec, buffer, offset + done, room,
					piece);
		if (error != 0)
			return error;
		done += piece;
	}
	return 0;
}

/* What is wrong with a sender's buffer is no fault of the receiver's. */
static int source_error(const struct qoi_place *from,
			const struct qoi_place *to, int error)
{
	if (from->exec == to->exec)
		return error;
	if (error == -EFAULT)
		return -EIO;
	return error == -EOWNERDEAD ? -ECONNRESET : error;
}

/* At most QOI_BOUNCE_BYTES, when one of the ends is not mapped. */
static int move_piece(const struct qoi_place *from, const struct qoi_place *to,
		      uint64_t done, uint64_t bytes, int folds)
{
	uint64_t source = from->offset + done;
	const uint8_t *base = from->exec->buffers[from->buffer];
	const void *local = to->exec->spare;
	int error;

	if (base != NULL) {
		local = base + source;
	} else {
		error = qoi_reach_read(from->exec, from->buffer, source,
				       to->exec->spare, bytes);
		if (error != 0)
			return source_error(from, to, error);
	}
	if (folds)
		return qoi_reach_fold(to->exec, to->buffer, to->offset + done,
				      local, bytes);
	return qoi_reach_write(to->exec, to->buffer, to->offset + done, local,
			       bytes);
}

int qoi_reach_move(const struct qoi_place *from, const struct qoi_place *to,
		   uint64_t bytes, int folds)
{
	uint8_t *target = to->exec->buffers[to->buffer];
	uint64_t done = 0;
	int error;

	/* Straight to where it belongs, without a copy in between. */
	if (!folds && target != NULL) {
		error = qoi_reach_read(from->exec, from->buffer, from->offset,
				       target + to->offset, bytes);
		return source_error(from, to, error);
	}
	while (done < bytes) {
		uint64_t piece = bytes - done;

		if (piece > QOI_BOUNCE_BYTES)
			piece = QOI_BOUNCE_BYTES;
		error = move_piece(from, to, done, piece, folds);
		if (error != 0)
			return error;
		done += piece;
	}
	return 0;
}
