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
#define LEND_PIECE_BYTES (UINT64_C(256) << 10)

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

/*
 * Bytes that a thread which waits may copy in the daemon's place: within the
 * rank, in a schedule of one stage, and not by way of staging.
 */
static uint64_t local_bytes(const struct qoi_schedule *schedule,
			    const struct qoi_far_op *far)
{
	uint64_t bytes = 0;

	if (schedule->stage_count != 1 ||
	    far->path[QOI_BUFFER_SEND] == QOI_CONFIG_MEMORY_STAGE ||
	    far->path[QOI_BUFFER_RECV] == QOI_CONFIG_MEMORY_STAGE)
		return 0;
	for (uint32_t i = 0; i < schedule->step_count; i++) {
		const struct qoi_step *step = &schedule->steps[i];

		if (step->kind == QOI_STEP_FOLD)
			return 0;
		if (step->kind == QOI_STEP_COPY)
			bytes += step->bytes;
	}
	return bytes;
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
	far->local_bytes = local_bytes(op->schedule, far);
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

/* Ends the request under way if the daemon says so, or is gone. */
static void op_look(struct qo_op *op)
{
	struct qoi_far_op *far = op->far;
	uint32_t generation = qoi_request_generation(op->request);
	/* Before the look: what it had ended was ended before it was lost. */
	int lost = qoi_link_is_lost(far->link);
	struct qo_status status;
	uint64_t word;

	/* Another thread still writes into the receive buffer. */
	if (qoi_attach_local_busy(far->completion, generation))
		return;
	if (!qoi_attach_completed(far->completion, generation, &word)) {
		if (lost)
			op_fail(op, -ECONNABORTED, QO_RANK_NONE);
		return;
	}
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
	struct qoi_command *command;
	struct qoi_lane *lane;

	if (qoi_link_is_forked(far->link))
		return -EPERM;
	if (qoi_request_pending(op->request))
		op_look(op);
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
	op_look((struct qo_op *)work);
}

static void far_read(struct qoi_work *work, struct qoi_request *request,
		     struct qoi_budget *budget)
{
	(void)budget;
	if (qoi_request_pending(request))
		op_look((struct qo_op *)work);
}

/*
 * Where the cores are fewer than those who want them, the daemon and others
 * may wait for this one: it is offered between two pieces.
 */
static void own_copy(const struct qo_op *op, const struct qoi_step *step)
{
	uint8_t *to = op->exec.buffers[step->to] + step->to_offset;
	const uint8_t *from = op->exec.buffers[step->from] + step->from_offset;
	uint64_t done = 0;

	while (done < step->bytes) {
		uint64_t bytes = step->bytes - done;

		if (bytes > LEND_PIECE_BYTES)
			bytes = LEND_PIECE_BYTES;
		memcpy(to + done, from + done, bytes);
		done += bytes;
		if (done < step->bytes && op->agent->far_crowded != 0)
			sched_yield();
	}
}

/* Copies from the send to the receive buffer, both of which are here. */
static void far_lend(struct qoi_work *work, struct qoi_request *request)
{
	struct qo_op *op = (struct qo_op *)work;
	const struct qoi_schedule *schedule = op->schedule;
	uint32_t generation = qoi_request_generation(request);

	/* From the claim on the request does not end before it is done. */
	if (op->far->local_bytes < LEND_BYTES ||
	    !qoi_attach_local_claim(op->far->completion, generation,
				    QOI_LOCAL_CLIENT))
		return;
	for (uint32_t i = 0; i < schedule->step_count; i++) {
		if (schedule->steps[i].kind == QOI_STEP_COPY)
			own_copy(op, &schedule->steps[i]);
	}
	qoi_attach_local_done(op->far->completion, generation);
}

const struct qoi_work_ops qoi_far_work_ops = {
	.advance = far_advance,
	.peer_gone = far_peer_gone,
	.read = far_read,
	.lend = far_lend,
};
