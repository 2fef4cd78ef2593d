/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_FORKED_H
#define BENCH_FORKED_H

#include <qoffload/qoffload.h>

/*
 * Ranks made by fork(), for programs that have to do without MPI.  Their
 * out-of-band allgather goes through a shared mapping.
 */
struct bench_forked {
	uint32_t rank;
	uint32_t count;
	struct bench_board *board; /* shared by the ranks */
	uint64_t round;		   /* of allgathers */
	void *recv;		   /* of the allgather under way */
	size_t bytes;
};

/*
 * Makes `count` ranks and returns in each of them.  Call before the library
 * is used.
 */
void bench_forked_init(struct bench_forked *forked, uint32_t count);

/*
 * The group of `count` ranks that this one is in, counted from rank 0; a team
 * of it has nothing to do with those of others.  Once in a program.
 */
void bench_forked_group(const struct bench_forked *all, uint32_t count,
			struct bench_forked *group_out);

/* Makes a team of all ranks of `forked`; ends the program on failure. */
qo_team_t bench_forked_team(struct bench_forked *forked, qo_context_t context);

/* Waits for all ranks, sleeping meanwhile. */
void bench_forked_barrier(struct bench_forked *forked);

/*
 * As the barrier, of all forked ranks, without a timer: who waits here takes
 * no time from those that are measured meanwhile.
 */
void bench_forked_gate(const struct bench_forked *forked);

/*
 * Rank 0 waits for the others to exit; the others exit.
 * Returns: on rank 0, the worst exit status.
 */
int bench_forked_fini(struct bench_forked *forked, int status);

#endif
