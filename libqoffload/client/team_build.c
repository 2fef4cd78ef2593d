/* SPDX-License-Identifier: BSD-3-Clause */
#include "libqoffload/client/team_build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libqoffload/base/clock.h"
#include "libqoffload/base/error.h"
#include "libqoffload/base/log.h"
#include "libqoffload/client/exchange.h"

static int member_check(const struct qoi_member *member, uint32_t rank)
{
	if (member->magic != QOI_MEMBER_MAGIC)
		return qoi_fail(-EPROTONOSUPPORT,
				"rank %u: its library speaks "
				"another protocol, or failed to start",
				rank);
	if (member->version != QOI_LAYOUT_VERSION ||
	    member->layout_hash != QOI_LAYOUT_HASH)
		return qoi_fail(-EPROTONOSUPPORT,
				"rank %u has layout %u "
				"(%016llx), this rank %u (%016llx): use one "
				"version of the library",
				rank, member->version,
				(unsigned long long)member->layout_hash,
				QOI_LAYOUT_VERSION,
				(unsigned long long)QOI_LAYOUT_HASH);
	if (member->endpoint_count > QOI_MEMBER_ENDPOINTS)
		return qoi_fail(-EBADMSG, "rank %u offers %u endpoints", rank,
				member->endpoint_count);
	return 0;
}

static struct qo_endpoint *endpoint_named(struct qo_context *context,
					  const char *name)
{
	for (uint32_t i = 0; i < context->agent.endpoint_count; i++) {
		struct qo_endpoint *endpoint = context->agent.endpoints[i];

		if (strncmp(endpoint->provider->name, name, 23) == 0)
			return endpoint;
	}
	return NULL;
}

static int find_index(const struct qoi_member *member, const char *name)
{
	for (uint32_t i = 0; i < member->endpoint_count; i++) {
		if (strncmp(member->endpoints[i].name, name, 23) == 0)
			return (int)i;
	}
	return -1;
}

/*
 * Both ends of a pair must take the same provider: the first in the lower
 * rank's order of preference that both have and that reaches.
 */
static int peer_connect(struct qo_team *team, uint32_t rank, int64_t deadline)
{
	const struct qoi_member *peer = &team->members[rank];
	const struct qoi_member *lower = peer;

	if (team->rank < rank)
		lower = &team->members[team->rank];
	for (uint32_t i = 0; i < lower->endpoint_count; i++) {
		const char *name = lower->endpoints[i].name;
		struct qo_endpoint *endpoint =
			endpoint_named(team->context, name);
		const struct qo_provider_ops *ops;
		int at = find_index(peer, name);

		if (endpoint == NULL || at < 0)
			continue;
		ops = endpoint->provider->ops;
		if (ops->reachable(endpoint, peer->endpoints[at].address,
				   peer->endpoints[at].bytes) != 0)
			continue;
		return ops->connect(endpoint, peer->endpoints[at].address,
				    peer->endpoints[at].bytes, deadline,
				    &team->conns[rank]);
	}
	return qoi_fail(-ENETUNREACH,
			"no provider of QO_PROVIDER=%s reaches "
			"rank %u: it is on another node, or has other providers",
			team->context->config.provider, rank);
}

static int peers_connect(struct qo_team *team)
{
	int64_t deadline = qoi_team_deadline(team);

	for (uint32_t rank = 0; rank < team->count; rank++) {
		int error;

		if (rank == team->rank)
			continue;
		error = peer_connect(team, rank, deadline);
		if (error == -ETIMEDOUT)
			return qoi_fail(error,
					"rank %u did not answer in "
					"QO_CONNECT_TIMEOUT",
					rank);
		if (error == -ECONNRESET)
			return qoi_fail(error,
					"peer lost: rank %u, while "
					"connecting",
					rank);
		if (error != 0)
			return error;
	}
	return 0;
}

