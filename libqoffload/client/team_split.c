/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libqoffload/base/error.h"
#include "libqoffload/client/exchange.h"
#include "libqoffload/client/team_build.h"

/* What a rank says in a split. */
struct choice {
	int64_t color;
	int64_t key;
	uint64_t nonce;
	uint32_t rank; /* in the old team; filled in on arrival */
	uint32_t reserved;
	uint8_t agent[16]; /* as of a member; it may be lost meanwhile */
};

struct split {
	struct choice own;
	struct choice *all; /* by old rank */
};

static const void *choice_message(void *arg, uint32_t rank, size_t *bytes_out)
{
	const struct split *split = arg;

	(void)rank;
	*bytes_out = sizeof(split->own);
	return &split->own;
}

static int choice_take(void *arg, uint32_t rank, const void *data, size_t bytes,
		       struct qo_remote *remote)
{
	struct split *split = arg;

	(void)remote;
	if (bytes != sizeof(struct choice))
		return qoi_fail(-EBADMSG, "rank %u sent a choice of %zu bytes",
				rank, bytes);
	memcpy(&split->all[rank], data, bytes);
	split->all[rank].rank = rank;
	return 0;
}

/* By key, then by the rank in the old team. */
static int choice_compare(const void *a, const void *b)
{
	const struct choice *left = a;
	const struct choice *right = b;

	if (left->key != right->key)
		return left->key < right->key ? -1 : 1;
	return left->rank < right->rank ? -1 : 1;
}

/* The choices of one color, in their new order; returns how many. */
static uint32_t color_gather(const struct qo_team *team,
			     const struct choice *all, int64_t color,
			     struct choice *chosen)
{
	uint32_t count = 0;

	for (uint32_t rank = 0; rank < team->count; rank++) {
		if (all[rank].color == color)
			chosen[count++] = all[rank];
	}
	qsort(chosen, count, sizeof(*chosen), choice_compare);
	return count;
}

/* members: room for all of the old team. */
static int color_build(struct qo_team *team, const struct choice *chosen,
		       uint32_t count, struct qoi_member *members,
		       struct qo_team **team_out)
{
	uint32_t own = 0;

	for (uint32_t i = 0; i < count; i++) {
		members[i] = team->members[chosen[i].rank];
		members[i].nonce = chosen[i].nonce;
		memcpy(members[i].agent, chosen[i].agent, 16);
		if (chosen[i].rank == team->rank)
			own = i;
	}
	return qoi_team_build(team->context, own, count, members, team_out);
}

static int split_gather(struct qo_team *team, uint32_t sequence,
			struct split *split)
{
	struct qoi_exchange exchange = {
		.team = team,
		.kind = QOI_CONTROL_SPLIT,
		.sequence = sequence,
		.arg = split,
		.message = choice_message,
		.take = choice_take,
	};
	int error;

	split->all[team->rank] = split->own;
	split->all[team->rank].rank = team->rank;
	error = qoi_exchange_run(&exchange);
	return qoi_exchange_verdict(team, sequence, error);
}

/* What a split needs, all before the others are told to go on. */
struct room {
	struct choice *all;
	struct choice *chosen;
	struct qoi_member *members;
};

static void room_free(struct room *room)
{
	free(room->members);
	free(room->chosen);
	free(room->all);
}

static int room_alloc(struct room *room, uint32_t count)
{
	room->all = calloc(count, sizeof(*room->all));
	room->chosen = calloc(count, sizeof(*room->chosen));
	room->members = calloc(count, sizeof(*room->members));
	if (room->all != NULL && room->chosen != NULL && room->members != NULL)
		return 0;
	room_free(room);
	return qoi_fail(-ENOMEM, "no memory to split a team of %u ranks", count);
}

int qo_team_split(qo_team_t team, int color, int key, qo_team_t *team_out)
{
	struct split split = { .own = { .color = color, .key = key } };
	struct qoi_member fresh;
	struct room room = { NULL, NULL, NULL };
	uint32_t sequence;
	int error;

	if (team == NULL)
		return qoi_fail(-EINVAL, "qo_team_split: team is NULL");
	sequence = team->sequence++;
	if (team_out == NULL)
		error = qoi_fail(-EINVAL, "qo_team_split: team_out is NULL");
	else
		error = qoi_member_fill(team->context, &fresh);
	if (error == 0)
		error = room_alloc(&room, team->count);
	if (error != 0)
		return qoi_exchange_refuse(team, QOI_CONTROL_SPLIT, sequence,
					   error);
	split.own.nonce = fresh.nonce;
	memcpy(split.own.agent, fresh.agent, sizeof(split.own.agent));
	split.all = room.all;
	error = split_gather(team, sequence, &split);
	if (error == 0 && color < 0)
		*team_out = NULL;
	else if (error == 0)
		error = color_build(team, room.chosen,
				    color_gather(team, room.all, color,
						 room.chosen),
				    room.members, team_out);
	room_free(&room);
	return error;
}
