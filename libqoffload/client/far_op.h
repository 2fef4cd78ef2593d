/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An operation that the daemon carries out: this side hands it over once,
 * posts commands, and sees completions.  Where the daemon can't reach the
 * user's buffers, they are staged: copied at the post, and back by the test or
 * wait that sees the end.
 */
#ifndef QOI_FAR_OP_H
#define QOI_FAR_OP_H

#include "libqoffload/agent/op.h"
#include "libqoffload/client/link.h"

/* The user's buffers: QOI_BUFFER_SEND and QOI_BUFFER_RECV. */
#define QOI_FAR_BUFFERS 2

struct qoi_span {	 /* bytes of a buffer */
	uint64_t offset; /* in the user's */
	uint64_t at;	 /* in the staged one */
	uint64_t bytes;
};

struct qoi_far_op {
	struct qoi_link *link;			       /* owner: the context */
	struct qoi_layout_completion_slot *completion; /* in the segment */
	uint32_t slot;			/* of the operation, at the daemon */
	uint32_t path[QOI_FAR_BUFFERS]; /* enum qoi_config_memory; AUTO: none */
	uint64_t own_bytes; /* that the rank copies to itself, for waiters */
	uint32_t own_here;  /* 1: they are left out of what the daemon gets */
	uint32_t own_step;  /* of the schedule: where its copies are; lock */
	uint64_t own_done;  /* of that step; lock */
	struct qoi_segment staging;	  /* empty without */
	uint64_t staged[QOI_FAR_BUFFERS]; /* where each buffer is in it */
	/* What is copied in at the post, and out at the end; by buffer. */
	struct qoi_span *in[QOI_FAR_BUFFERS]; /* owner: this */
	uint32_t in_count[QOI_FAR_BUFFERS];
	struct qoi_span *out; /* of the receive buffer.  Owner: this */
	uint32_t out_count;
};

/*
 * Hands the operation over; its schedule, buffers and request are there.
 * Returns 0 or a told error.  Then op->far is set, and op->work.ops are
 * qoi_far_work_ops.
 */
int qoi_far_op_open(struct qo_op *op, struct qoi_link *link, uint64_t team,
		    uint32_t rank);
/* Takes it back: then the daemon touches its buffers no more. */
void qoi_far_op_close(struct qo_op *op);
/*
 * As the body of qo_post(), with the lock of the work held.  Returns 0, -EBUSY,
 * -EAGAIN (the daemon has more commands than it took: nothing was taken),
 * -ECONNABORTED agent lost, -EPERM in a forked child, or why it failed before.
 */
int qoi_far_op_post(struct qo_op *op);
/* A line on where it runs; as snprintf(). */
int qoi_far_op_print(const struct qo_op *op, char *text, size_t text_bytes);

/* far_memory.c: the ways to the user's buffers. */

/*
 * Chooses a way to each buffer, makes the staging memory where one is needed,
 * and says in the question where they are.  steps: a copy of the schedule's,
 * which is changed to fit.  Returns 0 or a told error; qoi_far_stage_close() is
 * due in either case.
 */
int qoi_far_memory_open(struct qo_op *op, struct qoi_far_op *far,
			struct qoi_step *steps,
			struct qoi_layout_attach_op *ask);

/* far_stage.c: as above, for the buffers whose path says so. */
int qoi_far_stage_open(struct qo_op *op, struct qoi_far_op *far,
		       struct qoi_step *steps, struct qoi_layout_attach_op *ask);
void qoi_far_stage_close(struct qoi_far_op *far);
void qoi_far_copy_in(struct qo_op *op);
void qoi_far_copy_out(struct qo_op *op);

/*
 * Whether a rank can carry out its part in post, test and wait alone, so that
 * no agent is needed on one node: one stage that communicates, every message
 * fits a slot, and nobody can run ahead by more than one instance.
 */
int qoi_schedule_is_direct(const struct qoi_schedule *schedule,
			   uint64_t slot_bytes);

extern const struct qoi_work_ops qoi_far_work_ops;

#endif
