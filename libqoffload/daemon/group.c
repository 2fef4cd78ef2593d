/* SPDX-License-Identifier: BSD-3-Clause */
/* The halves of one operation: finding them, tying them, untying them. */
#include "libqoffload/daemon/group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libqoffload/base/error.h"

#define LINE_BYTES UINT64_C(128)

/* What goes between a half and one of its peers. */
struct pair {
	struct qoi_channel_place place; /* in the half's own window */
	struct qoi_queue_shape shape;	/* of what arrives; slot_count 0 */
	uint32_t puts;
};

static struct qoi_group *group_create(struct qoi_daemon *daemon,
				      const struct qoi_group_key *key,
				      uint32_t count)
{
	struct qoi_group *group = calloc(1, sizeof(*group));

	if (group == NULL)
		return NULL;
	group->key = *key;
	group->daemon = daemon;
	group->count = count;
	group->halves = calloc(count, sizeof(struct qoi_half *));
	group->windows = calloc(count, sizeof(uint8_t *));
	group->conns = calloc(count, sizeof(*group->conns));
	group->conn_pointers = calloc(count, sizeof(struct qo_conn *));
	group->remotes = calloc(count, sizeof(*group->remotes));
	if (group->halves == NULL || group->windows == NULL ||
	    group->conns == NULL || group->conn_pointers == NULL ||
	    group->remotes == NULL) {
		qoi_group_free(group);
		return NULL;
	}
	for (uint32_t rank = 0; rank < count; rank++) {
		group->conns[rank].flags =
			QO_CONN_MAP | QO_CONN_GET | QO_CONN_GET_BY_PEER;
		group->conn_pointers[rank] = &group->conns[rank];
		group->remotes[rank].conn = &group->conns[rank];
	}
	HASH_ADD(hh, daemon->groups, key, sizeof(group->key), group);
	daemon->group_count++;
	group->listed = 1;
	return group;
}

void qoi_group_free(struct qoi_group *group)
{
	if (group->listed) {
		HASH_DELETE(hh, group->daemon->groups, group);
		group->daemon->group_count--;
	}
	for (uint32_t rank = 0; group->windows != NULL && rank < group->count;
	     rank++)
		free(group->windows[rank]);
	free(group->remotes);
	free(group->conn_pointers);
	free(group->conns);
	free(group->windows);
	free(group->halves);
	free(group);
}

int qoi_group_join(struct qoi_half *half, const struct qoi_layout_attach_op *ask)
{
	struct qoi_daemon *daemon = half->session->daemon;
	struct qoi_group_key key;
	struct qoi_group *group;

	memset(&key, 0, sizeof(key)); /* it is compared as bytes */
	key.team = ask->team;
	key.sequence = ask->sequence;
	key.uid = half->session->uid;
	HASH_FIND(hh, daemon->groups, &key, sizeof(key), group);
	if (group == NULL)
		group = group_create(daemon, &key, ask->count);
	if (group == NULL)
		return qoi_fail(-ENOMEM, "no memory for a group of %u ranks",
				ask->count);
	if (group->count != ask->count || group->halves[ask->rank] != NULL ||
	    group->conns[ask->rank].fate != 0)
		return qoi_fail(-EPROTO,
				"operation %u of team %016llx: rank %u of %u "
				"does not fit what is here: %s",
				ask->sequence, (unsigned long long)ask->team,
				ask->rank, ask->count,
				group->count != ask->count
					? "another number of ranks"
					: "that rank came already");
	half->group = group;
	group->halves[ask->rank] = half;
	group->present++;
	return 0;
}

void qoi_group_leave(struct qoi_half *half, int fate)
{
	struct qoi_group *group = half->group;

	if (group == NULL)
		return;
	half->group = NULL;
	group->halves[half->rank] = NULL;
	group->conns[half->rank].fate = fate;
	group->losses++;
	group->present--;
	/* Nobody may look into its buffers any more. */
	for (uint32_t rank = 0; rank < group->count; rank++) {
		struct qoi_half *other = group->halves[rank];

		if (other != NULL && other->channels != NULL &&
		    other->channels[half->rank] != NULL)
			other->channels[half->rank]->peer_exec = NULL;
	}
	if (group->present == 0)
		qoi_group_free(group);
}

