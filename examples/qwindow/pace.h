/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Real time: rounds are measured at a fixed cadence, so a step's bits exist
 * only when its last layer was measured, and its frame is due some periods
 * later. Without a cadence nothing waits and nothing is late.
 */
#ifndef QWINDOW_PACE_H
#define QWINDOW_PACE_H

#include <stdint.h>

struct pace {
	int64_t round_ns; /* 0: no cadence */
	int64_t start_ns;
	int64_t period_ns;	  /* of a full step */
	uint32_t periods_allowed; /* from measured to frame known */
	uint64_t misses;
	uint64_t steps;		 /* whose frame is known */
	int64_t backlog_most_ns; /* measured, not begun */
	int64_t backlog_last_ns;
	int64_t reaction_most_ns;
	int64_t reaction_sum_ns;
};

void pace_start(struct pace *pace);
/* Sleep until `rounds` rounds were measured; note how late we are. */
void pace_wait(struct pace *pace, uint64_t rounds);
/* The frame of the step that ends at `rounds` rounds is known now. */
void pace_done(struct pace *pace, uint64_t rounds);

#endif
