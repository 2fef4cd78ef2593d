/* SPDX-License-Identifier: BSD-3-Clause */
#include "stats.h"

#include <stdlib.h>
#include <string.h>

static int samples_compare(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left;
	uint64_t b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

static int values_compare(const void *left, const void *right)
{
	double a = *(const double *)left;
	double b = *(const double *)right;

	return (a > b) - (a < b);
}

void bench_samples_sort(uint64_t *samples, size_t count)
{
	if (count > 1)
		qsort(samples, count, sizeof(*samples), samples_compare);
}

double bench_median(const double *values, size_t count)
{
	double *sorted;
	double median;

	if (count == 0)
		return 0.0;
	sorted = malloc(count * sizeof(*sorted));
	if (sorted == NULL)
		abort();
	memcpy(sorted, values, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), values_compare);
	median = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2.0;
	free(sorted);
	return median;
}

double bench_samples_median(const uint64_t *sorted, size_t count)
{
	if (count == 0)
		return 0.0;
	return ((double)sorted[(count - 1) / 2] + (double)sorted[count / 2]) /
	       2.0;
}

double bench_samples_mean(const uint64_t *samples, size_t count)
{
	double sum = 0.0;

	for (size_t i = 0; i < count; i++)
		sum += (double)samples[i];
	return count == 0 ? 0.0 : sum / (double)count;
}

/* per_mille of the samples are at most the result. */
static uint64_t sample_at(const uint64_t *sorted, size_t count, size_t per_mille)
{
	size_t rank = (count * per_mille + 999) / 1000;

	return sorted[rank == 0 ? 0 : rank - 1];
}

struct bench_summary bench_samples_summarise(const uint64_t *sorted,
					     size_t count)
{
	struct bench_summary summary = { 0 };

	if (count == 0)
		return summary;
	summary.p50_ns = sample_at(sorted, count, 500);
	summary.p90_ns = sample_at(sorted, count, 900);
	summary.p99_ns = sample_at(sorted, count, 990);
	summary.p999_ns = sample_at(sorted, count, 999);
	summary.max_ns = sorted[count - 1];
	return summary;
}
