/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Carries out a schedule, one instance at a time, without ever blocking.
 */
#ifndef QOI_EXEC_H
#define QOI_EXEC_H

#include "libqoffload/agent/channel.h"
#include "libqoffload/agent/reach.h"
#include "libqoffload/agent/request.h"
#include "libqoffload/agent/work.h"
#include "libqoffload/coll/schedule.h"

/* How far one step is. */
struct qoi_step_state {
	uint64_t moved;	   /* bytes of its message so far */
	uint64_t position; /* PUT by get notice: slot that must be consumed */
	uint8_t done;
	uint8_t noticed; /* PUT: its notice is out; GET: it fetches */
	uint8_t reserved[6];
};

struct qoi_exec {
	const struct qoi_schedule *schedule; /* owner: the operation */
	struct qoi_step_state *states;	     /* one per step.  Owner: exec */
	struct qoi_channel **channels; /* by rank, NULL without.  Owner: op */
	struct qo_conn **conns; /* by rank, NULL: oneself.  Owner: the team */
	uint8_t *buffers[QOI_BUFFER_COUNT]; /* the user's, and the scratch */
	/* Of buffers that are not mapped here; buffers[] is NULL then. */
	struct qoi_reach reach[QOI_BUFFER_COUNT];
	uint8_t *spare; /* 2 * QOI_BOUNCE_BYTES for those.  Owner: the daemon */
	uint32_t held;	/* 1: steps within the rank are left for later */
	uint8_t *bounce;     /* to reduce what was fetched.  Owner: exec */
	uint32_t stage;	     /* current */
	uint32_t first;	     /* its first step */
	uint32_t left;	     /* its steps that aren't done */
	uint32_t error_rank; /* peer that a failure is about */
	int error;	     /* why it failed, sticky: 0 or negative errno */
};

#define QOI_BOUNCE_BYTES (UINT64_C(64) << 10)

int qoi_exec_init(struct qoi_exec *exec, const struct qoi_schedule *schedule,
		  struct qoi_channel **channels, struct qo_conn **conns);
void qoi_exec_fini(struct qoi_exec *exec);

/* Back to the first stage. */
void qoi_exec_start(struct qoi_exec *exec);

/*
 * Moves on as far as the budget and the peers allow.
 * Returns 1 complete, 0 not yet, negative errno failed (error_rank says who).
 */
int qoi_exec_advance(struct qoi_exec *exec, struct qoi_budget *budget);

/*
 * After an advance that returned 0: whether nothing but arrivals remains, so
 * that no agent is needed, and the word on which the first one waits.
 */
int qoi_exec_only_arrivals(const struct qoi_exec *exec, const uint64_t **watch,
			   uint64_t *value);

/*
 * Ends an instance that failed: takes back the notices by which peers may
 * still fetch from the user's memory.  Before the request is finished.
 */
void qoi_exec_give_up(struct qoi_exec *exec, int error);

/* Wakes the peers that sleep over what was published since the last time. */
void qoi_exec_ring(struct qoi_exec *exec);

/* 0, or -ECONNRESET/-EPIPE and error_rank: a rank of the team is gone. */
int qoi_exec_fate(struct qoi_exec *exec);

/*
 * As qoi_exec_fate(), of an instance under way: 0 while it can still end.  One
 * that said good-bye is missed by those alone who still wait for its part.
 * One that died is missed by all: a rank between us and it may have failed,
 * and sends no more.
 */
int qoi_exec_orphaned(struct qoi_exec *exec);

#endif
