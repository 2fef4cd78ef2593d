/* SPDX-License-Identifier: BSD-3-Clause */
#include "libqoffload/agent/command.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "libqoffload/base/error.h"

#define COMMAND_PAYLOAD_BYTES                                                  \
	(sizeof(struct qoi_layout_command_slot) - QOI_SLOT_HEADER_BYTES)
/* Credits go back in batches of this many. */
#define COMMAND_BATCH 16

/* The part of a command slot behind the header that every slot has. */
struct command {
	uint32_t op_slot;
	uint32_t generation;
	uint64_t round;
	uint64_t argument[4];
};
_Static_assert(sizeof(struct command) == COMMAND_PAYLOAD_BYTES,
	       "a command fills its slot");

int qoi_commands_open(struct qoi_agent *agent, uint64_t count)
{
	struct qoi_queue_shape shape = {
		.slot_count = COMMAND_BATCH,
		.payload_bytes = COMMAND_PAYLOAD_BYTES,
		.encoding = QOI_ENCODING_CLASSIC,
	};

	/* Twice, so that credits on their way back are never missed. */
	while (shape.slot_count < 2 * count)
		shape.slot_count *= 2;
	agent->command_slots = aligned_alloc(128, qoi_queue_bytes(&shape));
	if (agent->command_slots == NULL)
		return -ENOMEM;
	memset(agent->command_slots, 0, qoi_queue_bytes(&shape));
	qoi_queue_format(&shape, agent->command_slots, 0);
	qoi_credit_format(agent->command_credit, 0);
	qoi_producer_init(&agent->commands_in, &shape, agent->command_slots,
			  agent->command_credit, 0);
	qoi_consumer_init(&agent->commands_out, &shape, agent->command_slots,
			  agent->command_credit, 0, COMMAND_BATCH);
	return 0;
}

void qoi_commands_close(struct qoi_agent *agent)
{
	free(agent->command_slots);
	agent->command_slots = NULL;
}

void qoi_command_post(struct qoi_agent *agent, struct qoi_request *request)
{
	struct command command = {
		.op_slot = request->index,
		.generation = qoi_request_generation(request),
	};
	int error;

	while (!qoi_try_lock32(&agent->command_lock))
		sched_yield();
	error = qoi_producer_send(&agent->commands_in, &command,
				  sizeof(command), QOI_COMMAND_POST, 0);
	qoi_unlock32(&agent->command_lock);
	assert(error == 0);
	(void)error;
}

static void command_list(struct qoi_agent *agent, const struct command *command)
{
	struct qoi_request_table *table =
		&qoi_request_tables[agent->context_number];
	struct qoi_work *work;

	if (command->op_slot > table->mask)
		return;
	work = table->slots[command->op_slot].work;
	if (work == NULL || work->listed)
		return;
	work->listed = 1;
	agent->works[agent->listed++] = work;
}

int qoi_commands_take(struct qoi_agent *agent, uint32_t limit)
{
	struct qoi_message message;
	uint32_t taken = 0;

	while (taken < limit &&
	       qoi_consumer_peek(&agent->commands_out, &message) == 0) {
		struct command command;

		memcpy(&command, message.payload, sizeof(command));
		qoi_consumer_release(&agent->commands_out);
		command_list(agent, &command);
		taken++;
	}
	return (int)taken;
}