static int first_with_set(const struct qo_team *team, uint32_t rank)
{
	const struct qoi_member *members = team->members;

	for (uint32_t i = 0; i < rank; i++) {
		if (members[i].allowed_hash == members[rank].allowed_hash &&
		    memcmp(members[i].node, members[rank].node, 16) == 0)
			return 0;
	}
	return 1;
}

/*
 * More ranks here than cores for them?  Launchers give all ranks one set, or
 * each its own; so every distinct set is counted once.
 */
static void crowd_count(struct qo_team *team)
{
	const struct qoi_member *own = &team->members[team->rank];
	uint64_t cores = 0;

	for (uint32_t rank = 0; rank < team->count; rank++) {
		const struct qoi_member *member = &team->members[rank];

		if (memcmp(member->node, own->node, 16) != 0)
			continue;
		team->ranks_here++;
		if (first_with_set(team, rank))
			cores += member->allowed_count;
	}
	team->oversubscribed = team->ranks_here > cores;
	/* The daemon wants a core as well. */
	if (team->far && team->ranks_here + 1 > cores)
		qoi_set_own32(&team->context->agent.far_crowded, 1);
}

/* Whether one daemon has all of them. */
static int is_far(const struct qo_team *team)
{
	static const uint8_t none[16];

	for (uint32_t rank = 0; rank < team->count; rank++) {
		if (memcmp(team->members[rank].agent, team->members[0].agent,
			   16) != 0)
			return 0;
	}
	return memcmp(team->members[0].agent, none, 16) != 0;
}

static int team_alloc(struct qo_context *context, uint32_t rank, uint32_t count,
		      const struct qoi_member *members,
		      struct qo_team **team_out)
{
	struct qo_team *team = calloc(1, sizeof(*team));

	if (team == NULL)
		goto err_none;
	team->conns = calloc(count, sizeof(struct qo_conn *));
	team->members = malloc(count * sizeof(*members));
	team->control = malloc(QO_CONTROL_BYTES_MAX);
	if (team->conns == NULL || team->members == NULL ||
	    team->control == NULL)
		goto err_free;
	memcpy(team->members, members, count * sizeof(*members));
	team->context = context;
	team->rank = rank;
	team->count = count;
	team->id = members[0].nonce;
	*team_out = team;
	return 0;

err_free:
	free(team->control);
	free(team->members);
	free(team->conns);
	free(team);
err_none:
	return qoi_fail(-ENOMEM, "no memory for a team of %u ranks", count);
}

void qoi_team_free(struct qo_team *team)
{
	for (uint32_t rank = 0; rank < team->count; rank++) {
		struct qo_conn *conn = team->conns[rank];

		if (conn != NULL)
			conn->endpoint->provider->ops->disconnect(conn);
	}
	qoi_object_remove(&team->context->objects, &team->object);
	free(team->control);
	free(team->members);
	free(team->conns);
	free(team);
}

static void team_left(struct qoi_object *object)
{
	qoi_team_free((struct qo_team *)object);
}

int qoi_team_build(struct qo_context *context, uint32_t rank, uint32_t count,
		   const struct qoi_member *members, struct qo_team **team_out)
{
	struct qo_team *team;
	int error = 0;

	for (uint32_t i = 0; error == 0 && i < count; i++)
		error = member_check(&members[i], i);
	if (error != 0)
		return error;
	error = team_alloc(context, rank, count, members, &team);
	if (error != 0)
		return error;
	qoi_object_add(&context->objects, &team->object, team_left);
	error = peers_connect(team);
	if (error == 0)
		error = qoi_exchange_verdict(team, team->sequence++, 0);
	if (error != 0) {
		qoi_team_free(team);
		return error;
	}
	team->far = is_far(team);
	crowd_count(team);
	if (team->oversubscribed)
		qoi_set_own32(&context->agent.crowded, 1);
	qoi_log_debug("team %016llx rank %u count %u here %u oversubscribed %u "
		      "by one daemon %u",
		      (unsigned long long)team->id, rank, count,
		      team->ranks_here, team->oversubscribed, team->far);
	*team_out = team;
	return 0;
}
