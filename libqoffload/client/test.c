/* SPDX-License-Identifier: BSD-3-Clause */
/* The hottest call: a read of one line, and of one word where data lands. */
#include <errno.h>
#include <stdio.h>

#include <qoffload/request.h>

#include "libqoffload/agent/agent.h"
#include "libqoffload/base/error.h"
#include "libqoffload/client/reader.h"

static int not_a_request(void)
{
	return qoi_fail(-EBADF, "stale or unknown request");
}

/* Something seems to have arrived, or the agent is ours to run. */
static uint64_t __attribute__((noinline))
look_closer(struct qoi_request *request, uint32_t generation)
{
	if (request->inlined)
		qoi_agent_try_cycle(request->agent);
	qoi_reader_move(request, generation);
	return qoi_observe64(&request->completion);
}

int qo_test(qo_request_t handle, struct qo_status *status_out)
{
	struct qoi_request *request = qoi_request_find(handle);
	uint64_t word;

	if (request == NULL)
		return not_a_request();
	/* P8 -> O8: results before completion */
	word = qoi_observe64(&request->completion);
	if (word >> 32 != handle.id >> 32)
		return not_a_request();
	if (qoi_completion_pending(word)) {
		if (!qoi_reader_awaits(request))
			word = look_closer(request, (uint32_t)(word >> 32));
	}
	qoi_completion_unpack(word, status_out);
	return 0;
}

int qo_status_describe(const struct qo_status *status, char *text,
		       size_t text_bytes)
{
	int length;

	if (status == NULL || text == NULL)
		return qoi_fail(-EINVAL, "qo_status_describe: NULL argument");
	if (status->state == QO_PENDING)
		length = snprintf(text, text_bytes, "pending");
	else if (status->state == QO_DONE)
		length = snprintf(text, text_bytes, "done%s",
				  (status->flags & QO_STATUS_LATE) != 0 ?
					  ", after its deadline" : "");
	else if (status->rank == QO_RANK_NONE)
		length = snprintf(text, text_bytes, "failed: %s",
				  qo_error_string(status->error));
	else
		length = snprintf(text, text_bytes, "failed: %s: rank %d",
				  qo_error_string(status->error), status->rank);
	return length >= 0 && (size_t)length < text_bytes ? 0 : -EMSGSIZE;
}
