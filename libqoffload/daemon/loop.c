/* SPDX-License-Identifier: BSD-3-Clause */
/* The daemon's loop: how it idles, and when it is over. */
#include <sched.h>
#include <string.h>

#include "libqoffload/base/clock.h"
#include "libqoffload/base/config.h"
#include "libqoffload/base/log.h"
#include "libqoffload/daemon/session.h"
#include "libqoffload/shm/atomic.h"

/* Looks between two readings of the clock while it spins. */
#define SPINS_PER_CLOCK 16
/*
 * Cycles in a row that find something to do, before a daemon whose clients
 * need its core gives way.  With one, a large transfer takes half as long
 * again; with more, others' small ones are held up.
 */
#define BUSY_CYCLES 2

/* How long the daemon has found nothing to do. */
struct idle {
	int strategy; /* enum qoi_config_idle */
	uint32_t spins;
	uint32_t busy_cycles; /* in a row */
	int64_t since_ns;     /* 0: not idle */
	int64_t spin_ns;
	int64_t yield_ns; /* from since_ns, after the spin */
};

static void idle_init(struct idle *idle, const struct qoi_daemon_params *params)
{
	memset(idle, 0, sizeof(*idle));
	idle->strategy = params->idle;
	idle->spin_ns = (int64_t)params->spin_ns;
	idle->yield_ns = idle->spin_ns + (int64_t)params->yield_ns;
}

static void idle_reset(struct idle *idle)
{
	idle->since_ns = 0;
	idle->spins = 0;
}

/*
 * Clients want the core that we would spin on: what we wait for is theirs to
 * do, and they can't while we spin.
 */
static int is_crowded(const struct qoi_daemon *daemon)
{
	return daemon->client_count >=
	       qoi_topology_allowed_count(daemon->topology);
}

/* Returns the strategy for this moment: spin, yield or block. */
static int idle_now(const struct qoi_daemon *daemon, struct idle *idle)
{
	int64_t idle_ns;

	if (idle->strategy != QOI_CONFIG_IDLE_ADAPTIVE)
		return idle->strategy;
	if (++idle->spins % SPINS_PER_CLOCK != 1)
		return QOI_CONFIG_IDLE_SPIN;
	if (idle->since_ns == 0)
		idle->since_ns = qoi_clock_ns();
	idle_ns = qoi_clock_ns() - idle->since_ns;
	if (idle_ns < idle->spin_ns && !is_crowded(daemon))
		return QOI_CONFIG_IDLE_SPIN;
	if (idle_ns < idle->yield_ns) {
		idle->spins = 0;
		return QOI_CONFIG_IDLE_YIELD;
	}
	return QOI_CONFIG_IDLE_BLOCK;
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
static void busy_step(const struct qoi_daemon *daemon, struct idle *idle)
{
	idle_reset(idle);
	if (++idle->busy_cycles < BUSY_CYCLES || !is_crowded(daemon))
		return;
	idle->busy_cycles = 0;
	sched_yield();
}

static void idle_step(struct qoi_daemon *daemon, struct idle *idle)
{
	idle->busy_cycles = 0;
	switch (idle_now(daemon, idle)) {
	case QOI_CONFIG_IDLE_SPIN:
		qoi_pause();
		break;
	case QOI_CONFIG_IDLE_YIELD:
		sched_yield();
		break;
	default:
		qoi_daemon_block(daemon, sleep_ns(daemon));
		idle_reset(idle);
		break;
	}
}

void qoi_daemon_run(struct qoi_daemon *daemon, int stop_fd)
{
	struct idle idle;

	idle_init(&idle, &daemon->params);
	daemon->stop_fd = stop_fd;
	/* Told when it can't: a signal that is not seen is no reason to end. */
	if (stop_fd >= 0)
		(void)qoi_daemon_watch(daemon, stop_fd, QOI_EVENT_STOP);
	while (!qoi_daemon_over(daemon)) {
		if (qoi_daemon_cycle(daemon) != 0)
			busy_step(daemon, &idle);
		else
			idle_step(daemon, &idle);
	}
	if (stop_fd >= 0)
		epoll_ctl(daemon->epoll, EPOLL_CTL_DEL, stop_fd, NULL);
	daemon->stop_fd = -1;
	qoi_log_info("the daemon ends");
}
