/* SPDX-License-Identifier: BSD-3-Clause */
/* A persistent operation as its movers see it. */
#ifndef QOI_OP_H
#define QOI_OP_H

#include "libqoffload/agent/agent.h"
#include "libqoffload/agent/exec.h"
#include "libqoffload/agent/object.h"

struct qo_op {
	struct qoi_work work;	  /* first: movers know the op by it */
	struct qoi_object object; /* among what the context frees at its end */
	struct qoi_exec exec;
	struct qoi_request *request;   /* owner: the table; taken by the op */
	struct qoi_agent *agent;       /* owner: the context */
	struct qo_team *team;	       /* owner: the user; held by the op */
	struct qoi_schedule *schedule; /* owner: the op */
	struct qoi_channel **channels; /* by rank, NULL without.  Owner: op */
	struct qo_window *window;      /* what peers write.  Owner: the op */
	struct qo_remote **remotes;    /* by rank.  Owner: the op */
	struct qoi_far_op *far; /* the daemon has it, or NULL.  Owner: the op */
	uint32_t loss_seen;	/* 1: a rank of the team is gone */
	uint32_t kind;		/* enum qoi_coll_kind */
	uint32_t sequence;	/* collective call on the team */
};

struct qoi_far_op; /* client/far_op.h */

extern const struct qoi_work_ops qoi_op_work_ops;

/*
 * Moves the op on, holding its lock; finishes the request when it is over,
 * and shows where a test must look otherwise.
 */
void qoi_op_move(struct qo_op *op, struct qoi_budget *budget);

/*
 * After a move that did not finish it: fails it when a rank that it needs is
 * gone.  What had arrived before the loss was taken by the move.
 */
void qoi_op_fail_orphan(struct qo_op *op);

/* After a move that did not finish it: 1 when an agent must go on. */
int qoi_op_needs_agent(const struct qo_op *op);

#endif
