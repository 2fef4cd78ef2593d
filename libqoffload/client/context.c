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
	error = qoi_agent_open(agent, slots);
	if (error != 0)
		goto err_close_endpoints;
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

/* Waits until the agent owes nobody anything.  1: it does not, in time. */
static int agent_drain(struct qo_context *context)
{
	int64_t deadline =
		qoi_clock_after(qoi_clock_ns(), context->config.fini_timeout);

	while (!qoi_agent_quiet(&context->agent)) {
		if (qoi_clock_ns() >= deadline)
			return 0;
		sched_yield();
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
	qoi_request_table_close(context->number);
	qoi_agent_close(agent);
	endpoints_close(agent);
	qoi_topology_destroy(context->topology);
	qoi_config_fini(&context->config);
	free(context);
	return error;
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
