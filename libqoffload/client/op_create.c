/* SPDX-License-Identifier: BSD-3-Clause */
#include "libqoffload/client/op_create.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "libqoffload/base/error.h"
#include "libqoffload/client/far_op.h"
#include "libqoffload/client/exchange.h"
#include "libqoffload/client/op_describe.h"
#include "libqoffload/client/op_object.h"

/* Slots of a ring: enough to run ahead, few enough to stay in the cache. */
#define SMALL_SLOTS 8
#define LARGE_SLOTS 4
#define SMALL_PAYLOAD_BYTES 4096
#define LINE_BYTES UINT64_C(128)

/* What is known of one peer while the operation is made. */
struct peer_plan {
	struct qoi_descriptor own;  /* what we say */
	struct qoi_descriptor peer; /* what it says */
	uint64_t slot_message; /* longest message from it that fits slots */
	uint32_t takes;	       /* messages come from it */
	uint32_t puts;	       /* messages go to it */
};

struct plan {
	struct qo_op *op;
	struct qo_team *team;
	struct qoi_coll *coll;
	struct peer_plan *peers; /* by rank */
	const void *send;
	void *recv;
	uint32_t direct; /* 1: this rank needs no agent for it */
};

static const char *algorithm_wanted(const struct qoi_config *config,
				    uint32_t kind)
{
	switch (kind) {
	case QOI_ALLTOALL:
		return config->coll_alltoall;
	case QOI_ALLTOALLV:
		return config->coll_alltoallv;
	case QOI_ALLGATHER:
		return config->coll_allgather;
	case QOI_ALLGATHERV:
		return config->coll_allgatherv;
	case QOI_ALLREDUCE:
		return config->coll_allreduce;
	case QOI_BCAST:
		return config->coll_bcast;
	default:
		return config->coll_barrier;
	}
}

static int schedule_make(struct plan *plan)
{
	const struct qoi_config *config = &plan->team->context->config;
	const struct qoi_coll_limits limits = {
		.flat_bytes = config->coll_flat_bytes,
		.flat_ranks = (uint32_t)config->coll_flat_ranks,
	};
	struct qo_op *op = plan->op;
	int error =
		qoi_schedule_compile(plan->coll,
				     algorithm_wanted(config, plan->coll->kind),
				     &limits, &op->schedule);

	if (error != 0)
		return error;
	return qoi_schedule_validate(op->schedule);
}

/* From which size on we fetch a peer's messages from its memory. */
static uint64_t get_bytes(const struct qo_team *team, uint32_t rank)
{
	const struct qo_conn *conn = team->conns[rank];

	if (conn == NULL || (conn->flags & QO_CONN_GET) == 0)
		return UINT64_MAX;
	return team->context->config.shm_get_bytes;
}

/* Which messages go where, and how long the ones are that slots carry. */
static void messages_count(struct plan *plan)
{
	const struct qoi_schedule *schedule = plan->op->schedule;

	for (uint32_t i = 0; i < schedule->step_count; i++) {
		const struct qoi_step *step = &schedule->steps[i];
		struct peer_plan *peer = &plan->peers[step->peer];

		if (step->kind == QOI_STEP_PUT)
			peer->puts = 1;
		if (step->kind != QOI_STEP_GET && step->kind != QOI_STEP_REDUCE)
			continue;
		peer->takes = 1;
		/* Longer ones we fetch ourselves. */
		if (step->bytes >= peer->own.get_bytes)
			continue;
		if (step->bytes > peer->slot_message)
			peer->slot_message = step->bytes;
	}
}

/* Places slots and credit lines; returns the bytes of the window. */
static uint64_t window_plan(struct plan *plan)
{
	uint64_t chunk = plan->team->context->config.shm_chunk_bytes;
	uint64_t bytes = 0;

	for (uint32_t rank = 0; rank < plan->team->count; rank++) {
		struct peer_plan *peer = &plan->peers[rank];
		struct qoi_queue_shape shape = {
			.slot_count = SMALL_SLOTS,
			.encoding = QOI_ENCODING_CLASSIC,
		};
		uint64_t payload = (peer->slot_message + 15) & ~UINT64_C(15);

		if (peer->puts) {
			peer->own.place.credit_offset = bytes;
			bytes += LINE_BYTES;
		}
		if (!peer->takes)
			continue;
		if (payload < sizeof(struct qoi_get_notice))
			payload = sizeof(struct qoi_get_notice);
		if (payload > chunk)
			payload = chunk;
		if (payload > SMALL_PAYLOAD_BYTES)
			shape.slot_count = LARGE_SLOTS;
		shape.payload_bytes = (uint32_t)payload;
		peer->own.slot_count = shape.slot_count;
		peer->own.payload_bytes = shape.payload_bytes;
		peer->own.place.slots_offset = bytes;
		bytes += qoi_queue_bytes(&shape);
	}
	return bytes;
}

