/* SPDX-License-Identifier: BSD-3-Clause */
#include "libqoffload/client/far_op.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libqoffload/base/error.h"
#include "libqoffload/base/fail_point.h"

#define PAGE_BYTES UINT64_C(4096)
/* What a rank copies to itself is worth a waiter's trouble from here on. */
#define LEND_BYTES UINT64_C(4096)
/* One piece, where others want this core. */
#define CROWDED_BYTES (UINT64_C(32) << 10)

_Static_assert(sizeof(struct qoi_step) == QOI_LAYOUT_SCHEDULE_STEP_BYTES,
	       "a step's size");
_Static_assert(sizeof(struct qoi_step) == sizeof(struct qoi_layout_schedule_step),
	       "a step is what the daemon takes");
_Static_assert(offsetof(struct qoi_step, stage) ==
		       offsetof(struct qoi_layout_schedule_step, stage),
	       "step.stage");
_Static_assert(offsetof(struct qoi_step, peer) ==
		       offsetof(struct qoi_layout_schedule_step, peer),
	       "step.peer");
_Static_assert(offsetof(struct qoi_step, from_offset) ==
		       offsetof(struct qoi_layout_schedule_step, from_offset),
	       "step.from_offset");
_Static_assert(offsetof(struct qoi_step, bytes) ==
		       offsetof(struct qoi_layout_schedule_step, bytes),
	       "step.bytes");

static int steps_make(const struct qoi_schedule *schedule,
		      struct qoi_segment *segment_out)
{
	uint64_t bytes = schedule->step_count * sizeof(struct qoi_step);
	uint64_t room = (bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
	int error = qoi_segment_create(
		"qoffload-steps", room == 0 ? PAGE_BYTES : room, segment_out);

	if (error == 0 && bytes != 0)
		memcpy(segment_out->base, schedule->steps, bytes);
	return error;
}

static void ask_fill(struct qoi_layout_attach_op *ask, const struct qo_op *op,
		     uint64_t team, uint32_t rank)
{
	const struct qoi_schedule *schedule = op->schedule;

	ask->team = team;
	ask->sequence = op->sequence;
	ask->rank = rank;
	ask->count = schedule->count;
	ask->completion = op->request->index;
	ask->type = (uint32_t)schedule->type;
	ask->reduce = (uint32_t)schedule->reduce;
	ask->stage_count = schedule->stage_count;
	ask->step_count = schedule->step_count;
	ask->scratch_bytes = schedule->scratch_bytes;
}

static int hand_over(struct qo_op *op, struct qoi_far_op *far,
		     struct qoi_attach_message *question)
{
	struct qoi_segment steps;
	uint64_t slot;
	int error = steps_make(op->schedule, &steps);

	if (error != 0)
		return error;
	error = qoi_far_memory_open(op, far, (void *)steps.base,
				    &question->body.op);
	if (error == 0) {
		question->fds[0] = steps.fd;
		error = qoi_link_call(far->link, question, &slot);
	}
	qoi_segment_detach(&steps);
	if (error != 0)
		return error;
	QOI_FAIL_POINT("op_added");
	far->slot = (uint32_t)slot;
	return 0;
}

int qoi_far_op_open(struct qo_op *op, struct qoi_link *link, uint64_t team,
		    uint32_t rank)
{
	struct qoi_far_op *far = calloc(1, sizeof(*far));
	struct qoi_attach_message question;
	int error;

	if (far == NULL)
		return qoi_fail(-ENOMEM, "no memory for an operation");
	far->link = link;
	far->staging.fd = -1;
	far->completion = qoi_attach_completion(
		&link->places, link->segment.base, op->request->index);
	qoi_attach_message_init(&question, QOI_ATTACH_OP_ADD, 0);
	ask_fill(&question.body.op, op, team, rank);
	error = hand_over(op, far, &question);
	if (error != 0) {
		qoi_far_stage_close(far);
		free(far);
		return error;
	}
	op->far = far;
	op->work.ops = &qoi_far_work_ops;
	op->work.readable = 1;
	op->work.lendable = 0;
	op->work.yielding = 1;
	return 0;
}

void qoi_far_op_close(struct qo_op *op)
{
	struct qoi_far_op *far = op->far;
	struct qoi_attach_message question;

	if (!qoi_link_is_lost(far->link) && !qoi_link_is_forked(far->link)) {
		qoi_attach_message_init(&question, QOI_ATTACH_OP_DROP, 0);
		question.body.op_end.op = far->slot;
		/* Told; there is nothing else to be done about it. */
		(void)qoi_link_call(far->link, &question, NULL);
	}
	QOI_FAIL_POINT("released");
	qoi_far_stage_close(far);
	free(far);
	op->far = NULL;
}

static void op_fail(struct qo_op *op, int error, int32_t rank)
{
	op->exec.error = error;
	op->exec.error_rank = (uint32_t)rank;
	qoi_request_finish(op->request, error, rank);
}

/* As far as the budget goes; the next step when this one is done. */
static void own_step_move(struct qo_op *op, const struct qoi_step *step,
			  struct qoi_budget *budget)
{
	struct qoi_far_op *far = op->far;
	uint8_t *const *buffers = op->exec.buffers;
	uint64_t bytes = 0;

