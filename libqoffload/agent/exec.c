/* SPDX-License-Identifier: BSD-3-Clause */
#include "libqoffload/agent/exec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libqoffload/agent/ring.h"
#include "libqoffload/agent/step.h"
#include "libqoffload/base/error.h"

static int needs_bounce(const struct qoi_schedule *schedule)
{
	for (uint32_t i = 0; i < schedule->step_count; i++) {
		if (schedule->steps[i].kind == QOI_STEP_REDUCE)
			return 1;
	}
	return 0;
}

int qoi_exec_init(struct qoi_exec *exec, const struct qoi_schedule *schedule,
		  struct qoi_channel **channels, struct qo_conn **conns)
{
	memset(exec, 0, sizeof(*exec));
	exec->schedule = schedule;
	exec->channels = channels;
	exec->conns = conns;
	exec->states = calloc(schedule->step_count + 1, sizeof(*exec->states));
	if (exec->states == NULL)
		goto err_none;
	if (schedule->scratch_bytes != 0) {
		exec->buffers[QOI_BUFFER_SCRATCH] =
			malloc(schedule->scratch_bytes);
		if (exec->buffers[QOI_BUFFER_SCRATCH] == NULL)
			goto err_free_states;
	}
	if (needs_bounce(schedule)) {
		exec->bounce = malloc(QOI_BOUNCE_BYTES);
		if (exec->bounce == NULL)
			goto err_free_scratch;
	}
	return 0;

err_free_scratch:
	free(exec->buffers[QOI_BUFFER_SCRATCH]);
err_free_states:
	free(exec->states);
err_none:
	memset(exec, 0, sizeof(*exec));
	return qoi_fail(-ENOMEM,
			"no memory for a schedule of %u steps and "
			"%llu bytes of scratch",
			schedule->step_count,
			(unsigned long long)schedule->scratch_bytes);
}

void qoi_exec_fini(struct qoi_exec *exec)
{
	free(exec->bounce);
	free(exec->buffers[QOI_BUFFER_SCRATCH]);
	free(exec->states);
	memset(exec, 0, sizeof(*exec));
}

static int step_is_local(const struct qoi_step *step)
{
	return step->kind == QOI_STEP_COPY || step->kind == QOI_STEP_FOLD;
}

static uint32_t stage_length(const struct qoi_exec *exec)
{
	const struct qoi_schedule *schedule = exec->schedule;
	uint32_t end = exec->first;

	while (end < schedule->step_count &&
	       schedule->steps[end].stage == exec->stage)
		end++;
	return end - exec->first;
}

/* Stages may be empty on a rank: left is 0 then, and the next one follows. */
static void stage_enter(struct qoi_exec *exec, uint32_t stage, uint32_t first)
{
	exec->stage = stage;
	exec->first = first;
	exec->left = stage_length(exec);
	memset(&exec->states[first], 0, exec->left * sizeof(*exec->states));
}

void qoi_exec_start(struct qoi_exec *exec)
{
	exec->error = 0;
	stage_enter(exec, 0, 0);
}

void qoi_exec_give_up(struct qoi_exec *exec, int error)
{
	const struct qoi_schedule *schedule = exec->schedule;

	exec->error = error;
	for (uint32_t i = exec->first; i < schedule->step_count; i++) {
		if (schedule->steps[i].stage != exec->stage)
			break;
		if (exec->states[i].noticed && !exec->states[i].done)
			qoi_step_revoke(exec, &schedule->steps[i],
					&exec->states[i]);
	}
	/* Revoked for all to see, before the user writes there again. */
	qoi_store_load_barrier();
}

static int exec_fail(struct qoi_exec *exec, uint32_t peer, int error)
{
	const struct qoi_channel *channel = exec->channels[peer];

	exec->error_rank = peer;
	if (channel != NULL && channel->blamed != 0)
		exec->error_rank = channel->blamed - 1;
	/* The rank's own buffer, or the rank itself, is not there. */
	if (error == -EFAULT || error == -EOWNERDEAD) {
		exec->error_rank = exec->schedule->rank;
		error = error == -EFAULT ? -EIO : -ECONNRESET;
	}
	qoi_exec_give_up(exec, error);
	return error;
}

/*
 * One round over the steps of the stage that aren't done.
 * Returns how many of them moved, or a negative errno.
 */
static int stage_round(struct qoi_exec *exec, uint32_t count,
		       struct qoi_budget *budget)
{
	int moved = 0;

	for (uint32_t i = exec->first; i < exec->first + count; i++) {
		struct qoi_step_state *state = &exec->states[i];
		int result;

		if (state->done ||
		    (exec->held && step_is_local(&exec->schedule->steps[i])))
			continue;
		result = qoi_step_advance(exec, &exec->schedule->steps[i],
					  state, budget);
		if (result < 0)
			return exec_fail(exec, exec->schedule->steps[i].peer,
					 result);
		moved += result;
		exec->left -= state->done;
		budget->steps += state->done;
	}
	return moved;
}

