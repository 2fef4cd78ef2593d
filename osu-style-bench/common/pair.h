/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_PAIR_H
#define BENCH_PAIR_H

#include <stdbool.h>
#include <stdint.h>

#include <qoffload/qoffload.h>

#define BENCH_PAIR_RANKS 2

/*
 * An alltoall of two ranks, in memory of qo_mem_alloc(), whose rank 0 tells
 * rank 1 in the data which run is the last: nothing else has to pass between
 * them while they are timed.
 */
struct bench_pair {
	uint32_t rank;
	uint64_t bytes; /* of a block */
	uint64_t run;
	unsigned char *memory[2]; /* send, receive */
	qo_mem_t mem[2];
	qo_op_t op;
	qo_request_t request;
};

/* Collective; ends the program on failure, as all here. */
void bench_pair_create(qo_context_t context, qo_team_t team, uint64_t bytes,
		       struct bench_pair *pair_out);
void bench_pair_destroy(struct bench_pair *pair);

/* Writes what this run has to carry, and posts it. */
void bench_pair_post(struct bench_pair *pair, bool last);

void bench_pair_wait(struct bench_pair *pair);

/* Checks the data.  Returns: whether rank 0 said that it was the last. */
bool bench_pair_was_last(const struct bench_pair *pair);

#endif
