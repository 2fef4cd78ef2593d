/* SPDX-License-Identifier: BSD-3-Clause */
#include "providers/fault/plan.h"

#define REFUSALS_MAX 3
#define DELAY_POLLS_MAX 16
#define REORDER_POLLS_MAX 8
#define DUPLICATE_POLLS_MAX 24
#define TEAR_POLLS_MAX 8
#define DROP_POLLS_MAX 16

enum kind { DELAY, REORDER, DUPLICATE, TEAR, DROP, REFUSE };

void qo_fault_plan_init(struct qo_fault_plan *plan,
			const struct qoi_config *config)
{
	plan->seed = config->fault_seed;
	plan->delay = config->fault_delay;
	plan->reorder = config->fault_reorder;
	plan->duplicate = config->fault_duplicate;
	plan->tear = config->fault_tear;
	plan->drop = config->fault_drop;
	plan->refuse = config->fault_refuse;
	plan->kill_after = config->fault_kill_after;
}

/* The finaliser of splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* 0, or with that percentage of chance a number in 1..max. */
static uint32_t draw(const struct qo_fault_plan *plan, uint64_t conn_index,
		     uint64_t put_index, enum kind kind, uint64_t percent,
		     uint32_t max)
{
	uint64_t x = mix(mix(mix(plan->seed) + conn_index) + put_index);

	x = mix(x + kind);
	if (x % 100 >= percent)
		return 0;
	return 1 + (uint32_t)((x >> 32) % max);
}

void qo_fault_plan_look(const struct qo_fault_plan *plan, uint64_t conn_index,
			uint64_t put_index, struct qo_fault_fate *fate_out)
{
	fate_out->delay_polls = draw(plan, conn_index, put_index, DELAY,
				     plan->delay, DELAY_POLLS_MAX);
	fate_out->reorder_polls = draw(plan, conn_index, put_index, REORDER,
				       plan->reorder, REORDER_POLLS_MAX);
	fate_out->duplicate_polls = draw(plan, conn_index, put_index, DUPLICATE,
					 plan->duplicate, DUPLICATE_POLLS_MAX);
	fate_out->tear_polls = draw(plan, conn_index, put_index, TEAR,
				    plan->tear, TEAR_POLLS_MAX);
	fate_out->drop_polls = draw(plan, conn_index, put_index, DROP,
				    plan->drop, DROP_POLLS_MAX);
	fate_out->refusals = draw(plan, conn_index, put_index, REFUSE,
				  plan->refuse, REFUSALS_MAX);
	fate_out->kill =
		plan->kill_after != 0 && put_index + 1 >= plan->kill_after;
}
