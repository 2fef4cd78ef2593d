/* SPDX-License-Identifier: BSD-3-Clause */
#include "libqoffload/client/reader.h"

#include "libqoffload/agent/agent.h"

/* Holding the lock. */
static uint32_t read_once(struct qoi_request *request)
{
	struct qoi_budget budget = { .bytes = QOI_BUDGET_AGENT_BYTES };
	uint32_t result = 0;

	request->work->ops->read(request->work, request, &budget);
	if (budget.steps != 0 || budget.bytes != QOI_BUDGET_AGENT_BYTES)
		result |= QOI_READER_MOVED;
	if (!qoi_request_pending(request))
		result |= QOI_READER_ENDED;
	return result;
}

/* What is left is more than arrivals, and no agent has it yet. */
static int must_submit(const struct qoi_request *request)
{
	return qoi_request_pending(request) &&
	       qoi_own32(&request->arrivals) == 0 &&
	       qoi_own32(&request->work->queued) == 0;
}

uint32_t qoi_reader_move(struct qoi_request *request, uint32_t generation)
{
	struct qoi_work *work = request->work;
	uint32_t result = 0;
	int submit = 0;

	if (work == NULL || !work->readable)
		return 0;
	if (!qoi_try_lock32(&work->lock))
		return QOI_READER_BUSY;
	if (qoi_request_generation(request) == generation &&
	    qoi_request_pending(request)) {
		result = read_once(request);
		submit = must_submit(request);
	}
	qoi_unlock32(&work->lock);
	if (submit)
		qoi_agent_submit(request->agent, request, work);
	return result;
}
