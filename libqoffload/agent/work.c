/* SPDX-License-Identifier: BSD-3-Clause */
#include "libqoffload/agent/work.h"

#include <sched.h>

#include "libqoffload/shm/atomic.h"

/* Looks before a thread that waits for a work's lock gives its core away. */
#define LOCK_SPINS 64

void qoi_work_lock(struct qoi_work *work)
{
	uint32_t spins = 0;

	while (!qoi_try_lock32(&work->lock)) {
		if (++spins < LOCK_SPINS)
			qoi_pause();
		else
			sched_yield();
	}
}

void qoi_work_unlock(struct qoi_work *work)
{
	qoi_unlock32(&work->lock);
}
