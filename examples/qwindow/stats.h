/* SPDX-License-Identifier: BSD-3-Clause */
/* Durations in a histogram of 1/8 octaves: mean, percentiles, maximum. */
#ifndef QWINDOW_STATS_H
#define QWINDOW_STATS_H

#include <stdint.h>

#define STATS_BINS 512

struct stats {
	uint64_t count;
	uint64_t sum_ns;
	uint64_t max_ns;
	uint64_t bins[STATS_BINS];
};

void stats_add(struct stats *stats, uint64_t ns);
/* The upper end of the bin that holds this part (0..1) of all; 0 if none. */
uint64_t stats_percentile(const struct stats *stats, double part);
double stats_mean(const struct stats *stats);

#endif
