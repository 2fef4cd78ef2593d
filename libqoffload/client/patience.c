/* SPDX-License-Identifier: BSD-3-Clause */
#include "libqoffload/client/patience.h"

#include <sched.h>

#include "libqoffload/base/clock.h"
#include "libqoffload/shm/atomic.h"

/* Looks between two readings of the clock while spinning. */
#define LOOKS_PER_CLOCK 64
/* Looks before a thread on a crowded node gives its core away. */
#define CROWDED_LOOKS 2
/* Yields between two readings of the clock. */
#define YIELDS_PER_CLOCK 8

void qoi_patience_init(struct qoi_patience *patience,
		       const struct qoi_config *config, int crowded)
{
	patience->spin_ns = crowded ? 0 : (int64_t)config->wait_spin_ns;
	patience->yield_ns = patience->spin_ns + (int64_t)config->wait_yield_ns;
	patience->crowded = crowded != 0;
	qoi_patience_reset(patience);
}

void qoi_patience_reset(struct qoi_patience *patience)
{
	patience->since_ns = 0;
	patience->looks = 0;
	patience->spun = 0;
}

static enum qoi_patience_verdict judge(struct qoi_patience *patience,
				       int64_t deadline_ns)
{
	int64_t now = qoi_clock_ns();

	if (patience->since_ns == 0)
		patience->since_ns = now;
	if (now >= deadline_ns)
		return QOI_PATIENCE_OVER;
	now -= patience->since_ns;
	if (now >= patience->yield_ns)
		return QOI_PATIENCE_SLEEP;
	if (now >= patience->spin_ns) {
		patience->spun = 1;
		sched_yield();
	}
	return QOI_PATIENCE_AGAIN;
}

static enum qoi_patience_verdict step_yield(struct qoi_patience *patience,
					    int64_t deadline_ns)
{
	if (patience->looks < CROWDED_LOOKS) {
		qoi_pause();
		return QOI_PATIENCE_AGAIN;
	}
	if (patience->looks % YIELDS_PER_CLOCK == 0)
		return judge(patience, deadline_ns);
	sched_yield();
	return QOI_PATIENCE_AGAIN;
}

enum qoi_patience_verdict qoi_patience_step(struct qoi_patience *patience,
					    int64_t deadline_ns)
{
	patience->looks++;
	/* A deadline that has passed looks once: no spinning for it. */
	if (patience->looks == 1 && deadline_ns < INT64_MAX)
		return judge(patience, deadline_ns);
	if (patience->crowded || patience->spun)
		return step_yield(patience, deadline_ns);
	if (patience->looks % LOOKS_PER_CLOCK == 0)
		return judge(patience, deadline_ns);
	qoi_pause();
	return QOI_PATIENCE_AGAIN;
}
