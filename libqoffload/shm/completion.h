/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The completion word of a request: written by who carries it out, read by
 * who tests it.  Fields: "completion" in docs/contract.md.
 */
#ifndef QOI_COMPLETION_H
#define QOI_COMPLETION_H

#include "libqoffload/shm/atomic.h"
#include "libqoffload/shm/layout.h"

/* Says how a request ended, after its result is in place. */
static inline void qoi_completion_publish(uint64_t *word, uint64_t value)
{
	/* P4 -> O4: the result before the state */
	qoi_publish64_at(QOI_EDGE_P4, word, value);
}

static inline uint64_t qoi_completion_observe(const uint64_t *word)
{
	/* P4 -> O4: the result before the state */
	return qoi_observe64_at(QOI_EDGE_O4, word);
}

#endif
