/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* pthread_getcpuclockid */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "libqoffload/base/clock.h"
#include "libqoffload/base/error.h"
#include "libqoffload/base/log.h"
#include "libqoffload/client/handle.h"
#include "libqoffload/client/link.h"

/* Between two looks at what the daemon still has. */
#define DRAIN_NAP_NS 100000

static int settings_read(const struct qo_init_params *params,
			 struct qoi_config *config)
{
	if (params == NULL)
		return qoi_config_init(config, NULL);
	if (params->size < sizeof(*params))
		return qoi_fail(-EINVAL,
				"qo_init: params->size is %zu; start "
				"from QO_INIT_PARAMS_INIT",
				params->size);
	return qoi_config_init(config, params->settings);
}

/* Decides where the agent runs, from where the application runs now. */
static int placement_decide(struct qo_context *context)
{
	struct qoi_agent *agent = &context->agent;
	int here;
	int error = qoi_topology_create(&context->topology);

	if (error != 0)
		return error;
	agent->topology = context->topology;
	here = qoi_topology_current_cpu(context->topology);
	error = qoi_topology_pick_agent_cpu(context->topology,
					    context->config.agent_cpu, here,
					    &agent->placement);
	if (error != 0)
		qoi_topology_destroy(context->topology);
	return error;
}

static void endpoints_close(struct qoi_agent *agent)
{
	while (agent->endpoint_count != 0) {
		struct qo_endpoint *endpoint =
			agent->endpoints[--agent->endpoint_count];

		endpoint->provider->ops->close(endpoint);
	}
}

/* The endpoint whose bell peers ring, or NULL. */
static struct qo_endpoint *bell_endpoint(const struct qoi_agent *agent)
{
	for (uint32_t i = 0; i < agent->endpoint_count; i++) {
		struct qo_endpoint *endpoint = agent->endpoints[i];

		if (endpoint->bell != NULL &&
		    strcmp(endpoint->provider->name, "self") != 0)
			return endpoint;
	}
	return NULL;
}

static int link_watch(void *link)
{
	return qoi_link_look(link);
}

/* Attaches to the daemon, which rings the same bell as the peers. */
static int link_start(struct qo_context *context)
{
	struct qoi_agent *agent = &context->agent;
	struct qo_endpoint *endpoint = bell_endpoint(agent);
	struct qoi_link_params params = { &context->config, -1, 0, 0 };
	int error = 0;

	if (context->config.agent == QOI_CONFIG_AGENT_INLINE ||
	    context->config.agent == QOI_CONFIG_AGENT_THREAD)
		return 0;
	if (endpoint != NULL)
		error = endpoint->provider->ops->bell_page(endpoint,
							   &params.bell_fd,
							   &params.bell_bytes,
							   &params.bell_offset);
	if (error != 0 && context->config.agent == QOI_CONFIG_AGENT_AUTO)
		return 0;
	if (error != 0)
		return qoi_fail(error,
				"provider %s has no bell that a daemon could "
				"ring: QO_AGENT=thread goes with it",
				endpoint->provider->name);
	error = qoi_link_open(&params, &context->link);
	if (error != 0 || context->link == NULL)
		return error;
	if (endpoint == NULL)
		agent->bell = qoi_link_bell(context->link);
	agent->watch_fd = context->link->epoll;
	agent->watch = link_watch;
	agent->watch_arg = context->link;
	return 0;
}

static void link_stop(struct qo_context *context)
{
	if (context->link != NULL)
		qoi_link_close(context->link);
}

static int agent_start(struct qo_context *context)
{
	struct qoi_agent *agent = &context->agent;
	uint64_t slots = context->config.request_count;
	int inlined = context->config.agent == QOI_CONFIG_AGENT_INLINE;
	int error;

	agent->config = &context->config;
	error = qoi_providers_open(&context->config, agent->endpoints,
				   &agent->endpoint_count);
	if (error != 0)
		return error;
	error = link_start(context);
	if (error != 0)
		goto err_close_endpoints;
	error = qoi_agent_open(agent, slots);
	if (error != 0)
		goto err_stop_link;
	error = qoi_request_table_open(slots, agent, inlined, &context->number);
	if (error != 0)
		goto err_close_agent;
	agent->context_number = context->number;
	if (!inlined)
		error = qoi_agent_thread_start(agent);
	if (error != 0)
		goto err_close_table;
	return 0;

err_close_table:
	qoi_request_table_close(context->number);
err_close_agent:
	qoi_agent_close(agent);
err_stop_link:
	link_stop(context);
err_close_endpoints:
	endpoints_close(agent);
	return error;
}

