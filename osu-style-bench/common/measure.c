/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure.h"
#include "clock.h"
#include "trip.h"

#include <stdio.h>
#include <stdlib.h>

#define TRIAL_COUNT 24	  /* iterations that tell how long one takes */
#define ITERATIONS_MIN 16 /* in a block, however long they take */

struct block {
	const struct bench_ranks *ranks;
	const struct bench_side *side;
	size_t warm_up;
	size_t iterations;
	uint64_t *samples; /* of this rank */
};

uint64_t bench_run_next(void)
{
	static uint64_t run;

	return ++run;
}

void bench_order_shuffle(uint64_t *seed, size_t *order, size_t count)
{
	for (size_t i = 0; i < count; i++)
		order[i] = i;
	for (size_t i = count; i > 1; i--) {
		size_t other;
		size_t swapped = order[i - 1];

		*seed = *seed * UINT64_C(6364136223846793005) +
			UINT64_C(1442695040888963407);
		other = (size_t)((*seed >> 33) % i);
		order[i - 1] = order[other];
		order[other] = swapped;
	}
}

static void iteration_run(const struct bench_ranks *ranks,
			  const struct bench_side *side, uint64_t *sample_out)
{
	uint64_t run = bench_run_next();
	uint64_t begin;

	if (side->prepare != NULL)
		side->prepare(side->arg, run);
	begin = bench_now_ns();
	side->run(side->arg, run);
	*sample_out = bench_now_ns() - begin;
	if (!side->check(side->arg, run))
		bench_die("%s: wrong data on rank %d in run %llu", side->name,
			  ranks->rank, (unsigned long long)run);
}

static void block_run(const struct block *block)
{
	uint64_t unused;

	MPI_Barrier(block->ranks->comm);
	for (size_t i = 0; i < block->warm_up; i++)
		iteration_run(block->ranks, block->side, &unused);
	for (size_t i = 0; i < block->iterations; i++)
		iteration_run(block->ranks, block->side, &block->samples[i]);
}

/* The quicker of two trials, so that one disturbance does not decide. */
static double trial_ns(const struct block *trial)
{
	double best_ns = 0.0;

	for (int i = 0; i < 2; i++) {
		uint64_t begin = bench_now_ns();
		double each_ns;

		block_run(trial);
		each_ns = (double)(bench_now_ns() - begin) / TRIAL_COUNT;
		if (i == 0 || each_ns < best_ns)
			best_ns = each_ns;
	}
	return best_ns;
}

/* How many iterations fit the time of a block, the same on all ranks. */
static size_t iterations_choose(const struct bench_ranks *ranks,
				const struct bench_options *options,
				const struct bench_side *side)
{
	uint64_t samples[TRIAL_COUNT];
	struct block trial = { ranks, side, 0, TRIAL_COUNT, samples };
	double each_ns;
	double slowest_ns;
	double count;

	block_run(&trial);
	each_ns = trial_ns(&trial);
	MPI_Allreduce(&each_ns, &slowest_ns, 1, MPI_DOUBLE, MPI_MAX,
		      ranks->comm);
	count = options->block_ms * 1e6 / slowest_ns;
	if (count > options->iterations_max)
		return (size_t)options->iterations_max;
	return count < ITERATIONS_MIN ? ITERATIONS_MIN : (size_t)count;
}

static void *array_create(size_t count, size_t bytes)
{
	void *array = calloc(count, bytes);

	if (array == NULL)
		bench_die("no memory for %zu samples", count);
	return array;
}

/*
 * Takes a block's samples, each the mean over the ranks: where two ranks
 * start apart, one waits longer by what the other waits less.
 */
static void block_gather(const struct block *block, size_t repetition,
			 struct bench_side_result *result)
{
	uint64_t *all = NULL;

	if (block->ranks->rank == 0)
		all = result->samples + result->sample_count;
	MPI_Reduce(block->samples, all, (int)block->iterations, MPI_UINT64_T,
		   MPI_SUM, 0, block->ranks->comm);
	if (block->ranks->rank != 0)
		return;
	for (size_t i = 0; i < block->iterations; i++)
		all[i] /= (uint64_t)block->ranks->count;
	bench_samples_sort(all, block->iterations);
	result->medians_ns[repetition] =
		bench_samples_median(all, block->iterations);
	result->sample_count += block->iterations;
}

static void result_finish(struct bench_side_result *result, size_t repetitions)
{
	result->value_ns = bench_median(result->medians_ns, repetitions);
	bench_samples_sort(result->samples, result->sample_count);
	result->summary =
		bench_samples_summarise(result->samples, result->sample_count);
}

static void blocks_create(const struct bench_ranks *ranks,
			  const struct bench_options *options,
			  const struct bench_side *sides,
			  struct bench_measurement *m, struct block *blocks)
{
	for (size_t i = 0; i < m->side_count; i++) {
		size_t count = iterations_choose(ranks, options, &sides[i]);

		blocks[i] =
			(struct block){ ranks, &sides[i], count / 10 + 4, count,
					array_create(count, sizeof(uint64_t)) };
		m->sides[i].name = sides[i].name;
		m->sides[i].medians_ns =
			array_create(m->repetitions, sizeof(double));
		if (ranks->rank == 0)
			m->sides[i].samples = array_create(
				count * m->repetitions, sizeof(uint64_t));
	}
}

void bench_measure(const struct bench_ranks *ranks,
		   const struct bench_options *options, const char *name,
		   const struct bench_side *sides, size_t side_count,
		   struct bench_measurement *measurement_out)
{
	struct bench_measurement m = { .repetitions =
					       (size_t)options->repetitions,
				       .side_count = side_count };
	struct block blocks[BENCH_SIDES_MAX];
	size_t order[BENCH_SIDES_MAX];
	uint64_t seed = options->seed;

	snprintf(m.name, sizeof(m.name), "%s", name);
	m.trip_ns[0] = bench_trip_measure(ranks);
	blocks_create(ranks, options, sides, &m, blocks);
	for (size_t i = 0; i < m.repetitions; i++) {
		bench_order_shuffle(&seed, order, side_count);
		for (size_t j = 0; j < side_count; j++) {
			block_run(&blocks[order[j]]);
			block_gather(&blocks[order[j]], i, &m.sides[order[j]]);
		}
	}
	m.trip_ns[1] = bench_trip_measure(ranks);
	for (size_t i = 0; i < side_count; i++) {
		free(blocks[i].samples);
		if (ranks->rank == 0)
			result_finish(&m.sides[i], m.repetitions);
		else
			free(m.sides[i].medians_ns);
	}
	*measurement_out = m;
}
