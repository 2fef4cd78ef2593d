/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* eventfd, pthread types under -std=c11 */
#include "libqoffload/agent/agent.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "libqoffload/agent/command.h"
#include "libqoffload/base/error.h"
#include "libqoffload/base/log.h"

/*
 * The bell that peers ring.  Without peers, one of our own: that of `self`
 * can be rung by nobody who does not look at ours.
 */
static struct qoi_bell *bell_choose(struct qoi_agent *agent)
{
	for (uint32_t i = 0; i < agent->endpoint_count; i++) {
		const struct qo_endpoint *endpoint = agent->endpoints[i];

		if (endpoint->bell != NULL &&
		    strcmp(endpoint->provider->name, "self") != 0)
			return endpoint->bell;
	}
	return &agent->private_bell;
}

int qoi_agent_open(struct qoi_agent *agent, uint64_t command_count)
{
	int error = -ENOMEM;

	if (agent->bell == NULL)
		agent->bell = bell_choose(agent);
	agent->works = calloc(command_count, sizeof(*agent->works));
	if (agent->works == NULL)
		goto err_none;
	error = qoi_commands_open(agent, command_count);
	if (error != 0)
		goto err_free_works;
	agent->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (agent->wake_fd < 0) {
		error = qoi_fail(-EAGAIN, "eventfd: %m; raise `ulimit -n`");
		goto err_close_commands;
	}
	pthread_mutex_init(&agent->cycle_lock, NULL);
	pthread_mutex_init(&agent->table_lock, NULL);
	return 0;

err_close_commands:
	qoi_commands_close(agent);
err_free_works:
	free(agent->works);
err_none:
	if (error == -ENOMEM)
		qoi_fail(error, "no memory for an agent");
	return error;
}

void qoi_agent_close(struct qoi_agent *agent)
{
	pthread_mutex_destroy(&agent->table_lock);
	pthread_mutex_destroy(&agent->cycle_lock);
	close(agent->wake_fd);
	qoi_commands_close(agent);
	free(agent->works);
}

