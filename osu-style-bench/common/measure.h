/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include "ranks.h"

/*
 * One of the things that are compared.  Each iteration has a number of its
 * own, `run`, the same on all ranks and never used again, for the payload.
 */
struct bench_side {
	const char *name;			  /* static text */
	void *arg;				  /* handed to the callbacks */
	void (*prepare)(void *arg, uint64_t run); /* untimed; may be NULL */
	void (*run)(void *arg, uint64_t run);	  /* timed */
	bool (*check)(void *arg, uint64_t run);	  /* untimed: data is right */
};

/*
 * Measures sides in turns: in each repetition every side has one block of
 * iterations, in random order, with a barrier before each block.  A sample
 * is the time of one iteration, the mean over the ranks.  Collective; every rank
 * calls it alike.  Wrong data ends the program.
 * measurement_out: filled on rank 0; give it to bench_report_add().
 */
void bench_measure(const struct bench_ranks *ranks,
		   const struct bench_options *options, const char *name,
		   const struct bench_side *sides, size_t side_count,
		   struct bench_measurement *measurement_out);

/* Puts 0 .. count - 1 in a random order that all ranks share. */
void bench_order_shuffle(uint64_t *seed, size_t *order, size_t count);

/* A number never given before; equal on all ranks that ask alike. */
uint64_t bench_run_next(void);

#endif
