/* SPDX-License-Identifier: BSD-3-Clause */
#include "libqoffload/agent/idle.h"

#include <string.h>

#include "libqoffload/base/clock.h"
#include "libqoffload/base/config.h"

/* Looks between two readings of the clock while it spins. */
#define SPINS_PER_CLOCK 16

void qoi_idle_init(struct qoi_idle *idle, int strategy, uint64_t spin_ns,
		   uint64_t yield_ns)
{
	memset(idle, 0, sizeof(*idle));
	idle->strategy = strategy;
	idle->spin_ns = (int64_t)spin_ns;
	idle->yield_ns = idle->spin_ns + (int64_t)yield_ns;
}

int qoi_idle_now(struct qoi_idle *idle, int crowded)
{
	int64_t idle_ns;

	if (idle->strategy != QOI_CONFIG_IDLE_ADAPTIVE)
		return idle->strategy;
	if (++idle->spins % SPINS_PER_CLOCK != 1)
		return QOI_CONFIG_IDLE_SPIN;
	if (idle->since_ns == 0)
		idle->since_ns = qoi_clock_ns();
	idle_ns = qoi_clock_ns() - idle->since_ns;
	if (idle_ns < idle->spin_ns && !crowded)
		return QOI_CONFIG_IDLE_SPIN;
	if (idle_ns < idle->yield_ns) {
		idle->spins = 0;
		return QOI_CONFIG_IDLE_YIELD;
	}
	return QOI_CONFIG_IDLE_BLOCK;
}
