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

static int color_build(struct qo_team *team, const struct choice *chosen,
		       uint32_t count, struct qo_team **team_out)
{
	struct qoi_member *members = calloc(count, sizeof(*members));
	uint32_t own = 0;
	int error;

	if (members == NULL)
		return qoi_fail(-ENOMEM, "no memory for %u members", count);
	for (uint32_t i = 0; i < count; i++) {
		members[i] = team->members[chosen[i].rank];
		members[i].nonce = chosen[i].nonce;
		if (chosen[i].rank == team->rank)
			own = i;
	}
	error = qoi_team_build(team->context, own, count, members, team_out);
	free(members);
	return error;
}

static int split_gather(struct qo_team *team, struct split *split)
{
	struct qoi_exchange exchange = {
		.team = team,
		.kind = QOI_CONTROL_SPLIT,
		.sequence = team->sequence++,
		.arg = split,
		.message = choice_message,
		.take = choice_take,
	};
	int error;

	split->all[team->rank] = split->own;
	split->all[team->rank].rank = team->rank;
	error = qoi_exchange_run(&exchange);
	return qoi_exchange_verdict(team, exchange.sequence, error);
}

int qo_team_split(qo_team_t team, int color, int key, qo_team_t *team_out)
{
	struct qoi_member fresh;
	struct split split = { .own = { .color = color, .key = key } };
	struct choice *chosen;
	int error;

	if (team == NULL || team_out == NULL)
		return qoi_fail(-EINVAL, "qo_team_split: team or team_out is "
				"NULL");
	split.all = calloc(team->count, sizeof(*split.all));
	chosen = calloc(team->count, sizeof(*chosen));
	error = -ENOMEM;
	if (split.all == NULL || chosen == NULL)
		goto out;
	error = qoi_member_fill(team->context, &fresh);
	if (error != 0)
		goto out;
	split.own.nonce = fresh.nonce;
	error = split_gather(team, &split);
	if (error != 0)
		goto out;
	if (color < 0)
		*team_out = NULL;
	else
		error = color_build(team, chosen,
				    color_gather(team, split.all, color, chosen),
				    team_out);
out:
	free(chosen);
	free(split.all);
	return error;
}
