/* SPDX-License-Identifier: BSD-3-Clause */
/* For tests: what the fault provider did so far. */
#ifndef QO_FAULT_H
#define QO_FAULT_H

#include "providers/provider.h"

/* accepted = delivered + discarded + dropped + those still queued. */
struct qo_fault_stats {
	uint64_t accepted;   /* puts that returned 0 */
	uint64_t delivered;  /* handed to the inner provider in full */
	uint64_t dropped;    /* lost on the way, or after such a loss */
	uint64_t discarded;  /* queued when their connection was lost */
	uint64_t refused;    /* -EAGAIN by plan */
	uint64_t full;	     /* -EAGAIN because too many are under way */
	uint64_t delayed;    /* held back, with those behind them */
	uint64_t reordered;  /* held back, and overtaken */
	uint64_t duplicated; /* queued twice */
	uint64_t stale;	     /* second copies that came later, thrown away */
	uint64_t torn;	     /* written in two pieces */
	uint64_t lost;	     /* connections broken by plan, here */
};

/* Caller: any thread; `endpoint` is of the fault provider. */
void qo_fault_stats_get(struct qo_endpoint *endpoint,
			struct qo_fault_stats *stats_out);

#endif
