/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an agent, a poster or a waiter can move on: one operation, or the
 * sending half of one mesh.
 */
#ifndef QOI_WORK_H
#define QOI_WORK_H

#include <stdint.h>

struct qoi_work;
struct qoi_request;

/* What the mover may spend in one go. */
struct qoi_budget {
	uint64_t bytes;	   /* left to copy */
	uint32_t steps;	   /* carried out so far */
	uint32_t in_cycle; /* 1: caller runs the duty cycle, may call put() */
};

#define QOI_BUDGET_AGENT_BYTES (UINT64_C(256) << 10)
#define QOI_BUDGET_POST_BYTES (UINT64_C(64) << 10)

struct qoi_work_ops {
	/*
	 * Moves on as far as it can without blocking.  Holds the work's lock.
	 * Returns 1 while something remains that an agent must do, else 0.
	 */
	int (*advance)(struct qoi_work *work, struct qoi_budget *budget);
	/* A peer is gone: fail what cannot complete any more.  Holds the lock. */
	void (*peer_gone)(struct qoi_work *work);
	/*
	 * For a client that may move it: takes what has arrived for one of its
	 * requests and finishes that, or shows where to look.  Holds the lock.
	 */
	void (*read)(struct qoi_work *work, struct qoi_request *request,
		     struct qoi_budget *budget);
	/*
	 * Of a `yielding` work, for a client that waits: a bounded piece of what
	 * needs nobody else.  Without the lock.  Returns 1 when it did some.
	 */
	int (*lend)(struct qoi_work *work, struct qoi_request *request);
};

struct qoi_work {
	const struct qoi_work_ops *ops;
	uint32_t readable; /* 1: clients may move it; fixed */
	uint32_t lendable; /* 1: a waiter can do all that its agent would */
	uint32_t yielding; /* 1: another process does it, and may need the core */
	uint32_t lock;	   /* who moves it on; short, see qoi_work_lock() */
	uint32_t lenders; /* waiters that lend their core; the agent stays off */
	uint32_t queued;  /* 1: on its way to, or in, the agent's list */
	uint32_t listed;  /* 1: in the agent's list; cycle lock */
};

/* Takes the lock; who holds it gives it back after a bounded time. */
void qoi_work_lock(struct qoi_work *work);
void qoi_work_unlock(struct qoi_work *work);

#endif