void qoi_agent_wake(struct qoi_agent *agent)
{
	const uint64_t one = 1;

	qoi_store_load_barrier();
	if (qoi_own32(&agent->bell->agent) == QOI_BELL_AGENT_AWAKE)
		return;
	/* Full or interrupted: then it is readable already, which is enough. */
	if (write(agent->wake_fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
		qoi_log_warn("wake agent: %m");
}

void qoi_agent_wake_waiters(struct qoi_agent *agent)
{
	qoi_store_load_barrier();
	if (qoi_own32(&agent->bell->waiters) != 0)
		qoi_bell_ring_waiters(agent->bell);
}

void qoi_agent_tell_waiters(struct qoi_agent *agent)
{
	qoi_agent_wake_waiters(agent);
	if (!agent->threaded)
		qoi_agent_wake(agent);
}

/*
 * Without a thread, a waiter that found the lock taken sleeps on the bell and
 * counts on the holder to let somebody take over.
 */
static void cycle_unlock(struct qoi_agent *agent)
{
	pthread_mutex_unlock(&agent->cycle_lock);
	if (!agent->threaded)
		qoi_agent_wake_waiters(agent);
}

void qoi_agent_submit(struct qoi_agent *agent, struct qoi_request *request,
		      struct qoi_work *work)
{
	if (qoi_swap32_if(&work->queued, 0, 1))
		qoi_command_post(agent, request);
	/* Also when it is listed: the agent may sleep on its last instance. */
	qoi_agent_wake(agent);
}

static void unlist(struct qoi_agent *agent, uint32_t index)
{
	agent->works[index]->listed = 0;
	agent->works[index] = agent->works[--agent->listed];
}

void qoi_agent_forget(struct qoi_agent *agent, struct qoi_work *work)
{
	/* An inline waiter may sleep with the lock: it leaves when rung. */
	while (pthread_mutex_trylock(&agent->cycle_lock) != 0) {
		qoi_agent_wake(agent);
		sched_yield();
	}
	qoi_commands_take(agent, UINT32_MAX);
	for (uint32_t i = 0; i < agent->listed; i++) {
		if (agent->works[i] != work)
			continue;
		unlist(agent, i);
		break;
	}
	cycle_unlock(agent);
}

/* Returns 1 when the work moved, and takes it off the list when it is over. */
static int work_move(struct qoi_agent *agent, uint32_t index)
{
	struct qoi_work *work = agent->works[index];
	struct qoi_budget budget = {
		.bytes = QOI_BUDGET_AGENT_BYTES,
		.in_cycle = 1,
	};
	int more;

	if (!qoi_try_lock32(&work->lock)) {
		/* Who holds it may have looked before: don't sleep on it. */
		agent->unlent++;
		return 1;
	}
	more = work->ops->advance(work, &budget);
	if (!more) {
		unlist(agent, index);
		/* Under the lock: a poster that comes next submits it anew. */
		qoi_publish32(&work->queued, 0);
	} else {
		agent->unlent++;
	}
	qoi_work_unlock(work);
	return !more || budget.steps != 0 ||
	       budget.bytes != QOI_BUDGET_AGENT_BYTES;
}

static int works_move(struct qoi_agent *agent, uint32_t limit)
{
	uint32_t tries = agent->listed;
	uint32_t moved = 0;

	agent->unlent = 0;
	if (tries > limit)
		tries = limit;
	while (tries-- != 0 && agent->listed != 0) {
		uint32_t index = agent->cursor++ % agent->listed;

		/* A waiter lends its core: two movers only fight. */
		if (qoi_observe32(&agent->works[index]->lenders) != 0)
			continue;
		moved += (uint32_t)work_move(agent, index);
	}
	return (int)moved;
}

/* Somebody may be gone: fail what can't complete any more. */
static void losses_tell(struct qoi_agent *agent)
{
	struct qoi_request_table *table =
		&qoi_request_tables[agent->context_number];

	pthread_mutex_lock(&agent->table_lock);
	for (uint64_t i = 0; i < qoi_request_limits[agent->context_number]; i++) {
		struct qoi_request *request = &table->slots[i];

		if (request->used == 0)
			continue;
		/* A poster that is not pending yet sees the fate after us. */
		qoi_work_lock(request->work);
		if (qoi_request_pending(request))
			request->work->ops->peer_gone(request->work);
		qoi_work_unlock(request->work);
	}
	pthread_mutex_unlock(&agent->table_lock);
}

static int endpoints_look(struct qoi_agent *agent)
{
	uint32_t total = 0;
	int held = 0;

	for (uint32_t i = 0; i < agent->endpoint_count; i++) {
		struct qo_endpoint *endpoint = agent->endpoints[i];
		const struct qo_provider_ops *ops = endpoint->provider->ops;
		uint32_t work = 0;

		ops->poll(endpoint, QOI_POLL_BUDGET, &work);
		total += work;
		held |= ops->busy(endpoint);
	}
	agent->look = held ? 1 : QOI_CYCLES_PER_POLL;
	if (agent->watch_fd >= 0 && agent->watch(agent->watch_arg))
		total++;
	if (total != 0)
		losses_tell(agent);
	return (int)total;
}

static int cycle(struct qoi_agent *agent, uint32_t works)
{
	struct qoi_agent_fields *fields = &agent->fields;
	int done = qoi_commands_take(agent, QOI_CYCLE_COMMANDS);

	if (agent->listed != 0)
		done += works_move(agent, works);
	else
		agent->unlent = 0;
	if (--agent->look == 0 || agent->look > QOI_CYCLES_PER_POLL)
		done += endpoints_look(agent);
	qoi_set_own64(&fields->cycles, fields->cycles + 1);
	qoi_set_own64(&fields->listed, agent->listed);
	if (done != 0) {
		qoi_set_own64(&fields->work_count,
			      fields->work_count + (uint64_t)done);
		qoi_agent_wake_waiters(agent);
	}
	return done;
}

int qoi_agent_cycle(struct qoi_agent *agent)
{
	return cycle(agent, QOI_CYCLE_WORKS);
}

int qoi_agent_last_look(struct qoi_agent *agent)
{
	agent->look = 1;
	return cycle(agent, UINT32_MAX);
}

int qoi_agent_try_cycle(struct qoi_agent *agent)
{
	int done;

	if (pthread_mutex_trylock(&agent->cycle_lock) != 0)
		return -1;
	done = qoi_agent_cycle(agent);
	cycle_unlock(agent);
	return done;
}

int qoi_agent_quiet(struct qoi_agent *agent)
{
	int quiet;

	if (pthread_mutex_trylock(&agent->cycle_lock) != 0)
		return 0;
	quiet = qoi_agent_cycle(agent) == 0 && agent->listed == 0;
	for (uint32_t i = 0; i < agent->endpoint_count; i++) {
		struct qo_endpoint *endpoint = agent->endpoints[i];

		if (endpoint->provider->ops->busy(endpoint))
			quiet = 0;
	}
	cycle_unlock(agent);
	return quiet;
}
