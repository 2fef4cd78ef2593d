/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the schedules of all ranks of a team together in one thread, with real
 * buffers, in an order drawn from a seed, and compares with what a few lines
 * of serial code say.
 */
#ifndef QOI_TEST_COLL_SIM_H
#define QOI_TEST_COLL_SIM_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>

#include <qoffload/types.h>

#include "libqoffload/coll/schedule.h"

#define SIM_RANKS_MAX 16u
#define SIM_STEPS_MAX 256u /* of one rank in one stage */

enum sim_in_place {
	SIM_SEPARATE,
	SIM_IN_PLACE,
	SIM_MIXED, /* in place on odd ranks only */
	SIM_IN_PLACE_COUNT
};

struct sim_case {
	uint32_t kind;
	const char *algorithm;
	uint32_t count; /* ranks */
	uint32_t root;
	int32_t type;
	int32_t reduce;
	int in_place;	   /* enum sim_in_place */
	uint64_t elements; /* of the v variants: at most, per block */
};

struct sim_message {
	struct sim_message *next;
	uint64_t bytes;
	uint8_t data[];
};

struct sim_rank {
	struct qoi_coll coll;
	struct qoi_schedule *schedule;
	uint8_t *buffers[QOI_BUFFER_COUNT]; /* at an odd address */
	uint8_t *initial[QOI_BUFFER_COUNT]; /* what they held at the start */
	/* Layouts of the v variants. */
	uint64_t send_counts[SIM_RANKS_MAX], send_displacements[SIM_RANKS_MAX];
	uint64_t recv_counts[SIM_RANKS_MAX], recv_displacements[SIM_RANKS_MAX];
	/* Progress. */
	bool started;
	uint32_t next;			 /* first step not yet in pending */
	uint32_t pending[SIM_STEPS_MAX]; /* steps of the current stage */
	uint32_t pending_count;
};

struct sim {
	struct sim_case is;
	uint64_t random;
	bool synchronous; /* a PUT is complete once its arrival is taken */
	bool left_early;  /* a rank ended before another had begun */
	struct sim_rank ranks[SIM_RANKS_MAX];
	struct sim_message *first[SIM_RANKS_MAX][SIM_RANKS_MAX]; /* from, to */
};

/* What all sweeps of a program did. */
struct sim_total {
	uint64_t cases;
	uint64_t steps;
};
extern struct sim_total sim_total;

uint64_t sim_random(uint64_t *state);
void sim_fail(const struct sim *sim, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), noreturn));

/* Static checks: validate(), hazards in a stage, pairs of messages. */
void sim_check(const struct sim *sim);
/* Runs to the end, or fails the test by a deadlock. */
void sim_run(struct sim *sim);

/* What rank ought to hold in its receive buffer, given what all began with. */
void sim_expect(const struct sim *sim, uint32_t rank, uint8_t *expected);
/* Fails unless bytes is the reduction of what all ranks began with. */
void sim_check_reduction(const struct sim *sim, uint32_t rank);

/* All of the above for one case, with buffered and with synchronous puts. */
void sim_case_run(const struct sim_case *is, uint64_t *random);
/* Every algorithm of the kind, 1 to 9 and 16 ranks, each in_place. */
void sim_sweep(const struct sim_case *base, uint64_t *random);
/* To be called first and last in main(). */
uint64_t sim_seed(int argc, char **argv);
void sim_report(void);

#endif
