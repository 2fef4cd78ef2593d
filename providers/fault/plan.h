/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What befalls a put: a function of the seed, its connection and its number
 * there, not of time; so the same seed gives the same faults.
 */
#ifndef QO_FAULT_PLAN_H
#define QO_FAULT_PLAN_H

#include "libqoffload/base/config.h"

struct qo_fault_plan {
	uint64_t seed;
	uint64_t delay; /* percents */
	uint64_t reorder;
	uint64_t duplicate;
	uint64_t tear;
	uint64_t drop;
	uint64_t refuse;
	uint64_t kill_after; /* puts of a connection; 0 is never */
};

/* Times are counts of poll(); 0 means that it doesn't happen. */
struct qo_fault_fate {
	uint32_t refusals;	  /* so often, before it is taken */
	uint32_t delay_polls;	  /* with all behind it */
	uint32_t reorder_polls;	  /* alone */
	uint32_t duplicate_polls; /* when the copy comes */
	uint32_t tear_polls;	  /* between the two pieces */
	uint32_t drop_polls;	  /* until the connection is given up */
	int kill;
};

void qo_fault_plan_init(struct qo_fault_plan *plan,
			const struct qoi_config *config);
void qo_fault_plan_look(const struct qo_fault_plan *plan, uint64_t conn_index,
			uint64_t put_index, struct qo_fault_fate *fate_out);

#endif