static int window_format(struct plan *plan)
{
	uint8_t *base = plan->op->window->base;

	for (uint32_t rank = 0; rank < plan->team->count; rank++) {
		const struct peer_plan *peer = &plan->peers[rank];
		const struct qoi_queue_shape shape = { peer->own.slot_count,
						       peer->own.payload_bytes,
						       QOI_ENCODING_CLASSIC };
		int error;

		if (peer->puts)
			qoi_credit_format(
				(uint64_t *)(void *)(base +
						     peer->own.place.credit_offset),
				0);
		if (!peer->takes)
			continue;
		error = qoi_queue_format(&shape,
					 base + peer->own.place.slots_offset, 0);
		if (error != 0)
			return qoi_fail(error, "QO_SHM_CHUNK_BYTES does not "
					       "suit a queue");
	}
	return 0;
}

static int window_make(struct plan *plan)
{
	struct qo_endpoint *endpoint = NULL;
	uint64_t bytes = window_plan(plan);

	for (uint32_t rank = 0; rank < plan->team->count; rank++) {
		if (plan->peers[rank].takes || plan->peers[rank].puts)
			endpoint = plan->team->conns[rank]->endpoint;
	}
	if (endpoint == NULL)
		return 0;
	if (bytes == 0)
		bytes = LINE_BYTES;
	if (endpoint->provider->ops->window_create(endpoint, bytes,
						   &plan->op->window) != 0)
		return -ENOSPC; /* told by the provider */
	return window_format(plan);
}

static const void *plan_message(void *arg, uint32_t rank, size_t *bytes_out)
{
	struct plan *plan = arg;

	*bytes_out = sizeof(plan->peers[rank].own);
	return &plan->peers[rank].own;
}

static int plan_take(void *arg, uint32_t rank, const void *data, size_t bytes,
		     struct qo_remote *remote)
{
	struct plan *plan = arg;
	struct peer_plan *peer = &plan->peers[rank];

	plan->op->remotes[rank] = remote;
	if (bytes != sizeof(peer->peer))
		return qoi_fail(-EBADMSG,
				"rank %u sent a descriptor of %zu "
				"bytes",
				rank, bytes);
	memcpy(&peer->peer, data, sizeof(peer->peer));
	return qoi_descriptor_compare(&peer->own, plan->team->rank, &peer->peer,
				      rank, plan->team->id, plan->op->sequence);
}

static int channel_make(struct plan *plan, uint32_t rank)
{
	const struct peer_plan *peer = &plan->peers[rank];
	struct qo_op *op = plan->op;
	struct qoi_channel_params params = {
		.conn = plan->team->conns[rank],
		.remote = op->remotes[rank],
		.own_base = op->window->base,
		.peer = rank,
		.own = peer->own.place,
		.peers = peer->peer.place,
		.credit_batch = peer->own.slot_count / 2,
		.get_bytes = peer->peer.get_bytes,
	};

	if (op->remotes[rank] == NULL)
		return qoi_fail(-EBADMSG, "rank %u offered no window", rank);
	if (peer->takes)
		params.in_shape =
			(struct qoi_queue_shape){ peer->own.slot_count,
						  peer->own.payload_bytes,
						  QOI_ENCODING_CLASSIC };
	if (peer->puts)
		params.out_shape =
			(struct qoi_queue_shape){ peer->peer.slot_count,
						  peer->peer.payload_bytes,
						  QOI_ENCODING_CLASSIC };
	if (peer->puts && qoi_queue_shape_check(&params.out_shape) != 0)
		return qoi_fail(-EBADMSG, "rank %u offers an impossible queue",
				rank);
	op->channels[rank] = aligned_alloc(
		128, (sizeof(struct qoi_channel) + 127) & ~(size_t)127);
	if (op->channels[rank] == NULL)
		return qoi_fail(-ENOMEM, "no memory for a channel");
	return qoi_channel_init(op->channels[rank], &params);
}

/*
 * Whether the daemon carries it out.  All ranks have heard the same, so all
 * decide alike.
 */
static int is_far(const struct plan *plan)
{
	uint32_t direct = plan->direct;

	for (uint32_t rank = 0; rank < plan->team->count; rank++) {
		if (rank != plan->team->rank)
			direct &= plan->peers[rank].peer.direct;
	}
	return plan->team->far && !direct;
}

static int channels_make(struct plan *plan)
{
	struct qo_op *op = plan->op;

	op->work.readable = 1;
	for (uint32_t rank = 0; rank < plan->team->count; rank++) {
		int error;

		if (!plan->peers[rank].takes && !plan->peers[rank].puts)
			continue;
		error = channel_make(plan, rank);
		if (error != 0)
			return error;
		if (!qoi_channel_mapped(op->channels[rank]))
			op->work.readable = 0;
	}
	op->work.lendable = op->work.readable;
	return 0;
}

