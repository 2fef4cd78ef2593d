/* SPDX-License-Identifier: BSD-3-Clause */
#include "libqoffload/client/reader.h"

uint32_t qoi_reader_move(struct qoi_request *request, uint32_t generation)
{
	struct qoi_budget budget = { .bytes = QOI_BUDGET_AGENT_BYTES };
	struct qoi_work *work = request->work;
	uint32_t result = 0;

	if (work == NULL || !work->readable)
		return 0;
	if (!qoi_try_lock32(&work->lock))
		return QOI_READER_BUSY;
	if (qoi_request_generation(request) == generation &&
	    qoi_request_pending(request)) {
		work->ops->read(work, request, &budget);
		if (budget.steps != 0 || budget.bytes != QOI_BUDGET_AGENT_BYTES)
			result |= QOI_READER_MOVED;
		if (!qoi_request_pending(request))
			result |= QOI_READER_ENDED;
	}
	qoi_unlock32(&work->lock);
	return result;
}
