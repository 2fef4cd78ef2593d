/* SPDX-License-Identifier: BSD-3-Clause */
#include "libqoffload/agent/step.h"

#include <errno.h>
#include <string.h>

#include "libqoffload/base/error.h"

static uint64_t min64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void spend(struct qoi_budget *budget, uint64_t bytes)
{
	budget->bytes -= min64(bytes, budget->bytes);
}

static uint8_t *source(const struct qoi_exec *exec, const struct qoi_step *step)
{
	uint8_t *base = exec->buffers[step->from];

	/* A NULL buffer is allowed when it is empty; don't add to it. */
	return base == NULL ? NULL : base + step->from_offset;
}

static uint8_t *target(const struct qoi_exec *exec, const struct qoi_step *step)
{
	uint8_t *base = exec->buffers[step->to];

	return base == NULL ? NULL : base + step->to_offset;
}

/* How much of a step to do now; elements stay whole. */
static uint64_t piece_of(const struct qoi_step *step,
			 const struct qoi_step_state *state,
			 const struct qoi_budget *budget, uint64_t limit)
{
	uint64_t left = step->bytes - state->moved;

	limit = min64(limit, budget->bytes) & ~UINT64_C(63);
	return min64(left, limit == 0 ? 64 : limit);
}

/* Our side of a fetch by the peer: say where it is, wait for its credit. */
static int put_notice(const struct qoi_exec *exec, const struct qoi_step *step,
		      struct qoi_step_state *state, struct qoi_channel *channel)
{
	struct qoi_get_notice notice = {
		.address = step->from_offset,
		.bytes = step->bytes,
		.buffer = step->from,
	};
	void *payload;
	int error;

	if (state->noticed) {
		state->done = (int64_t)(qoi_channel_consumed(channel) -
					state->position) >= 0;
		return state->done;
	}
	if (channel->peer_exec == NULL)
		notice.address = (uint64_t)(uintptr_t)source(exec, step);
	error = qoi_channel_claim(channel, &payload);
	if (error != 0)
		return error;
	memcpy(payload, &notice, sizeof(notice));
	error = qoi_channel_commit(channel, sizeof(notice), QOI_SLOT_GET);
	if (error != 0)
		return error;
	state->position = channel->producer.position;
	state->noticed = 1;
	return 1;
}

void qoi_step_revoke(const struct qoi_exec *exec, const struct qoi_step *step,
		     const struct qoi_step_state *state)
{
	struct qoi_channel *channel = exec->channels[step->peer];
	struct qoi_layout_edge_slot *slot;

	if (step->kind != QOI_STEP_PUT || !qoi_channel_mapped(channel))
		return;
	slot = (void *)qoi_slot(channel->producer.slots, &channel->out_shape,
				state->position - 1);
	qoi_publish16(&slot->flags,
		      (uint16_t)(QOI_SLOT_REVOKED | exec->error_rank));
}

/* Our copy into the peer's slots, as many as have credit. */
static int put_slots(const struct qoi_exec *exec, const struct qoi_step *step,
		     struct qoi_step_state *state, struct qoi_channel *channel,
		     struct qoi_budget *budget)
{
	const uint8_t *from = source(exec, step);
	uint32_t limit = channel->out_shape.payload_bytes;
	int moved = 0;

	do {
		uint64_t left = step->bytes - state->moved;
		uint32_t bytes = (uint32_t)min64(left, limit);
		void *payload;
		int error = qoi_channel_claim(channel, &payload);

		if (error != 0)
			return moved != 0 ? moved : error;
		if (from != NULL && bytes != 0)
			memcpy(payload, from + state->moved, bytes);
		else if (bytes != 0)
			error = qoi_reach_read(exec, step->from,
					       step->from_offset + state->moved,
					       payload, bytes);
		if (error != 0) {
			qoi_producer_abort(&channel->producer);
			return error;
		}
		error = qoi_channel_commit(channel, bytes, QOI_SLOT_DATA);
		if (error != 0)
			return moved != 0 ? moved : error;
		state->moved += bytes;
		spend(budget, bytes);
		moved = 1;
	} while (state->moved < step->bytes && budget->bytes != 0);
	state->done = state->moved == step->bytes;
	return 1;
}

/* Whether the peer fetches this message itself: it said so, and it can. */
static int by_get(const struct qoi_step *step, const struct qoi_channel *channel)
{
	return step->bytes >= channel->get_bytes && channel->conn != NULL &&
	       (channel->conn->flags & QO_CONN_GET_BY_PEER) != 0;
}