int qoi_exec_advance(struct qoi_exec *exec, struct qoi_budget *budget)
{
	uint32_t count = stage_length(exec);

	if (exec->error != 0)
		return exec->error;
	for (;;) {
		int moved;

		while (exec->left == 0) {
			if (exec->stage + 1 >= exec->schedule->stage_count)
				return 1;
			stage_enter(exec, exec->stage + 1, exec->first + count);
			count = exec->left;
		}
		moved = stage_round(exec, count, budget);
		if (moved < 0)
			return moved;
		if (exec->left == 0)
			continue;
		if (moved == 0 || budget->bytes == 0)
			return 0;
	}
}

int qoi_exec_only_arrivals(const struct qoi_exec *exec, const uint64_t **watch,
			   uint64_t *value)
{
	const struct qoi_schedule *schedule = exec->schedule;
	const struct qoi_step *awaited = NULL;

	for (uint32_t i = exec->first; i < schedule->step_count; i++) {
		const struct qoi_step *step = &schedule->steps[i];

		if (step->stage == exec->stage && exec->states[i].done)
			continue;
		/* Local work of this stage is at hand: somebody must do it. */
		if (step_is_local(step) && step->stage == exec->stage)
			return 0;
		if (step_is_local(step))
			continue;
		if (step->kind == QOI_STEP_PUT)
			return 0;
		if (!qoi_step_is_small(exec, step))
			return 0;
		if (awaited == NULL)
			awaited = step;
	}
	if (awaited == NULL)
		return 0;
	*watch = qoi_step_watch(exec, awaited, value);
	return 1;
}

void qoi_exec_ring(struct qoi_exec *exec)
{
	int fenced = 0;

	for (uint32_t rank = 0; rank < exec->schedule->count; rank++) {
		struct qoi_channel *channel = exec->channels[rank];

		if (channel == NULL || !channel->rung)
			continue;
		channel->rung = 0;
		if (channel->conn == NULL || channel->conn->peer_bell == NULL)
			continue;
		if (!fenced)
			qoi_store_load_barrier();
		fenced = 1;
		qoi_ring_peer(channel->conn);
	}
}

int qoi_exec_fate(struct qoi_exec *exec)
{
	for (uint32_t rank = 0; rank < exec->schedule->count; rank++) {
		const struct qo_conn *conn = exec->conns[rank];
		int fate;

		if (conn == NULL)
			continue;
		fate = (int)qoi_observe32((const uint32_t *)&conn->fate);
		if (fate != 0) {
			exec->error_rank = rank;
			return fate;
		}
	}
	return 0;
}

/* The same for those that died alone. */
static int died(struct qoi_exec *exec)
{
	for (uint32_t rank = 0; rank < exec->schedule->count; rank++) {
		const struct qo_conn *conn = exec->conns[rank];

		if (conn == NULL ||
		    (int)qoi_observe32((const uint32_t *)&conn->fate) !=
			    -ECONNRESET)
			continue;
		exec->error_rank = rank;
		return -ECONNRESET;
	}
	return 0;
}

#define FORESEEN_ALL UINT32_MAX

/* The last that it did may be to fetch this: its credit is here then. */
static int was_fetched(const struct qoi_channel *channel,
		       const struct qoi_step_state *state)
{
	return state->noticed &&
	       (int64_t)(qoi_channel_consumed(channel) - state->position) >= 0;
}

/*
 * Whether the part of one who said good-bye is missing.  Its k-th message from
 * now on lies in the k-th slot, as long as each fits one; behind a longer one
 * we look again when that is taken.
 */
static int step_misses(struct qoi_exec *exec, const struct qoi_step *step,
		       const struct qoi_step_state *state)
{
	struct qoi_channel *channel = exec->channels[step->peer];
	const struct qoi_consumer *consumer = &channel->consumer;
	uint64_t position;

	/* It needs nothing of us; only what can't be put now never will. */
	if (step->kind == QOI_STEP_PUT)
		return step->stage == exec->stage &&
		       !was_fetched(channel, state);
	if (channel->foreseen == FORESEEN_ALL)
		return 0;
	position = consumer->position + channel->foreseen++;
	if (!qoi_slot_arrived(qoi_slot(consumer->slots, &channel->in_shape,
				       position),
			      position))
		return 1;
	if (step->bytes > channel->in_shape.payload_bytes)
		channel->foreseen = FORESEEN_ALL;
	return 0;
}

static void foresight_reset(struct qoi_exec *exec)
{
	for (uint32_t rank = 0; rank < exec->schedule->count; rank++) {
		if (exec->channels[rank] != NULL)
			exec->channels[rank]->foreseen = 0;
	}
}

int qoi_exec_orphaned(struct qoi_exec *exec)
{
	const struct qoi_schedule *schedule = exec->schedule;
	int fate;

	foresight_reset(exec);
	for (uint32_t i = exec->first; i < schedule->step_count; i++) {
		const struct qoi_step *step = &schedule->steps[i];

		if (step_is_local(step) ||
		    (step->stage == exec->stage && exec->states[i].done))
			continue;
		/* In this order: what came before the good-bye is here then. */
		fate = qoi_channel_fate(exec->channels[step->peer]);
		if (fate != -EPIPE || !step_misses(exec, step, &exec->states[i]))
			continue;
		exec->error_rank = step->peer;
		return fate;
	}
	return died(exec);
}