	if (step->kind == QOI_STEP_COPY)
		bytes = step->bytes - far->own_done;
	if (bytes > budget->bytes)
		bytes = budget->bytes;
	if (bytes != 0)
		memcpy(buffers[step->to] + step->to_offset + far->own_done,
		       buffers[step->from] + step->from_offset + far->own_done,
		       bytes);
	budget->bytes -= bytes;
	far->own_done += bytes;
	if (step->kind == QOI_STEP_COPY && far->own_done < step->bytes)
		return;
	far->own_step++;
	far->own_done = 0;
}

/*
 * The next piece of what the rank copies to itself, if this side has claimed
 * it, or does so now.  Holds the lock: what is claimed is carried on by whoever
 * looks next.
 */
static void own_copies_move(struct qo_op *op, int may_claim,
			    struct qoi_budget *budget)
{
	struct qoi_far_op *far = op->far;
	const struct qoi_schedule *schedule = op->schedule;
	uint32_t generation = qoi_request_generation(op->request);

	if (!qoi_attach_local_busy(far->completion, generation)) {
		if (!may_claim ||
		    !qoi_attach_local_claim(far->completion, generation,
					    QOI_LOCAL_CLIENT))
			return;
	}
	while (far->own_step < schedule->step_count && budget->bytes != 0)
		own_step_move(op, &schedule->steps[far->own_step], budget);
	if (far->own_step == schedule->step_count)
		qoi_attach_local_done(far->completion, generation);
}

/* Ends the request under way if the daemon says so, or is gone. */
static void op_look(struct qo_op *op, struct qoi_budget *budget)
{
	struct qoi_far_op *far = op->far;
	uint32_t generation = qoi_request_generation(op->request);
	/* Before the look: what it had ended was ended before it was lost. */
	int lost = qoi_link_is_lost(far->link);
	struct qo_status status;
	uint64_t word;

	if (!qoi_attach_completed(far->completion, generation, &word)) {
		if (lost)
			op_fail(op, -ECONNABORTED, QO_RANK_NONE);
		return;
	}
	/* It has done the rest, and left to us what we claimed. */
	own_copies_move(op, 0, budget);
	if (qoi_attach_local_busy(far->completion, generation))
		return;
	qoi_completion_unpack(word, &status);
	if (status.state != QO_DONE) {
		op_fail(op, status.error != 0 ? status.error : -EIO,
			status.rank);
		return;
	}
	qoi_far_copy_out(op);
	QOI_FAIL_POINT("read_completed");
	qoi_request_finish(op->request, 0, QO_RANK_NONE);
}

int qoi_far_op_post(struct qo_op *op)
{
	struct qoi_far_op *far = op->far;
	struct qoi_budget budget = { .bytes = QOI_BUDGET_POST_BYTES };
	struct qoi_command *command;
	struct qoi_lane *lane;

	if (qoi_link_is_forked(far->link))
		return -EPERM;
	if (qoi_request_pending(op->request))
		op_look(op, &budget);
	if (qoi_request_pending(op->request))
		return -EBUSY;
	if (op->exec.error != 0)
		return op->exec.error;
	if (qoi_link_is_lost(far->link))
		return -ECONNABORTED;
	qoi_far_copy_in(op);
	lane = qoi_link_claim(far->link, &command);
	if (lane == NULL)
		return -EAGAIN;
	qoi_request_start(op->request, QO_NO_DEADLINE);
	memset(command, 0, sizeof(*command));
	command->op_slot = far->slot;
	command->generation = qoi_request_generation(op->request);
	qoi_attach_local_reset(far->completion, command->generation);
	far->own_step = 0;
	far->own_done = 0;
	if (far->own_here)
		qoi_attach_local_claim(far->completion, command->generation,
				       QOI_LOCAL_CLIENT);
	qoi_request_await(op->request, &far->completion->sequence,
			  command->generation);
	qoi_link_commit(far->link, lane);
	return 0;
}

static const char *path_name(uint32_t path)
{
	static const char *const names[] = {
		[QOI_CONFIG_MEMORY_AUTO] = "none",
		[QOI_CONFIG_MEMORY_MAP] = "map",
		[QOI_CONFIG_MEMORY_CROSS] = "cross",
		[QOI_CONFIG_MEMORY_STAGE] = "stage",
	};

	return names[path];
}

int qoi_far_op_print(const struct qo_op *op, char *text, size_t text_bytes)
{
	const struct qoi_far_op *far = op->far;

	return snprintf(text, text_bytes,
			"agent process %d: send %s, receive %s\n",
			far->link->daemon_pid,
			path_name(far->path[QOI_BUFFER_SEND]),
			path_name(far->path[QOI_BUFFER_RECV]));
}

/* Nobody lists it: the daemon moves it. */
static int far_advance(struct qoi_work *work, struct qoi_budget *budget)
{
	(void)work;
	(void)budget;
	return 0;
}

/* The loss of a rank is the daemon's to tell; that of the daemon is ours. */
static void far_peer_gone(struct qoi_work *work)
{
	struct qoi_budget budget = { .bytes = QOI_BUDGET_AGENT_BYTES };

	op_look((struct qo_op *)work, &budget);
}

static void far_read(struct qoi_work *work, struct qoi_request *request,
		     struct qoi_budget *budget)
{
	if (qoi_request_pending(request))
		op_look((struct qo_op *)work, budget);
}

/* Less where others want this core, and have something to do. */
static uint64_t lend_piece(const struct qo_op *op)
{
	const struct qoi_layout_attach_page *page =
		(const void *)op->far->link->segment.base;

	if (op->agent->far_crowded != 0 &&
	    qoi_own32(&page->busy_clients) > op->schedule->count)
		return CROWDED_BYTES;
	return QOI_BUDGET_AGENT_BYTES;
}

/* For a waiter that has a core to lend: one piece of the rank's own copies. */
static int far_lend(struct qoi_work *work, struct qoi_request *request)
{
	struct qo_op *op = (struct qo_op *)work;
	uint64_t piece = lend_piece(op);
	struct qoi_budget budget = { .bytes = piece };
	int moved;

	if (op->far->own_bytes < LEND_BYTES || !qoi_try_lock32(&work->lock))
		return 0;
	if (qoi_request_pending(request))
		own_copies_move(op, 1, &budget);
	qoi_unlock32(&work->lock);
	moved = budget.bytes != piece;
	/* The daemon and others may wait for this core. */
	if (moved && op->agent->far_crowded != 0)
		sched_yield();
	return moved;
}

const struct qoi_work_ops qoi_far_work_ops = {
	.advance = far_advance,
	.peer_gone = far_peer_gone,
	.read = far_read,
	.lend = far_lend,
};
