/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* ppoll, pthread_setname_np */
/* The agent as a thread: its loop, its idle strategy, how it blocks. */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "libqoffload/agent/agent.h"
#include "libqoffload/agent/idle.h"
#include "libqoffload/base/clock.h"
#include "libqoffload/base/error.h"
#include "libqoffload/base/log.h"

static void timeout_of(int64_t deadline_ns, struct timespec *timeout)
{
	int64_t left = deadline_ns - qoi_clock_ns();

	if (left < 0)
		left = 0;
	timeout->tv_sec = left / QOI_NS_PER_S;
	timeout->tv_nsec = left % QOI_NS_PER_S;
}

static void wake_fd_clear(struct qoi_agent *agent)
{
	uint64_t count;

	if (read(agent->wake_fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
		qoi_log_warn("clear wake: %m");
}

static void descriptors_wait(struct qoi_agent *agent, int64_t deadline_ns)
{
	struct pollfd fds[2 + QOI_ENDPOINTS_MAX];
	struct timespec timeout;
	nfds_t count = 0;

	fds[count++] = (struct pollfd){ .fd = agent->wake_fd, .events = POLLIN };
	for (uint32_t i = 0; i < agent->endpoint_count; i++) {
		struct qo_endpoint *endpoint = agent->endpoints[i];
		int fd = endpoint->provider->ops->fd(endpoint);

		if (fd >= 0)
			fds[count++] =
				(struct pollfd){ .fd = fd, .events = POLLIN };
	}
	if (agent->watch_fd >= 0)
		fds[count++] = (struct pollfd){ .fd = agent->watch_fd,
						.events = POLLIN };
	if (deadline_ns != QOI_CLOCK_NEVER)
		timeout_of(deadline_ns, &timeout);
	qoi_set_own64(&agent->fields.sleeps, agent->fields.sleeps + 1);
	if (ppoll(fds, count, deadline_ns != QOI_CLOCK_NEVER ? &timeout : NULL,
		  NULL) > 0)
		qoi_set_own64(&agent->fields.wakes, agent->fields.wakes + 1);
	wake_fd_clear(agent);
	for (uint32_t i = 0; i < agent->endpoint_count; i++)
		agent->endpoints[i]->provider->ops->wake_clear(
			agent->endpoints[i]);
}

static int held_back(struct qoi_agent *agent)
{
	for (uint32_t i = 0; i < agent->endpoint_count; i++) {
		struct qo_endpoint *endpoint = agent->endpoints[i];

		if (endpoint->provider->ops->busy(endpoint))
			return 1;
	}
	return 0;
}

/*
 * Says how deep we sleep, and looks once more.  A work that no waiter moves on
 * needs the peers to ring; else only our own clients do.
 * Returns 1 when there was nothing to do.
 */
static int sleep_announce(struct qoi_agent *agent, int for_data)
{
	uint32_t level = QOI_BELL_AGENT_IDLE;

	if (agent->unlent != 0 || for_data)
		level = QOI_BELL_AGENT_DATA;
	qoi_bell_agent_set(agent->bell, level);
	if (qoi_agent_last_look(agent) != 0 || held_back(agent))
		return 0;
	if (level == QOI_BELL_AGENT_DATA || agent->unlent == 0)
		return 1;
	/* A lender left just now. */
	qoi_bell_agent_set(agent->bell, QOI_BELL_AGENT_DATA);
	return qoi_agent_last_look(agent) == 0 && !held_back(agent);
}

void qoi_agent_block(struct qoi_agent *agent, int64_t deadline_ns,
		     int (*ready)(void *arg), void *arg)
{
	if (sleep_announce(agent, ready != NULL) &&
	    (ready == NULL || !ready(arg))) {
		/* The thread's clients may need the lock while it sleeps. */
		if (agent->threaded)
			pthread_mutex_unlock(&agent->cycle_lock);
		descriptors_wait(agent, deadline_ns);
		if (agent->threaded)
			pthread_mutex_lock(&agent->cycle_lock);
		agent->look = 1;
	}
	qoi_bell_agent_set(agent->bell, QOI_BELL_AGENT_AWAKE);
}

static void idle_step(struct qoi_agent *agent, struct qoi_idle *idle)
{
	switch (qoi_idle_now(idle, 0)) {
	case QOI_CONFIG_IDLE_SPIN:
		qoi_pause();
		break;
	case QOI_CONFIG_IDLE_YIELD:
		sched_yield();
		break;
	default:
		pthread_mutex_lock(&agent->cycle_lock);
		qoi_agent_block(agent, QOI_CLOCK_NEVER, NULL, NULL);
		pthread_mutex_unlock(&agent->cycle_lock);
		qoi_idle_reset(idle);
		break;
	}
}

static void *agent_main(void *arg)
{
	struct qoi_agent *agent = arg;
	struct qoi_idle idle;

	agent->thread_id = (int32_t)syscall(SYS_gettid);
	qoi_topology_bind_thread(agent->topology, agent->placement.cpu);
	qoi_publish32(&agent->tid_known, 1);
	qoi_idle_init(&idle, agent->config->agent_idle,
		      agent->config->agent_spin_ns,
		      agent->config->agent_yield_ns);
	while (qoi_observe32(&agent->stop) == 0) {
		int done;

		pthread_mutex_lock(&agent->cycle_lock);
		done = qoi_agent_cycle(agent);
		pthread_mutex_unlock(&agent->cycle_lock);
		if (done != 0)
			qoi_idle_reset(&idle);
		else
			idle_step(agent, &idle);
	}
	return NULL;
}

int qoi_agent_thread_start(struct qoi_agent *agent)
{
	sigset_t all, before;
	int error;

	/* A signal of the application's must never run on the agent. */
	sigfillset(&all);
	agent->threaded = 1; /* before the thread reads it */
	pthread_sigmask(SIG_BLOCK, &all, &before);
	error = pthread_create(&agent->thread, NULL, agent_main, agent);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error != 0) {
		agent->threaded = 0;
		return qoi_fail(-EAGAIN,
				"create agent thread: %s; raise "
				"`ulimit -u` or use QO_AGENT=inline",
				strerror(error));
	}
	pthread_setname_np(agent->thread, "qo-agent");
	return 0;
}

void qoi_agent_thread_stop(struct qoi_agent *agent)
{
	const uint64_t one = 1;

	if (!agent->threaded)
		return;
	qoi_publish32(&agent->stop, 1);
	while (write(agent->wake_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	pthread_join(agent->thread, NULL);
	agent->threaded = 0;
}
