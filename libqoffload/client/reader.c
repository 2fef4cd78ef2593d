/* SPDX-License-Identifier: BSD-3-Clause */
#include "libqoffload/client/reader.h"

int qoi_reader_move(struct qoi_request *request, uint32_t generation)
{
	struct qoi_budget budget = { .bytes = QOI_BUDGET_AGENT_BYTES };
	struct qoi_work *work = request->work;

	if (work == NULL || !work->readable || !qoi_try_lock32(&work->lock))
		return 0;
	if (qoi_request_generation(request) == generation)
		work->ops->read(work, request, &budget);
	qoi_unlock32(&work->lock);
	return 1;
}
