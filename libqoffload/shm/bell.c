/* SPDX-License-Identifier: BSD-3-Clause */
#include "libqoffload/shm/bell.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "libqoffload/base/clock.h"
#include "libqoffload/shm/atomic.h"

_Static_assert(sizeof(struct qoi_bell) == QOI_LAYOUT_BELL_BYTES, "bell");
_Static_assert(offsetof(struct qoi_bell, waiters) ==
		       offsetof(struct qoi_layout_bell, waiters),
	       "bell.waiters");
_Static_assert(offsetof(struct qoi_bell, agent) ==
		       offsetof(struct qoi_layout_bell, agent),
	       "bell.agent");

uint32_t qoi_bell_wanted(struct qoi_bell *bell, uint32_t agent_level)
{
	uint32_t wanted = 0;

	/* S1: what was published before, then who sleeps */
	qoi_store_load_barrier();
	if (qoi_own32(&bell->waiters) != 0)
		wanted |= QOI_BELL_WAKE_WAITERS;
	if (qoi_own32(&bell->agent) >= agent_level)
		wanted |= QOI_BELL_WAKE_AGENT;
	return wanted;
}

void qoi_bell_ring_waiters(struct qoi_bell *bell)
{
	qoi_add32(&bell->sequence, 1);
	/* Not private: the sleepers may be in other processes. */
	syscall(SYS_futex, &bell->sequence, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

uint32_t qoi_bell_announce(struct qoi_bell *bell)
{
	uint32_t sequence;

	qoi_add32(&bell->waiters, 1);
	sequence = qoi_own32(&bell->sequence);
	/* S1: the announcement, then a look at what is waited for */
	qoi_store_load_barrier();
	return sequence;
}

int qoi_bell_sleep(struct qoi_bell *bell, uint32_t sequence, int64_t deadline_ns)
{
	struct timespec deadline = { 0, 0 };
	struct timespec *limit = NULL;
	long result;
	int error;

	if (deadline_ns != QOI_CLOCK_NEVER) {
		limit = &deadline;
		if (deadline_ns > 0) {
			deadline.tv_sec = deadline_ns / QOI_NS_PER_S;
			deadline.tv_nsec = (long)(deadline_ns % QOI_NS_PER_S);
		}
	}
	do {
		/* The bitset form takes an absolute CLOCK_MONOTONIC time. */
		result = syscall(SYS_futex, &bell->sequence, FUTEX_WAIT_BITSET,
				 sequence, limit, NULL, FUTEX_BITSET_MATCH_ANY);
		error = result == 0 ? 0 : errno;
	} while (error == EINTR);
	qoi_bell_cancel(bell);
	return error == ETIMEDOUT ? -ETIMEDOUT : 0;
}

void qoi_bell_cancel(struct qoi_bell *bell)
{
	qoi_sub32(&bell->waiters, 1);
}

void qoi_bell_agent_set(struct qoi_bell *bell, uint32_t level)
{
	qoi_set_own32(&bell->agent, level);
	/* S1: how it sleeps, then a last look for work */
	if (level != QOI_BELL_AGENT_AWAKE)
		qoi_store_load_barrier();
}
