/* SPDX-License-Identifier: BSD-3-Clause */
/* The daemon's loop: how it idles, and when it is over. */
#include <sched.h>

#include "libqoffload/agent/idle.h"
#include "libqoffload/base/clock.h"
#include "libqoffload/base/config.h"
#include "libqoffload/base/log.h"
#include "libqoffload/daemon/session.h"
#include "libqoffload/shm/atomic.h"

/*
 * Cycles in a row that find something to do, before a daemon whose clients
 * need its core gives way.  With one, a large transfer takes half as long
 * again; with more, others' small ones are held up.
 */
#define BUSY_CYCLES 2

struct rest {
	struct qoi_idle idle;
	uint32_t busy_cycles; /* in a row */
};

/*
 * Clients want the core that we would spin on: what we wait for is theirs to
 * do, and they can't while we spin.
 */
static int is_crowded(const struct qoi_daemon *daemon)
{
	return daemon->client_count >=
	       qoi_topology_allowed_count(daemon->topology);
}

static int is_greeted(const struct qoi_daemon *daemon)
{
	const struct qoi_session *session = daemon->sessions;

	while (session != NULL && session->state != QOI_SESSION_GREETING)
		session = session->next;
	return session != NULL;
}

/*
 * Until when a daemon waits with nothing to do: one that drains for the end of
 * its patience, a private one for a client.
 */
static int64_t end_ns(const struct qoi_daemon *daemon)
{
	const struct qoi_daemon_params *params = &daemon->params;

	if (daemon->stop_ns != 0)
		return daemon->pending == 0 ? 0 : daemon->stop_ns;
	if (!params->private || daemon->client_count != 0)
		return QOI_CLOCK_NEVER;
	/* Its last client left, and no other is on its way in. */
	if (daemon->counts.clients_ever != 0 && !is_greeted(daemon))
		return 0;
	return qoi_clock_after(daemon->empty_since_ns, params->grace_ns);
}

int qoi_daemon_over(struct qoi_daemon *daemon)
{
	int64_t end = end_ns(daemon);

	return end != QOI_CLOCK_NEVER && qoi_clock_ns() >= end;
}

static int64_t sleep_ns(const struct qoi_daemon *daemon)
{
	int64_t end = end_ns(daemon);
	int64_t left;

	if (end == QOI_CLOCK_NEVER)
		return -1;
	left = end - qoi_clock_ns();
	return left < 0 ? 0 : left;
}

/*
 * Who shares our core would else get it only when all is moved, as the
 * scheduler's slices are longer than most operations: a flood by one client
 * would keep another from posting, and from seeing that it is done.
 */
static void busy_step(const struct qoi_daemon *daemon, struct rest *rest)
{
	qoi_idle_reset(&rest->idle);
	if (++rest->busy_cycles < BUSY_CYCLES || !is_crowded(daemon))
		return;
	rest->busy_cycles = 0;
	sched_yield();
}

static void idle_step(struct qoi_daemon *daemon, struct rest *rest)
{
	rest->busy_cycles = 0;
	switch (qoi_idle_now(&rest->idle, is_crowded(daemon))) {
	case QOI_CONFIG_IDLE_SPIN:
		qoi_pause();
		break;
	case QOI_CONFIG_IDLE_YIELD:
		sched_yield();
		break;
	default:
		qoi_daemon_block(daemon, sleep_ns(daemon));
		qoi_idle_reset(&rest->idle);
		break;
	}
}

void qoi_daemon_run(struct qoi_daemon *daemon, int stop_fd)
{
	struct rest rest = { .busy_cycles = 0 };

	qoi_idle_init(&rest.idle, daemon->params.idle, daemon->params.spin_ns,
		      daemon->params.yield_ns);
	daemon->stop_fd = stop_fd;
	/* Told when it can't: a signal that is not seen is no reason to end. */
	if (stop_fd >= 0)
		(void)qoi_daemon_watch(daemon, stop_fd, QOI_EVENT_STOP);
	while (!qoi_daemon_over(daemon)) {
		if (qoi_daemon_cycle(daemon) != 0)
			busy_step(daemon, &rest);
		else
			idle_step(daemon, &rest);
	}
	if (stop_fd >= 0)
		epoll_ctl(daemon->epoll, EPOLL_CTL_DEL, stop_fd, NULL);
	daemon->stop_fd = -1;
	qoi_log_info("the daemon ends");
}
