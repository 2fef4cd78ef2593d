/* SPDX-License-Identifier: BSD-3-Clause */
/* What an agent that has nothing to do does: spin, then yield, then block. */
#ifndef QOI_IDLE_H
#define QOI_IDLE_H

#include <stdint.h>

/* How long it has found nothing to do. */
struct qoi_idle {
	int strategy; /* enum qoi_config_idle */
	uint32_t spins;
	int64_t since_ns; /* 0: not idle */
	int64_t spin_ns;
	int64_t yield_ns; /* from since_ns, after the spin */
};

void qoi_idle_init(struct qoi_idle *idle, int strategy, uint64_t spin_ns,
		   uint64_t yield_ns);

static inline void qoi_idle_reset(struct qoi_idle *idle)
{
	idle->since_ns = 0;
	idle->spins = 0;
}

/*
 * The strategy for this moment: QOI_CONFIG_IDLE_SPIN, _YIELD or _BLOCK.
 * crowded: 1: others want this core, so an adaptive one doesn't spin.
 */
int qoi_idle_now(struct qoi_idle *idle, int crowded);

#endif