/* What arrives and leaves, by peer; returns the bytes of the window. */
static uint64_t window_plan(const struct qoi_half *half, struct pair *pairs)
{
	const struct qoi_schedule *schedule = half->schedule;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < schedule->step_count; i++) {
		const struct qoi_step *step = &schedule->steps[i];
		struct pair *pair = &pairs[step->peer];

		if (step->kind == QOI_STEP_PUT)
			pair->puts = 1;
		if (step->kind != QOI_STEP_GET && step->kind != QOI_STEP_REDUCE)
			continue;
		pair->shape.slot_count = QOI_RING_SLOTS;
		/* Longer ones are fetched from buffer to buffer. */
		if (step->bytes < QOI_EAGER_BYTES &&
		    step->bytes > pair->shape.payload_bytes)
			pair->shape.payload_bytes = (uint32_t)step->bytes;
	}
	for (uint32_t rank = 0; rank < schedule->count; rank++) {
		struct pair *pair = &pairs[rank];

		if (pair->puts) {
			pair->place.credit_offset = bytes;
			bytes += LINE_BYTES;
		}
		if (pair->shape.slot_count == 0)
			continue;
		pair->shape.encoding = QOI_ENCODING_CLASSIC;
		if (pair->shape.payload_bytes < sizeof(struct qoi_get_notice))
			pair->shape.payload_bytes =
				sizeof(struct qoi_get_notice);
		pair->place.slots_offset = bytes;
		bytes += qoi_queue_bytes(&pair->shape);
	}
	return bytes;
}

static int window_make(struct qoi_half *half, struct pair *pairs)
{
	struct qoi_group *group = half->group;
	uint64_t bytes = window_plan(half, pairs) + LINE_BYTES;
	uint8_t *window = aligned_alloc(128, (bytes + 127) & ~UINT64_C(127));

	if (window == NULL)
		return qoi_fail(-ENOMEM, "no memory for the slots of rank %u",
				half->rank);
	memset(window, 0, bytes);
	group->windows[half->rank] = window;
	group->remotes[half->rank].base = window;
	group->remotes[half->rank].bytes = bytes;
	for (uint32_t rank = 0; rank < group->count; rank++) {
		const struct pair *pair = &pairs[rank];

		if (pair->puts)
			qoi_credit_format(
				(uint64_t *)(void *)(window +
						     pair->place.credit_offset),
				0);
		if (pair->shape.slot_count != 0)
			qoi_queue_format(&pair->shape,
					 window + pair->place.slots_offset, 0);
	}
	return 0;
}

/* pair: of the half with its peer; back: of that peer with the half. */
static int channel_make(struct qoi_half *half, uint32_t peer,
			const struct pair *pair, const struct pair *back)
{
	struct qoi_group *group = half->group;
	struct qoi_channel *channel;
	struct qoi_channel_params params = {
		.conn = &group->conns[peer],
		.remote = &group->remotes[peer],
		.own_base = group->windows[half->rank],
		.peer = peer,
		.out_shape = back->shape,
		.in_shape = pair->shape,
		.own = pair->place,
		.peers = back->place,
		.credit_batch = QOI_RING_SLOTS / 2,
		.get_bytes = QOI_EAGER_BYTES,
	};

	if (!pair->puts && pair->shape.slot_count == 0)
		return 0;
	if (pair->puts != (back->shape.slot_count != 0))
		return qoi_fail(-EPROTO,
				"operation %u: ranks %u and %u disagree on who "
				"sends to whom",
				group->key.sequence, half->rank, peer);
	channel = aligned_alloc(128, (sizeof(*channel) + 127) & ~(size_t)127);
	if (channel == NULL)
		return qoi_fail(-ENOMEM, "no memory for a channel");
	half->channels[peer] = channel;
	if (qoi_channel_init(channel, &params) != 0)
		return -EPROTO; /* told */
	channel->peer_exec = &group->halves[peer]->exec;
	return 0;
}

static int halves_tie(struct qoi_group *group, struct pair *pairs)
{
	uint32_t count = group->count;
	int error = 0;

	for (uint32_t rank = 0; error == 0 && rank < count; rank++)
		error = window_make(group->halves[rank],
				    &pairs[(size_t)rank * count]);
	for (uint32_t rank = 0; error == 0 && rank < count; rank++) {
		for (uint32_t peer = 0; error == 0 && peer < count; peer++)
			error = channel_make(group->halves[rank], peer,
					     &pairs[(size_t)rank * count + peer],
					     &pairs[(size_t)peer * count + rank]);
	}
	return error;
}

int qoi_group_tie(struct qoi_group *group)
{
	struct pair *pairs;
	int error;

	if (group->tied || group->present != group->count)
		return 0;
	pairs = calloc((size_t)group->count * group->count, sizeof(*pairs));
	if (pairs == NULL)
		return qoi_fail(-ENOMEM, "no memory to tie %u ranks",
				group->count);
	error = halves_tie(group, pairs);
	free(pairs);
	if (error == 0)
		group->tied = 1;
	return error;
}
