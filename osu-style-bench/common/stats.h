/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_STATS_H
#define BENCH_STATS_H

#include <stddef.h>
#include <stdint.h>

/* What is said of many samples, in ns. */
struct bench_summary {
	uint64_t p50_ns;
	uint64_t p90_ns;
	uint64_t p99_ns;
	uint64_t p999_ns;
	uint64_t max_ns;
};

/* Sorts samples in place, upwards. */
void bench_samples_sort(uint64_t *samples, size_t count);

/* Middle of `count` values; the mean of the middle two when even; 0 of none. */
double bench_median(const double *values, size_t count);

/* As bench_median(), of sorted samples. */
double bench_samples_median(const uint64_t *sorted, size_t count);

/*
 * Mean of the samples.  For what shares its core with others: they take it in
 * slices that are longer than a sample, which a median does not see.
 */
double bench_samples_mean(const uint64_t *samples, size_t count);

/* Reads percentiles off sorted samples (nearest rank). */
struct bench_summary bench_samples_summarise(const uint64_t *sorted,
					     size_t count);

#endif
