/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "libqoffload/agent/op.h"
#include "libqoffload/base/error.h"
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

int qo_post(qo_op_t op, qo_request_t *request_out)
{
	int needs_agent;
	int error;

	if (op == NULL || request_out == NULL)
		return qoi_answer(-EBADF, "qo_post: op or request_out is NULL");
	qoi_work_lock(&op->work);
	error = start(op);
	needs_agent = qoi_op_needs_agent(op);
	qoi_work_unlock(&op->work);
	if (error == -EBUSY)
		return qoi_answer(error, "qo_post: the request before is not "
					 "complete: wait for it first");
	if (error != 0)
		return qoi_answer(error,
				  "qo_post: the operation failed before: "
				  "%s: rank %u",
				  qo_error_string(error), op->exec.error_rank);
	if (needs_agent)
		qoi_agent_submit(op->agent, op->request, &op->work);
	*request_out =
		qoi_request_handle(op->request, op->agent->context_number);
	return 0;
}
