/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks for tests: processes (fork) or threads of one process, with an
 * out-of-band allgather over shared memory.
 */
#ifndef QOT_RANKS_H
#define QOT_RANKS_H

#include <stdio.h>

#include <qoffload/qoffload.h>

#define QOT_RANKS_MAX 64

struct qot_gather; /* shared by the ranks */

struct qot_rank {
	uint32_t rank;
	uint32_t count;
	struct qot_gather *gather;
	void *arg; /* as given to the launcher */
};

/* Returns 0 when the rank passed; anything else is its failure. */
typedef int (*qot_rank_fn)(struct qot_rank *rank);

/* Run fn on `count` ranks; returns how many did not return 0. */
int qot_run_processes(uint32_t count, qot_rank_fn fn, void *arg);
int qot_run_threads(uint32_t count, qot_rank_fn fn, void *arg);
/* Of `mortals` (bit i: rank i) each must end by SIGKILL, and no other rank. */
int qot_run_mortals(uint32_t count, qot_rank_fn fn, void *arg, uint64_t mortals);

/*
 * A hang is a failure: this process, and each rank forked from it, says what
 * it was in and leaves with QOT_EXIT_HANG; a rank after QOT_LIMIT_S.
 */
void qot_limit(uint32_t seconds, const char *what);
#define QOT_EXIT_HANG 98
#define QOT_LIMIT_S 60

/*
 * For ranks that are started one by one: their out-of-band memory is a file,
 * which the first one makes.  NULL when it can't be (told).
 */
struct qot_gather *qot_gather_map(const char *path);

/*
 * Entries of /dev/shm but those of MPI libraries, whose jobs may run beside
 * this test: there must be no more of them after than before.
 */
int qot_shm_entries(void);

/* The out-of-band allgather of a rank, for qo_team_create(). */
struct qo_oob qot_oob(struct qot_rank *rank);

/* Waits until all ranks are here; for the order of a test, not its result. */
void qot_meet(struct qot_rank *rank);
/* The same, with progress meanwhile: under inline agents peers may need it. */
void qot_meet_progress(struct qot_rank *rank, qo_context_t context);

/* A context with these settings, and a team of all ranks; 0 or an error. */
int qot_join(struct qot_rank *rank, const char *const *settings,
	     qo_context_t *context_out, qo_team_t *team_out);

/* Posts, waits and expects done; returns 0 or prints and returns 1. */
int qot_run_op(qo_op_t op);

/* On failure prints where and which rank, and leaves with 1. */
#define QOT_CHECK(rank_, condition_)                                           \
	do {                                                                   \
		if (!(condition_)) {                                           \
			fprintf(stderr, "%s:%d: rank %u: %s (%s)\n", __FILE__, \
				__LINE__, (rank_)->rank, #condition_,          \
				qo_error_detail());                            \
			return 1;                                              \
		}                                                              \
	} while (0)

#endif
