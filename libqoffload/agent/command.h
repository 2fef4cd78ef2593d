/* SPDX-License-Identifier: BSD-3-Clause */
/* The command queue of an agent: one slot per post that needs it. */
#ifndef QOI_COMMAND_H
#define QOI_COMMAND_H

#include "libqoffload/agent/agent.h"

/* Room for `count` commands, rounded up; each request has at most one. */
int qoi_commands_open(struct qoi_agent *agent, uint64_t count);
void qoi_commands_close(struct qoi_agent *agent);

/* Any thread of the context.  Never full, since a work is queued once. */
void qoi_command_post(struct qoi_agent *agent, struct qoi_request *request);

/* Moves up to `limit` commands to the agent's list; cycle lock.  How many. */
int qoi_commands_take(struct qoi_agent *agent, uint32_t limit);

#endif
