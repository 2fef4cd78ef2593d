/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* getrandom */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "libqoffload/base/clock.h"
#include "libqoffload/base/error.h"
#include "libqoffload/base/log.h"
#include "libqoffload/base/node.h"
#include "libqoffload/client/link.h"
#include "libqoffload/client/team_build.h"

/* FNV-1a: tells sets of cores apart, nothing more. */
static uint64_t text_hash(const char *text)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *text != '\0'; text++)
		hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
	return hash;
}

static int member_endpoint(struct qoi_member *member,
			   struct qo_endpoint *endpoint)
{
	const struct qo_provider *provider = endpoint->provider;
	size_t bytes = QO_ADDRESS_BYTES_MAX;
	uint32_t i = member->endpoint_count;
	int error;

	if (i == QOI_MEMBER_ENDPOINTS)
		return 0;
	error = provider->ops->address(endpoint, member->endpoints[i].address,
				       &bytes);
	if (error != 0)
		return error;
	strncpy(member->endpoints[i].name, provider->name,
		sizeof(member->endpoints[i].name) - 1);
	member->endpoints[i].bytes = (uint32_t)bytes;
	member->endpoint_count++;
	return 0;
}

/*
 * One daemon moves the messages of a team where all of its members say the
 * same; so only what holds for every peer may be said.
 */
void qoi_member_agent(const struct qo_context *context, uint8_t agent_out[16])
{
	const struct qoi_agent *agent = &context->agent;

	memset(agent_out, 0, 16);
	if (context->link == NULL || qoi_link_is_lost(context->link) ||
	    qoi_link_is_forked(context->link))
		return;
	/* What reaches a peer only by its own puts is that provider's affair. */
	for (uint32_t i = 0; i < agent->endpoint_count; i++) {
		if ((agent->endpoints[i]->provider->caps & QO_CAP_MAP) == 0)
			return;
	}
	memcpy(agent_out, context->link->daemon_id, 16);
}

int qoi_member_fill(struct qo_context *context, struct qoi_member *member)
{
	int error;

	memset(member, 0, sizeof(*member));
	member->magic = QOI_MEMBER_MAGIC;
	member->version = QOI_LAYOUT_VERSION;
	member->layout_hash = QOI_LAYOUT_HASH;
	member->allowed_count = qoi_topology_allowed_count(context->topology);
	member->allowed_hash =
		text_hash(qoi_topology_allowed_text(context->topology));
	if (getrandom(&member->nonce, sizeof(member->nonce), 0) < 0)
		return qoi_fail(-EIO, "getrandom: %m");
	qoi_member_agent(context, member->agent);
	error = qoi_node_id(member->node);
	for (uint32_t i = 0; error == 0 && i < context->agent.endpoint_count;
	     i++)
		error = member_endpoint(member, context->agent.endpoints[i]);
	return error;
}

/* What goes through the application's allgather, in one piece of memory. */
struct gathering {
	struct qoi_member own;
	struct qoi_member all[];
};

/* How long to wait for the others when there is no configuration. */
#define GATHER_TIMEOUT_NS (UINT64_C(30) * 1000000000)

/*
 * Waits for the allgather.  -ETIMEDOUT: it may still write to its buffers.
 */
static int gather_await(struct qo_context *context, const struct qo_oob *oob,
			void *request)
{
	uint64_t timeout = context == NULL ? GATHER_TIMEOUT_NS
					   : context->config.connect_timeout;
	int64_t deadline = qoi_clock_after(qoi_clock_ns(), timeout);

	for (;;) {
		int error = oob->test(request, oob->arg);

		if (error != -EAGAIN)
			return error;
		if (qoi_clock_ns() >= deadline)
			return -ETIMEDOUT;
		/* What a peer waits for before it can come here. */
		if (context == NULL || context->agent.threaded ||
		    qoi_agent_try_cycle(&context->agent) <= 0)
			sched_yield();
	}
}

