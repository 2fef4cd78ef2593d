/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ways by which the daemon gets at a user's buffer: it maps it, it copies
 * from and to the process, or this side stages it.
 */
#include <errno.h>

#include "libqoffload/base/error.h"
#include "libqoffload/client/far_op.h"

static const char *buffer_name(uint32_t buffer)
{
	return buffer == QOI_BUFFER_SEND ? "send" : "receive";
}

static int reaches(const struct qoi_link *link, uint32_t buffer)
{
	uint32_t needed = QOI_REACH_READ;

	if (buffer == QOI_BUFFER_RECV)
		needed |= QOI_REACH_WRITE;
	return (link->reach & needed) == needed;
}

static int map_buffer(struct qo_op *op, struct qoi_far_op *far, uint32_t buffer,
		      struct qoi_layout_attach_op *ask)
{
	if (!qoi_link_region_find(far->link, op->exec.buffers[buffer],
				  op->schedule->buffer_bytes[buffer],
				  &ask->buffer_region[buffer],
				  &ask->buffer_offset[buffer]))
		return 0;
	ask->buffer_kind[buffer] = QOI_BUFFER_REGION;
	far->path[buffer] = QOI_CONFIG_MEMORY_MAP;
	return 1;
}

static int cross_buffer(struct qo_op *op, struct qoi_far_op *far,
			uint32_t buffer, struct qoi_layout_attach_op *ask)
{
	if (!reaches(far->link, buffer))
		return 0;
	ask->buffer_kind[buffer] = QOI_BUFFER_ADDRESS;
	ask->buffer_offset[buffer] = (uintptr_t)op->exec.buffers[buffer];
	far->path[buffer] = QOI_CONFIG_MEMORY_CROSS;
	return 1;
}

/* Which way; the staging memory is made later, for both at once. */
static int path_choose(struct qo_op *op, struct qoi_far_op *far,
		       uint32_t buffer, struct qoi_layout_attach_op *ask)
{
	int memory = far->link->config->agent_memory;

	ask->buffer_bytes[buffer] = op->schedule->buffer_bytes[buffer];
	ask->buffer_kind[buffer] = QOI_BUFFER_NONE;
	if (ask->buffer_bytes[buffer] == 0)
		return 0;
	if ((memory == QOI_CONFIG_MEMORY_AUTO ||
	     memory == QOI_CONFIG_MEMORY_MAP) &&
	    map_buffer(op, far, buffer, ask))
		return 0;
	if (memory == QOI_CONFIG_MEMORY_MAP)
		return qoi_fail(-EINVAL,
				"QO_AGENT_MEMORY=map: the %s buffer does not "
				"lie in memory of qo_mem_alloc() of this "
				"context",
				buffer_name(buffer));
	if ((memory == QOI_CONFIG_MEMORY_AUTO ||
	     memory == QOI_CONFIG_MEMORY_CROSS) &&
	    cross_buffer(op, far, buffer, ask))
		return 0;
	if (memory == QOI_CONFIG_MEMORY_CROSS)
		return qoi_fail(-EPERM,
				"QO_AGENT_MEMORY=cross: agent process %d may "
				"not reach the %s buffer in this process (see "
				"kernel.yama.ptrace_scope, user name spaces, "
				"QO_SHM_GET): auto stages it",
				far->link->daemon_pid, buffer_name(buffer));
	far->path[buffer] = QOI_CONFIG_MEMORY_STAGE;
	return 0;
}

int qoi_far_memory_open(struct qo_op *op, struct qoi_far_op *far,
			struct qoi_step *steps, struct qoi_layout_attach_op *ask)
{
	int error = 0;

	for (uint32_t i = 0; i < QOI_FAR_BUFFERS && error == 0; i++)
		error = path_choose(op, far, i, ask);
	qoi_schedule_own_copies(op->schedule, &far->own_bytes);
	/*
	 * Staged, they would be copied three times.  Alone, there would be
	 * nothing left for the daemon.
	 */
	far->own_here = far->own_bytes != 0 && op->schedule->count > 1 &&
			(far->path[QOI_BUFFER_SEND] == QOI_CONFIG_MEMORY_STAGE ||
			 far->path[QOI_BUFFER_RECV] == QOI_CONFIG_MEMORY_STAGE);
	if (error == 0)
		error = qoi_far_stage_open(op, far, steps, ask);
	return error;
}
