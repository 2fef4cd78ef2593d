/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of an operation: its memory, its place among others, its end. */
#include "libqoffload/client/op_object.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "libqoffload/base/error.h"
#include "libqoffload/client/far_op.h"

void qoi_op_window_release(struct qo_op *op)
{
	for (uint32_t rank = 0; op->remotes != NULL && rank < op->team->count;
	     rank++) {
		struct qo_remote *remote = op->remotes[rank];

		op->remotes[rank] = NULL;
		if (remote != NULL)
			remote->conn->endpoint->provider->ops->remote_release(
				remote);
	}
	if (op->window != NULL)
		op->window->endpoint->provider->ops->window_destroy(op->window);
	op->window = NULL;
}

void qoi_op_free(struct qo_op *op)
{
	if (op->far != NULL)
		qoi_far_op_close(op);
	qoi_exec_fini(&op->exec);
	for (uint32_t rank = 0; op->channels != NULL && rank < op->team->count;
	     rank++) {
		if (op->channels[rank] == NULL)
			continue;
		qoi_channel_fini(op->channels[rank]);
		free(op->channels[rank]);
	}
	qoi_op_window_release(op);
	qoi_schedule_destroy(op->schedule);
	if (op->request != NULL) {
		pthread_mutex_lock(&op->agent->table_lock);
		qoi_request_give(op->request);
		pthread_mutex_unlock(&op->agent->table_lock);
	}
	free(op->remotes);
	free(op->channels);
	free(op);
}

int qoi_op_alloc(struct qo_team *team, uint32_t kind, uint32_t sequence,
		 struct qo_op **op_out)
{
	struct qo_op *op = calloc(1, sizeof(*op));

	if (op == NULL)
		return qoi_fail(-ENOMEM, "no memory for an operation");
	op->work.ops = &qoi_op_work_ops;
	op->agent = &team->context->agent;
	op->team = team;
	op->kind = kind;
	op->sequence = sequence;
	op->channels = calloc(team->count, sizeof(struct qoi_channel *));
	op->remotes = calloc(team->count, sizeof(struct qo_remote *));
	if (op->channels == NULL || op->remotes == NULL) {
		qoi_op_free(op);
		return qoi_fail(-ENOMEM, "no memory for an operation");
	}
	*op_out = op;
	return 0;
}

/* Off every list; then nobody knows it any more. */
static void op_end(struct qo_op *op)
{
	qoi_agent_forget(op->agent, &op->work);
	if (op->far == NULL && qoi_request_pending(op->request)) {
		op->exec.error_rank = op->team->rank;
		qoi_exec_give_up(&op->exec, -EPIPE);
	}
	qoi_object_remove(&op->team->context->objects, &op->object);
	qoi_sub32(&op->team->held, 1);
	qoi_op_free(op);
}

static void op_left(struct qoi_object *object)
{
	op_end((struct qo_op *)((char *)object - offsetof(struct qo_op, object)));
}

void qoi_op_keep(struct qo_op *op)
{
	qoi_add32(&op->team->held, 1);
	qoi_object_add(&op->team->context->objects, &op->object, op_left);
}

int qo_op_destroy(qo_op_t op)
{
	if (op == NULL)
		return qoi_fail(-EINVAL, "qo_op_destroy: op is NULL");
	if (qoi_request_pending(op->request))
		return qoi_fail(-EBUSY, "qo_op_destroy: its request is not "
					"complete: wait for it first");
	op_end(op);
	return 0;
}

int qo_op_describe(qo_op_t op, char *text, size_t text_bytes)
{
	size_t used;

	if (op == NULL || (text == NULL && text_bytes != 0))
		return qoi_fail(-EINVAL, "qo_op_describe: op or text is NULL");
	used = qoi_schedule_print(op->schedule, text, text_bytes);
	if (used >= text_bytes)
		return -EMSGSIZE;
	if (op->far != NULL)
		used += (size_t)qoi_far_op_print(op, text + used,
						 text_bytes - used);
	return used < text_bytes ? 0 : -EMSGSIZE;
}
