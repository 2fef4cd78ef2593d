/* SPDX-License-Identifier: BSD-3-Clause */
/* What an attached client, or an observer, asks for at the socket. */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libqoffload/base/error.h"
#include "libqoffload/daemon/half.h"
#include "libqoffload/daemon/session.h"

#define PAGE_BYTES UINT64_C(4096)

/* So a client's steps can be read as they are. */
#define SAME_PLACE(field)                                                        \
	_Static_assert(offsetof(struct qoi_step, field) ==                       \
			       offsetof(struct qoi_layout_schedule_step, field), \
		       "step." #field)
SAME_PLACE(kind);
SAME_PLACE(from);
SAME_PLACE(to);
SAME_PLACE(stage);
SAME_PLACE(peer);
SAME_PLACE(from_offset);
SAME_PLACE(to_offset);
SAME_PLACE(bytes);
_Static_assert(sizeof(struct qoi_step) == QOI_LAYOUT_SCHEDULE_STEP_BYTES &&
		       sizeof(struct qoi_layout_schedule_step) ==
			       QOI_LAYOUT_SCHEDULE_STEP_BYTES,
	       "a step is a step");

static int read_all(int fd, void *data, uint64_t bytes)
{
	uint64_t done = 0;

	while (done < bytes) {
		ssize_t count = pread(fd, (uint8_t *)data + done, bytes - done,
				      (off_t)done);

		if (count <= 0)
			return qoi_fail(-EIO, "read an operation's steps: %m");
		done += (uint64_t)count;
	}
	return 0;
}

/* A copy that the client can't change while it is checked, or later. */
static int steps_read(uint32_t step_count, int fd, struct qoi_step **steps_out)
{
	uint64_t bytes = (uint64_t)step_count * QOI_LAYOUT_SCHEDULE_STEP_BYTES;
	struct qoi_step *steps;
	int error;

	if (step_count > QOI_STEPS_MAX)
		return qoi_fail(-EMSGSIZE,
				"an operation of %" PRIu32
				" steps; at most %" PRIu32,
				step_count, QOI_STEPS_MAX);
	/* calloc(0) may give NULL, which would look like no memory. */
	steps = calloc((size_t)step_count + 1, sizeof(*steps));
	if (steps == NULL)
		return qoi_fail(-ENOMEM, "no memory for %" PRIu32 " steps",
				step_count);
	if (step_count != 0) {
		if (fd < 0)
			error = qoi_fail(-EBADMSG,
					 "an operation without its steps");
		else
			error = qoi_segment_check(fd, (bytes + PAGE_BYTES - 1) &
							      ~(PAGE_BYTES - 1));
		if (error == 0)
			error = read_all(fd, steps, bytes);
		if (error != 0) {
			free(steps);
			return error;
		}
	}
	*steps_out = steps;
	return 0;
}

static int op_add(struct qoi_session *session,
		  const struct qoi_layout_attach_op *ask, int fd,
		  uint64_t *value_out)
{
	struct qoi_step *steps;
	int error = steps_read(ask->step_count, fd, &steps);

	if (error != 0)
		return error;
	return qoi_half_add(session, ask, steps, value_out);
}

static int status(struct qoi_session *session,
		  const struct qoi_layout_attach_status_ask *ask,
		  struct qoi_attach_message *answer)
{
	if (ask->what != QOI_STATUS_TOTAL && ask->what != QOI_STATUS_CLIENT &&
	    ask->what != QOI_STATUS_ERROR)
		return qoi_fail(-EINVAL, "no status %" PRIu32, ask->what);
	qoi_status_answer(session->daemon, ask, answer);
	return 0;
}

/* Returns 0 or a told error, *value_out goes into the answer. */
static int carry_out(struct qoi_session *session,
		     struct qoi_attach_message *message,
		     struct qoi_attach_message *answer, uint64_t *value_out)
{
	switch (message->header.kind) {
	case QOI_ATTACH_REGION_ADD:
		return qoi_region_add(session, &message->body.region,
				      &message->fds[0]);
	case QOI_ATTACH_REGION_DROP:
		return qoi_region_drop(session, message->body.region.region);
	case QOI_ATTACH_OP_ADD:
		return op_add(session, &message->body.op, message->fds[0],
			      value_out);
	case QOI_ATTACH_OP_DROP:
		return qoi_half_drop(session, message->body.op_end.op);
	case QOI_ATTACH_BYE:
		*value_out = session->half_count;
		return 0;
	case QOI_ATTACH_STATUS:
		return status(session, &message->body.ask, answer);
	default:
		return qoi_fail(-EINVAL,
				"a message of kind %u is none of an attached "
				"client's",
				message->header.kind);
	}
}

static int is_observers(uint16_t kind)
{
	return kind == QOI_ATTACH_STATUS || kind == QOI_ATTACH_BYE;
}

int qoi_session_request(struct qoi_session *session,
			struct qoi_attach_message *message,
			struct qoi_attach_message *answer)
{
	uint64_t value = 0;
	int error;

	if (message->fds_lost)
		return qoi_fail(-ENOMEM, "the daemon has no descriptor left: "
					 "raise its ulimit -n");
	if (session->state == QOI_SESSION_OBSERVER &&
	    !is_observers(message->header.kind))
		return qoi_fail(-EPERM, "an observer asks for the status, "
					"and nothing else");
	error = carry_out(session, message, answer, &value);
	if (error == 0 && answer->header.kind == QOI_ATTACH_ANSWER)
		answer->body.answer.value = value;
	return error;
}
