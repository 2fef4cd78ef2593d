/* SPDX-License-Identifier: BSD-3-Clause */
/* The hottest call: a read of one line, and of one word where data lands. */
#include <errno.h>
#include <stdio.h>

#include <qoffload/request.h>

#include "libqoffload/agent/agent.h"
#include "libqoffload/base/error.h"
#include "libqoffload/client/reader.h"

static int __attribute__((noinline, cold)) not_a_request(void)
{
	return qoi_answer(-EBADF, "stale or unknown request");
}

/* Something seems to have arrived, or the agent is ours to run. */
static int __attribute__((noinline))
look_closer(qo_request_t handle, struct qo_status *status_out,
	    struct qoi_request *request)
{
	uint64_t word;

	if (request->inlined)
		qoi_agent_try_cycle(request->agent);
	if ((qoi_reader_move(request, (uint32_t)(handle.id >> 32)) &
	     QOI_READER_ENDED) != 0)
		qoi_agent_tell_waiters(request->agent);
	word = qoi_completion_observe(&request->completion);
	/* Nobody's slot, which an invented handle may fit, has no work. */
	if (!qoi_completion_fits(word, handle) || request->work == NULL)
		return not_a_request();
	qoi_completion_unpack(word, status_out);
	return 0;
}

int qo_test(qo_request_t handle, struct qo_status *status_out)
{
	struct qoi_request *request = qoi_request_find(handle);
	uint64_t word = qoi_completion_observe(&request->completion);

	if (!qoi_completion_fits(word, handle))
		return not_a_request();
	if ((uint32_t)word == QOI_WORD_PENDING && qoi_request_awaits(request)) {
		status_out->state = QO_PENDING;
		status_out->error = 0;
		return 0;
	}
	if ((uint32_t)word == QOI_WORD_DONE) {
		status_out->state = QO_DONE;
		status_out->error = 0;
		status_out->rank = QO_RANK_NONE;
		status_out->flags = 0;
		return 0;
	}
	return look_closer(handle, status_out, request);
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
				  (status->flags & QO_STATUS_LATE) != 0
					  ? ", after its deadline"
					  : "");
	else if (status->rank == QO_RANK_NONE)
		length = snprintf(text, text_bytes, "failed: %s",
				  qo_error_string(status->error));
	else
		length = snprintf(text, text_bytes, "failed: %s: rank %d",
				  qo_error_string(status->error), status->rank);
	return length >= 0 && (size_t)length < text_bytes ? 0 : -EMSGSIZE;
}