int qo_init(const struct qo_init_params *params, qo_context_t *context_out)
{
	struct qo_context *context;
	int error;

	if (context_out == NULL)
		return qoi_fail(-EINVAL, "qo_init: context_out is NULL");
	context = aligned_alloc(128, (sizeof(*context) + 127) & ~(size_t)127);
	if (context == NULL)
		return qoi_fail(-ENOMEM, "no memory for a context");
	memset(context, 0, sizeof(*context));
	context->agent.watch_fd = -1;
	qoi_objects_init(&context->objects);
	error = settings_read(params, &context->config);
	if (error != 0)
		goto err_free;
	error = placement_decide(context);
	if (error != 0)
		goto err_fini_config;
	error = agent_start(context);
	if (error != 0)
		goto err_destroy_topology;
	context->magic = QOI_CONTEXT_MAGIC;
	*context_out = context;
	return 0;

err_destroy_topology:
	qoi_topology_destroy(context->topology);
err_fini_config:
	qoi_config_fini(&context->config);
err_free:
	free(context);
	return error;
}

/*
 * How many requests the daemon has under way for us; those that have ended are
 * taken, so that they are none of them.
 */
static unsigned far_pending(struct qo_context *context)
{
	struct qoi_agent *agent = &context->agent;
	struct qoi_request_table *table = &qoi_request_tables[context->number];
	struct qoi_budget budget = { 0 };
	unsigned pending = 0;

	if (context->link == NULL)
		return 0;
	pthread_mutex_lock(&agent->table_lock);
	for (uint64_t i = 0; i < qoi_request_limits[context->number]; i++) {
		struct qoi_request *request = &table->slots[i];

		if (!request->used || !request->work->yielding)
			continue;
		qoi_work_lock(request->work);
		request->work->ops->read(request->work, request, &budget);
		pending += (unsigned)qoi_request_pending(request);
		qoi_work_unlock(request->work);
	}
	pthread_mutex_unlock(&agent->table_lock);
	return pending;
}

/*
 * Waits until the agent owes nobody anything, and the daemon has ended what it
 * has of us.  1: it does not, in time.
 */
static int agent_drain(struct qo_context *context)
{
	const struct timespec nap = { 0, DRAIN_NAP_NS };
	int64_t deadline =
		qoi_clock_after(qoi_clock_ns(), context->config.fini_timeout);

	while (!qoi_agent_quiet(&context->agent)) {
		if (qoi_clock_ns() >= deadline)
			return 0;
		sched_yield();
	}
	while (far_pending(context) != 0) {
		if (qoi_clock_ns() >= deadline)
			return 0;
		nanosleep(&nap, NULL);
	}
	return 1;
}

int qo_fini(qo_context_t context)
{
	struct qoi_agent *agent;
	unsigned left;
	int error = 0;

	if (!qoi_context_live(context))
		return qoi_fail(-EBADF, "qo_fini: not a context");
	agent = &context->agent;
	if (!agent_drain(context)) {
		qoi_log_warn("fini: requests were still under way after "
			     "QO_FINI_TIMEOUT: wait for them before qo_fini()");
		error = -EBUSY;
	}
	context->magic = 0;
	qoi_agent_thread_stop(agent);
	left = qoi_objects_fini(&context->objects);
	if (left != 0) {
		qoi_log_warn("fini: %u teams, operations or meshes were not "
			     "destroyed before",
			     left);
		error = -EBUSY;
	}
	/* No operation is there any more; this says so, before peers hear. */
	link_stop(context);
	qoi_request_table_close(context->number);
	qoi_agent_close(agent);
	endpoints_close(agent);
	qoi_topology_destroy(context->topology);
	qoi_config_fini(&context->config);
	free(context);
	return error;
}

