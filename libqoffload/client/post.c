/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "libqoffload/agent/op.h"
#include "libqoffload/base/error.h"
#include "libqoffload/client/far_op.h"
#include "libqoffload/client/handle.h"

/*
 * Starts the next instance, holding the lock, and moves it as far as the
 * caller can: where nothing but arrivals remains, no agent hears of it.
 */
static int start(struct qo_op *op)
{
	struct qoi_budget budget = { .bytes = QOI_BUDGET_POST_BYTES };

	if (qoi_request_pending(op->request) && op->work.readable)
		qoi_op_move(op, &budget);
	if (qoi_request_pending(op->request))
		return -EBUSY;
	if (op->exec.error != 0)
		return op->exec.error;
	qoi_request_start(op->request, QO_NO_DEADLINE);
	qoi_exec_start(&op->exec);
	if (!op->work.readable)
		return 0;
	qoi_op_move(op, &budget);
	/* A loss before we were pending was told to nobody. */
	qoi_op_fail_orphan(op);
	return 0;
}

static int refused(const struct qo_op *op, int error)
{
	if (error == -EBUSY)
		return qoi_answer(error, "qo_post: the request before is not "
					 "complete: wait for it first");
	if (error == -EAGAIN)
		return qoi_answer(error, "qo_post: the agent has not taken the "
					 "posts before: wait, and try again");
	if (error == -EPERM)
		return qoi_answer(error, "qo_post: after fork, a child needs a "
					 "context of its own");
	if (op->exec.error == 0)
		return qoi_answer(error, "qo_post: %s", qo_error_string(error));
	if ((int32_t)op->exec.error_rank == QO_RANK_NONE)
		return qoi_answer(error,
				  "qo_post: the operation failed before: %s",
				  qo_error_string(error));
	return qoi_answer(error,
			  "qo_post: the operation failed before: %s: rank %u",
			  qo_error_string(error), op->exec.error_rank);
}

int qo_post(qo_op_t op, qo_request_t *request_out)
{
	int needs_agent;
	int error;

	if (op == NULL || request_out == NULL)
		return qoi_answer(-EBADF, "qo_post: op or request_out is NULL");
	qoi_work_lock(&op->work);
	error = op->far != NULL ? qoi_far_op_post(op) : start(op);
	needs_agent = qoi_op_needs_agent(op);
	qoi_work_unlock(&op->work);
	if (error != 0)
		return refused(op, error);
	if (needs_agent)
		qoi_agent_submit(op->agent, op->request, &op->work);
	*request_out =
		qoi_request_handle(op->request, op->agent->context_number);
	return 0;
}
