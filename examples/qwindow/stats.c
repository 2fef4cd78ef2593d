/* SPDX-License-Identifier: BSD-3-Clause */
#include "examples/qwindow/stats.h"

#define STEPS 8 /* bins per octave */

static uint32_t bin_of(uint64_t ns)
{
	uint32_t octave;

	if (ns < STEPS)
		return (uint32_t)ns;
	octave = 63 - (uint32_t)__builtin_clzll(ns);
	/* The three bits below the leading one. */
	return (octave - 2) * STEPS + (uint32_t)(ns >> (octave - 3)) % STEPS;
}

static uint64_t bin_end(uint32_t bin)
{
	uint32_t octave = bin / STEPS + 2;

	if (bin < STEPS)
		return bin;
	return ((uint64_t)(STEPS + bin % STEPS + 1) << (octave - 3)) - 1;
}

void stats_add(struct stats *stats, uint64_t ns)
{
	stats->count++;
	stats->sum_ns += ns;
	if (stats->max_ns < ns)
		stats->max_ns = ns;
	stats->bins[bin_of(ns)]++;
}

uint64_t stats_percentile(const struct stats *stats, double part)
{
	uint64_t seen = 0;

	for (uint32_t bin = 0; bin < STATS_BINS; bin++) {
		seen += stats->bins[bin];
		if (seen > 0 && (double)seen >= part * (double)stats->count) {
			uint64_t end = bin_end(bin);

			return end < stats->max_ns ? end : stats->max_ns;
		}
	}
	return 0;
}

double stats_mean(const struct stats *stats)
{
	return stats->count == 0 ? 0
				 : (double)stats->sum_ns / (double)stats->count;
}