/* How a daemon gets at memory here, for people. */
static void memory_text(const struct qo_context *context, char *text,
			size_t bytes)
{
	const struct qoi_link *link = context->link;
	uint32_t both = QOI_REACH_READ | QOI_REACH_WRITE;
	const char *other = "stage";

	if (link == NULL) {
		snprintf(text, bytes, "own process");
		return;
	}
	if ((link->reach & both) == both)
		other = "cross";
	else if ((link->reach & QOI_REACH_READ) != 0)
		other = "send cross, receive stage";
	switch (context->config.agent_memory) {
	case QOI_CONFIG_MEMORY_MAP:
		snprintf(text, bytes, "qo_mem_alloc map, other none");
		break;
	case QOI_CONFIG_MEMORY_CROSS:
		snprintf(text, bytes, "all %s",
			 (link->reach & both) == both ? "cross" : "none");
		break;
	case QOI_CONFIG_MEMORY_STAGE:
		snprintf(text, bytes, "all stage");
		break;
	default:
		snprintf(text, bytes, "qo_mem_alloc map, other %s", other);
	}
}

static void link_query(const struct qo_context *context,
		       struct qo_agent_info *info)
{
	const struct qoi_link *link = context->link;

	memory_text(context, info->memory, sizeof(info->memory));
	info->agent_pid = -1;
	if (link == NULL)
		return;
	info->kind = QO_AGENT_PROCESS;
	info->async_progress = 1;
	info->cpu = -1;
	info->thread_id = -1;
	info->agent_pid = link->daemon_pid;
	info->agent_lost = qoi_link_is_lost(link);
	snprintf(info->reason, sizeof(info->reason), "process %d, session %u%s",
		 link->daemon_pid, link->session,
		 info->agent_lost ? ": lost" : "");
}

static uint64_t agent_cpu_ns(struct qoi_agent *agent)
{
	struct timespec used = { 0 };
	clockid_t clock;

	if (!agent->threaded)
		return 0;
	if (pthread_getcpuclockid(agent->thread, &clock) != 0 ||
	    clock_gettime(clock, &used) != 0)
		return 0;
	return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

static const char *idle_name(int strategy)
{
	static const char *const names[] = {
		[QOI_CONFIG_IDLE_ADAPTIVE] = "adaptive",
		[QOI_CONFIG_IDLE_SPIN] = "spin",
		[QOI_CONFIG_IDLE_YIELD] = "yield",
		[QOI_CONFIG_IDLE_BLOCK] = "block",
	};

	return names[strategy];
}

int qo_agent_query(qo_context_t context, struct qo_agent_info *info_out)
{
	struct qoi_agent *agent;
	struct qo_agent_info info = QO_AGENT_INFO_INIT;

	if (!qoi_context_live(context))
		return qoi_fail(-EINVAL, "qo_agent_query: not a context");
	if (info_out == NULL || info_out->size != sizeof(info))
		return qoi_fail(-EINVAL, "qo_agent_query: start from "
					 "QO_AGENT_INFO_INIT");
	agent = &context->agent;
	info.kind = agent->threaded ? QO_AGENT_THREAD : QO_AGENT_INLINE;
	info.async_progress = agent->threaded;
	info.cpu = agent->threaded ? agent->placement.cpu : -1;
	info.thread_id = -1;
	if (qoi_observe32(&agent->tid_known) != 0)
		info.thread_id = agent->thread_id;
	info.duty_cycles = qoi_own64(&agent->fields.cycles);
	info.work_count = qoi_own64(&agent->fields.work_count);
	info.sleep_count = qoi_own64(&agent->fields.sleeps);
	info.wake_count = qoi_own64(&agent->fields.wakes);
	info.active_requests = qoi_own64(&agent->fields.listed);
	info.failed_requests = qoi_own64(&agent->failed_requests);
	info.late_requests = qoi_own64(&agent->late_requests);
	info.cpu_ns = agent_cpu_ns(agent);
	pthread_mutex_lock(&agent->table_lock);
	info.request_slots_used = qoi_request_used(context->number);
	pthread_mutex_unlock(&agent->table_lock);
	info.request_slots = context->config.request_count;
	snprintf(info.idle, sizeof(info.idle), "%s",
		 idle_name(context->config.agent_idle));
	snprintf(info.allowed_cpus, sizeof(info.allowed_cpus), "%s",
		 agent->placement.allowed);
	snprintf(info.reason, sizeof(info.reason), "%s",
		 agent->threaded
			 ? agent->placement.reason
			 : "inline: runs in the caller, no async progress");
	link_query(context, &info);
	*info_out = info;
	return 0;
}

int qo_progress(qo_context_t context)
{
	if (!qoi_context_live(context))
		return qoi_fail(-EBADF, "qo_progress: not a context");
	if (!context->agent.threaded)
		qoi_agent_try_cycle(&context->agent);
	return 0;
}
