/* SPDX-License-Identifier: BSD-3-Clause */
#include "libqoffload/agent/op.h"

#include <errno.h>

/* Credits that only a put can carry; 1 while some are still due. */
static int credits_flush(struct qo_op *op)
{
	int owes = 0;

	for (uint32_t rank = 0; rank < op->schedule->count; rank++) {
		struct qoi_channel *channel = op->channels[rank];

		if (channel == NULL || !qoi_channel_owes(channel) ||
		    qoi_channel_fate(channel) != 0)
			continue;
		owes |= qoi_channel_flush(channel) == -EAGAIN;
	}
	return owes;
}

void qoi_op_move(struct qo_op *op, struct qoi_budget *budget)
{
	const uint64_t *watch = NULL;
	uint64_t value = 0;
	int result = qoi_exec_advance(&op->exec, budget);

	qoi_exec_ring(&op->exec);
	if (result == 1) {
		qoi_request_finish(op->request, 0, QO_RANK_NONE);
	} else if (result < 0) {
		qoi_request_finish(op->request, result,
				   (int32_t)op->exec.error_rank);
	} else if (op->work.readable &&
		   qoi_exec_only_arrivals(&op->exec, &watch, &value)) {
		qoi_request_await(op->request, watch, value);
	} else {
		qoi_request_unwatch(op->request);
	}
}

int qoi_op_needs_agent(const struct qo_op *op)
{
	return qoi_request_pending(op->request) && !op->request->arrivals;
}

void qoi_op_fail_orphan(struct qo_op *op)
{
	int fate;

	if (!qoi_request_pending(op->request) || qoi_exec_fate(&op->exec) == 0)
		return;
	op->loss_seen = 1;
	fate = qoi_exec_orphaned(&op->exec);
	if (fate == 0)
		return;
	qoi_exec_give_up(&op->exec, fate);
	qoi_request_finish(op->request, fate, (int32_t)op->exec.error_rank);
}

static int op_advance(struct qoi_work *work, struct qoi_budget *budget)
{
	struct qo_op *op = (struct qo_op *)work;
	int owes = 0;

	if (qoi_request_pending(op->request))
		qoi_op_move(op, budget);
	if (budget->in_cycle)
		qoi_op_fail_orphan(op);
	if (!op->work.readable && budget->in_cycle)
		owes = credits_flush(op);
	return owes || qoi_op_needs_agent(op);
}

static void op_peer_gone(struct qoi_work *work)
{
	struct qo_op *op = (struct qo_op *)work;
	struct qoi_budget budget = {
		.bytes = QOI_BUDGET_AGENT_BYTES,
		.in_cycle = 1,
	};

	qoi_op_move(op, &budget);
	qoi_op_fail_orphan(op);
}

static void op_read(struct qoi_work *work, struct qoi_request *request,
		    struct qoi_budget *budget)
{
	struct qo_op *op = (struct qo_op *)work;

	if (!qoi_request_pending(request))
		return;
	qoi_op_move(op, budget);
	/* No agent looks after it while a waiter lends. */
	if (op->loss_seen)
		qoi_op_fail_orphan(op);
}

const struct qoi_work_ops qoi_op_work_ops = {
	.advance = op_advance,
	.peer_gone = op_peer_gone,
	.read = op_read,
};