static int step_put(const struct qoi_exec *exec, const struct qoi_step *step,
		    struct qoi_step_state *state, struct qoi_budget *budget)
{
	struct qoi_channel *channel = exec->channels[step->peer];

	if (!qoi_channel_mapped(channel) && !budget->in_cycle)
		return 0;
	if (by_get(step, channel))
		return put_notice(exec, step, state, channel);
	return put_slots(exec, step, state, channel, budget);
}

/* Takes `bytes` that are at hand to where the step wants them. */
static int deliver(const struct qoi_exec *exec, const struct qoi_step *step,
		   struct qoi_step_state *state, const void *from,
		   uint64_t bytes, struct qoi_budget *budget)
{
	uint8_t *to = target(exec, step);
	int error = 0;

	if (bytes == 0)
		return 0;
	if (step->kind == QOI_STEP_REDUCE)
		error = qoi_reach_fold(exec, step->to,
				       step->to_offset + state->moved, from,
				       bytes);
	else if (to != NULL)
		memcpy(to + state->moved, from, bytes);
	else
		error = qoi_reach_write(exec, step->to,
					step->to_offset + state->moved, from,
					bytes);
	if (error != 0)
		return error;
	state->moved += bytes;
	spend(budget, bytes);
	return 0;
}

/*
 * Whether the sender gave up on the message at the head of the queue; who is
 * to blame, it says too.
 */
static int notice_revoked(const struct qoi_exec *exec,
			  struct qoi_channel *channel)
{
	const struct qoi_consumer *consumer = &channel->consumer;
	const struct qoi_layout_edge_slot *slot = (const void *)qoi_slot(
		consumer->slots, &channel->in_shape, consumer->position);
	uint16_t flags = qoi_observe16(&slot->flags);
	uint32_t rank = flags & (QOI_SLOT_REVOKED - 1);

	if ((flags & QOI_SLOT_REVOKED) == 0)
		return 0;
	if (rank < exec->schedule->count)
		channel->blamed = rank + 1;
	return 1;
}

/* One piece from the memory of a peer that has an agent of its own. */
static int fetch_by_provider(const struct qoi_exec *exec,
			     const struct qoi_step *step,
			     const struct qoi_step_state *state,
			     struct qoi_channel *channel, uint64_t address,
			     uint64_t bytes)
{
	const struct qo_provider_ops *ops =
		channel->conn->endpoint->provider->ops;
	uint8_t *to = target(exec, step) + state->moved;
	int error;

	if (step->kind == QOI_STEP_REDUCE)
		to = exec->bounce;
	error = ops->get(channel->conn, address + state->moved, to, bytes);
	/* Fetched while it was still the sender's to give? */
	if (notice_revoked(exec, channel))
		return -ECONNRESET;
	if (error == 0 && step->kind == QOI_STEP_REDUCE)
		error = qoi_reach_fold(exec, step->to,
				       step->to_offset + state->moved, to,
				       bytes);
	return error;
}

/* One piece, where the peer's end is carried out here too. */
static int fetch_here(const struct qoi_exec *exec, const struct qoi_step *step,
		      const struct qoi_step_state *state,
		      struct qoi_channel *channel,
		      const struct qoi_get_notice *notice, uint64_t bytes)
{
	const struct qoi_place from = {
		.exec = channel->peer_exec,
		.buffer = (uint8_t)notice->buffer,
		.offset = notice->address + state->moved,
	};
	const struct qoi_place to = {
		.exec = exec,
		.buffer = step->to,
		.offset = step->to_offset + state->moved,
	};

	if (notice_revoked(exec, channel))
		return -ECONNRESET;
	return qoi_reach_move(&from, &to, bytes, step->kind == QOI_STEP_REDUCE);
}

/* Fetches one bounded piece from the peer's memory. */
static int fetch(const struct qoi_exec *exec, const struct qoi_step *step,
		 struct qoi_step_state *state, struct qoi_channel *channel,
		 const struct qoi_get_notice *notice, struct qoi_budget *budget)
{
	uint64_t limit = step->kind == QOI_STEP_REDUCE ? QOI_BOUNCE_BYTES
						       : QOI_BUDGET_AGENT_BYTES;
	uint64_t bytes = piece_of(step, state, budget, limit);
	int error;

	if (channel->peer_exec != NULL)
		error = fetch_here(exec, step, state, channel, notice, bytes);
	else
		error = fetch_by_provider(exec, step, state, channel,
					  notice->address, bytes);
	if (error != 0)
		return error;
	state->moved += bytes;
	spend(budget, bytes);
	return 0;
}

