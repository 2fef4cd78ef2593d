/* SPDX-License-Identifier: BSD-3-Clause */
/* How a waiting thread passes the time: spin, yield, then sleep. */
#ifndef QOI_PATIENCE_H
#define QOI_PATIENCE_H

#include <stdint.h>

#include "libqoffload/base/config.h"

enum qoi_patience_verdict {
	QOI_PATIENCE_AGAIN, /* look again */
	QOI_PATIENCE_SLEEP, /* it takes long: sleep */
	QOI_PATIENCE_OVER   /* the deadline passed */
};

struct qoi_patience {
	int64_t since_ns; /* 0: the clock was not read yet */
	int64_t spin_ns;
	int64_t yield_ns; /* from since_ns */
	uint32_t looks;
	uint32_t crowded; /* 1: others want this core: never spin */
	uint32_t spun;	  /* 1: long enough, yield from now on */
};

void qoi_patience_init(struct qoi_patience *patience,
		       const struct qoi_config *config, int crowded);
/* Something happened: start anew. */
void qoi_patience_reset(struct qoi_patience *patience);
/* Passes a moment, and says what to do next. */
enum qoi_patience_verdict qoi_patience_step(struct qoi_patience *patience,
					    int64_t deadline_ns);

#endif
