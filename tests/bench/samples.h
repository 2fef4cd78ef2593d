/* SPDX-License-Identifier: BSD-3-Clause */
/* Order statistics of measured times. */
#ifndef QO_BENCH_SAMPLES_H
#define QO_BENCH_SAMPLES_H

#include <stdint.h>
#include <stdlib.h>

static inline int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a;
	uint32_t y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static inline int compare_double(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

static inline double quantile(const uint32_t *sorted, uint64_t count, double q)
{
	uint64_t at = (uint64_t)(q * (double)count);

	return sorted[at < count ? at : count - 1];
}

/*
 * The clock may step by a tenth of what is measured: a median of grouped
 * values, each group spread evenly over its step.
 */
static inline double fine_median(const uint32_t *sorted, uint64_t count)
{
	uint32_t step = UINT32_MAX;
	uint32_t middle = sorted[count / 2];
	uint64_t low = 0, equal = 0;
	uint64_t i;

	for (i = 0; i < count; i++) {
		low += sorted[i] < middle;
		equal += sorted[i] == middle;
		if (i > 0 && sorted[i] != sorted[i - 1] &&
		    sorted[i] - sorted[i - 1] < step)
			step = sorted[i] - sorted[i - 1];
	}
	if (step == UINT32_MAX)
		step = 1;
	return middle - 0.5 * step +
	       step * ((double)count / 2 - (double)low) / (double)equal;
}

#endif