static int take_by_get(const struct qoi_exec *exec, const struct qoi_step *step,
		       struct qoi_step_state *state, struct qoi_channel *channel,
		       const struct qoi_message *message,
		       struct qoi_budget *budget)
{
	struct qoi_get_notice notice;
	int error;

	if (message->bytes != sizeof(notice))
		return -EBADMSG;
	memcpy(&notice, message->payload, sizeof(notice));
	if (notice.bytes != step->bytes || channel->conn == NULL)
		return -EBADMSG;
	/* One agent had both ends, and the peer's is gone. */
	if (channel->peer_exec == NULL && channel->conn->endpoint == NULL)
		return -ECONNRESET;
	while (state->moved < step->bytes) {
		if (budget->bytes == 0)
			return 1;
		error = fetch(exec, step, state, channel, &notice, budget);
		if (error != 0)
			return error;
	}
	state->done = 1;
	qoi_channel_release(channel);
	/* The sender may not touch its buffer before this credit. */
	error = qoi_channel_flush(channel);
	return error == -EAGAIN ? 1 : error < 0 ? error : 1;
}

static int step_take(const struct qoi_exec *exec, const struct qoi_step *step,
		     struct qoi_step_state *state, struct qoi_budget *budget)
{
	struct qoi_channel *channel = exec->channels[step->peer];
	int moved = 0;

	do {
		struct qoi_message message;
		int error = qoi_consumer_peek(&channel->consumer, &message);

		if (error != 0)
			return moved != 0 ? moved : error;
		if (message.kind == QOI_SLOT_GET)
			return take_by_get(exec, step, state, channel, &message,
					   budget);
		if (message.bytes != min64(step->bytes - state->moved,
					   channel->in_shape.payload_bytes))
			return -EBADMSG;
		error = deliver(exec, step, state, message.payload,
				message.bytes, budget);
		if (error != 0)
			return error;
		qoi_channel_release(channel);
		moved = 1;
	} while (state->moved < step->bytes && budget->bytes != 0);
	state->done = state->moved == step->bytes;
	return 1;
}

static int step_local(const struct qoi_exec *exec, const struct qoi_step *step,
		      struct qoi_step_state *state, struct qoi_budget *budget)
{
	const struct qoi_place from = { exec, step->from,
					step->from_offset + state->moved };
	const struct qoi_place to = { exec, step->to,
				      step->to_offset + state->moved };
	uint64_t bytes = piece_of(step, state, budget, QOI_BUDGET_AGENT_BYTES);
	int error = 0;

	if (bytes != 0)
		error = qoi_reach_move(&from, &to, bytes,
				       step->kind == QOI_STEP_FOLD);
	if (error != 0)
		return error;
	state->moved += bytes;
	spend(budget, bytes);
	state->done = state->moved == step->bytes;
	return 1;
}

int qoi_step_advance(struct qoi_exec *exec, const struct qoi_step *step,
		     struct qoi_step_state *state, struct qoi_budget *budget)
{
	int result;

	switch (step->kind) {
	case QOI_STEP_PUT:
		result = step_put(exec, step, state, budget);
		break;
	case QOI_STEP_GET:
	case QOI_STEP_REDUCE:
		result = step_take(exec, step, state, budget);
		break;
	default:
		result = step_local(exec, step, state, budget);
		break;
	}
	return result == -EAGAIN ? 0 : result;
}

int qoi_step_is_small(const struct qoi_exec *exec, const struct qoi_step *step)
{
	const struct qoi_channel *channel = exec->channels[step->peer];

	return step->bytes <= channel->in_shape.payload_bytes &&
	       qoi_channel_mapped(channel);
}

const uint64_t *qoi_step_watch(const struct qoi_exec *exec,
			       const struct qoi_step *step, uint64_t *value)
{
	const struct qoi_consumer *consumer =
		&exec->channels[step->peer]->consumer;
	uint64_t index = consumer->position & (consumer->slot_count - 1);

	*value = consumer->position + 1;
	return (const uint64_t *)(const void *)(consumer->slots +
						index * consumer->stride);
}