/* Messages of this size go through slots, and through nothing else. */
static int judge_direct(const struct plan *plan)
{
	const struct qoi_config *config = &plan->team->context->config;
	uint64_t slot_bytes = config->shm_chunk_bytes;

	if (config->agent_direct == QOI_CONFIG_SWITCH_OFF)
		return 0;
	/* A peer fetches longer ones, and is waited for until it has. */
	if (config->shm_get != QOI_CONFIG_SWITCH_OFF &&
	    slot_bytes >= config->shm_get_bytes) {
		if (config->shm_get_bytes == 0)
			return 0;
		slot_bytes = config->shm_get_bytes - 1;
	}
	return qoi_schedule_is_direct(plan->op->schedule, slot_bytes);
}

/* What this rank can find wrong alone; it goes to the others either way. */
static int prepare(struct plan *plan)
{
	struct qo_op *op = plan->op;
	int error = schedule_make(plan);

	if (error != 0)
		return error;
	plan->direct = (uint32_t)judge_direct(plan);
	for (uint32_t rank = 0; rank < plan->team->count; rank++) {
		qoi_descriptor_fill(&plan->peers[rank].own, plan->coll,
				    op->schedule->algorithm, rank);
		plan->peers[rank].own.get_bytes = get_bytes(plan->team, rank);
		plan->peers[rank].own.direct = plan->direct;
	}
	messages_count(plan);
	/* Nobody writes to us where the daemon does it all. */
	if (plan->direct || !plan->team->far)
		error = window_make(plan);
	if (error != 0)
		return error;
	pthread_mutex_lock(&op->agent->table_lock);
	error = qoi_request_take(plan->team->context->number, &op->work,
				 &op->request);
	pthread_mutex_unlock(&op->agent->table_lock);
	return error;
}

/* This rank's own means: channels to its peers, and a schedule under way. */
static int near_make(struct plan *plan)
{
	struct qo_op *op = plan->op;
	int error = channels_make(plan);

	if (error != 0)
		return error;
	return qoi_exec_init(&op->exec, op->schedule, op->channels,
			     plan->team->conns);
}

static int far_make(struct plan *plan)
{
	struct qo_team *team = plan->team;

	qoi_op_window_release(plan->op);
	return qoi_far_op_open(plan->op, team->context->link, team->id,
			       team->rank);
}

static void buffers_set(struct plan *plan)
{
	struct qoi_exec *exec = &plan->op->exec;

	exec->buffers[QOI_BUFFER_SEND] = (uint8_t *)(uintptr_t)plan->send;
	exec->buffers[QOI_BUFFER_RECV] = plan->recv;
}

static int agree(struct plan *plan)
{
	struct qo_op *op = plan->op;
	struct qoi_exchange exchange = {
		.team = plan->team,
		.kind = QOI_CONTROL_OP,
		.sequence = op->sequence,
		.window = op->window,
		.arg = plan,
		.message = plan_message,
		.take = plan_take,
	};
	int error = qoi_exchange_run(&exchange);

	buffers_set(plan);
	if (error == 0)
		error = is_far(plan) ? far_make(plan) : near_make(plan);
	/* Making it cleared what was there before. */
	buffers_set(plan);
	return qoi_exchange_verdict(plan->team, op->sequence, error);
}

static int plan_alloc(struct plan *plan, uint32_t sequence)
{
	int error;

	plan->peers = calloc(plan->team->count, sizeof(*plan->peers));
	if (plan->peers == NULL)
		return qoi_fail(-ENOMEM, "no memory for an operation");
	error = qoi_op_alloc(plan->team, plan->coll->kind, sequence, &plan->op);
	if (error != 0)
		free(plan->peers);
	return error;
}

int qoi_op_create(struct qo_team *team, struct qoi_coll *coll, const void *send,
		  void *recv, int local_error, struct qo_op **op_out)
{
	struct plan plan = {
		.team = team,
		.coll = coll,
		.send = send,
		.recv = recv,
	};
	uint32_t sequence = team->sequence++;
	int error = local_error;

	coll->rank = team->rank;
	coll->count = team->count;
	if (error == 0)
		error = plan_alloc(&plan, sequence);
	if (error != 0)
		return qoi_exchange_refuse(team, QOI_CONTROL_OP, sequence,
					   error);
	error = prepare(&plan);
	if (error != 0)
		error = qoi_exchange_refuse(team, QOI_CONTROL_OP, sequence,
					    error);
	else
		error = agree(&plan);
	if (error != 0) {
		qoi_op_free(plan.op);
		goto out;
	}
	qoi_op_keep(plan.op);
	*op_out = plan.op;
out:
	free(plan.peers);
	return error;
}
