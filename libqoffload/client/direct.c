/* SPDX-License-Identifier: BSD-3-Clause */
#include "libqoffload/client/far_op.h"

#include <stdlib.h>

static int is_put(const struct qoi_step *step)
{
	return step->kind == QOI_STEP_PUT;
}

static int is_arrival(const struct qoi_step *step)
{
	return step->kind == QOI_STEP_GET || step->kind == QOI_STEP_REDUCE;
}

/* All messages are of one stage, and each fits a slot. */
static int is_one_stage(const struct qoi_schedule *schedule, uint64_t slot_bytes)
{
	const struct qoi_step *first = NULL;

	for (uint32_t i = 0; i < schedule->step_count; i++) {
		const struct qoi_step *step = &schedule->steps[i];

		if (!is_put(step) && !is_arrival(step))
			continue;
		if (first == NULL)
			first = step;
		if (step->stage != first->stage || step->bytes > slot_bytes)
			return 0;
	}
	return 1;
}

/*
 * Who sends to a peer also waits for it: then the peer has started whatever we
 * complete, and is at most one instance behind.  balance: by rank, zero.
 */
static int is_mutual(const struct qoi_schedule *schedule, int8_t *balance)
{
	for (uint32_t i = 0; i < schedule->step_count; i++) {
		const struct qoi_step *step = &schedule->steps[i];

		/* In one stage a peer has one message each way at the most. */
		if (is_put(step))
			balance[step->peer]++;
		if (is_arrival(step))
			balance[step->peer]--;
	}
	for (uint32_t rank = 0; rank < schedule->count; rank++) {
		if (balance[rank] != 0)
			return 0;
	}
	return 1;
}

int qoi_schedule_is_direct(const struct qoi_schedule *schedule,
			   uint64_t slot_bytes)
{
	int8_t *balance;
	int direct;

	if (!is_one_stage(schedule, slot_bytes))
		return 0;
	balance = calloc(schedule->count, sizeof(*balance));
	/* Without memory for the question, the agent is asked to do it. */
	if (balance == NULL)
		return 0;
	direct = is_mutual(schedule, balance);
	free(balance);
	return direct;
}