static int oob_gather(struct qo_context *context, const struct qo_oob *oob,
		      struct gathering *gathering)
{
	void *request = NULL;
	int error = oob->allgather(&gathering->own, gathering->all,
				   sizeof(gathering->own), oob->arg, &request);

	if (error != 0)
		return qoi_fail(error, "out-of-band allgather: %s",
				qo_error_string(error));
	error = gather_await(context, oob, request);
	if (error == -ETIMEDOUT)
		return qoi_fail(error, "out-of-band allgather: not all ranks "
				       "came in QO_CONNECT_TIMEOUT");
	if (oob->free != NULL)
		oob->free(request, oob->arg);
	if (error != 0)
		return qoi_fail(error, "out-of-band test: %s",
				qo_error_string(error));
	return 0;
}

static int oob_check(const struct qo_oob *oob)
{
	if (oob == NULL || oob->size < sizeof(*oob))
		return qoi_fail(-EINVAL, "qo_team_create: oob is NULL or its "
					 "size is not sizeof(struct qo_oob)");
	if (oob->count == 0 || oob->rank >= oob->count)
		return qoi_fail(-EINVAL, "qo_team_create: rank %u of %u",
				oob->rank, oob->count);
	if (oob->count > QOI_TEAM_RANKS_MAX)
		return qoi_fail(-EINVAL, "qo_team_create: %u ranks, at most %u",
				oob->count, QOI_TEAM_RANKS_MAX);
	if (oob->allgather == NULL || oob->test == NULL)
		return qoi_fail(-EINVAL, "qo_team_create: a callback is NULL");
	return 0;
}

/*
 * Presents this rank.  One that cannot take part leaves an empty member, which
 * the others refuse at once.
 */
static int own_present(struct qo_context *context, const qo_team_t *team_out,
		       struct qoi_member *own)
{
	int error = 0;

	if (context == NULL)
		error = qoi_fail(-EBADF, "qo_team_create: not a context");
	else if (team_out == NULL)
		error = qoi_fail(-EINVAL, "qo_team_create: team_out is NULL");
	else
		error = qoi_member_fill(context, own);
	if (error != 0)
		memset(own, 0, sizeof(*own));
	return error;
}

int qo_team_create(qo_context_t context, const struct qo_oob *oob,
		   qo_team_t *team_out)
{
	struct gathering *gathering;
	int error = oob_check(oob);
	int present;

	if (error != 0)
		return error;
	if (!qoi_context_live(context))
		context = NULL;
	gathering = calloc(1, sizeof(*gathering) +
				      oob->count * sizeof(gathering->all[0]));
	if (gathering == NULL)
		return qoi_fail(-ENOMEM, "no memory for %u members", oob->count);
	present = own_present(context, team_out, &gathering->own);
	error = oob_gather(context, oob, gathering);
	/* Left alone: the allgather is under way, and may write there. */
	if (error == -ETIMEDOUT)
		return present != 0 ? present : error;
	if (error == 0)
		error = present;
	if (error == 0)
		error = qoi_team_build(context, oob->rank, oob->count,
				       gathering->all, team_out);
	free(gathering);
	return error;
}

int qo_team_destroy(qo_team_t team)
{
	if (team == NULL)
		return qoi_fail(-EINVAL, "qo_team_destroy: team is NULL");
	if (qoi_observe32(&team->held) != 0)
		return qoi_fail(-EBUSY,
				"qo_team_destroy: %u operations or "
				"meshes of the team remain: destroy them first",
				qoi_observe32(&team->held));
	qoi_team_free(team);
	return 0;
}

int qo_team_query(qo_team_t team, struct qo_team_info *info_out)
{
	if (team == NULL || info_out == NULL ||
	    info_out->size != sizeof(*info_out))
		return qoi_fail(-EINVAL, "qo_team_query: start from "
					 "QO_TEAM_INFO_INIT");
	info_out->rank = team->rank;
	info_out->count = team->count;
	info_out->id = team->id;
	info_out->ranks_here = team->ranks_here;
	info_out->oversubscribed = team->oversubscribed;
	return 0;
}
