/* SPDX-License-Identifier: BSD-3-Clause */
/* One step of a schedule; see exec.h. */
#ifndef QOI_STEP_H
#define QOI_STEP_H

#include "libqoffload/agent/exec.h"

/* Returns 1 something moved, 0 nothing could, or a negative errno. */
int qoi_step_advance(struct qoi_exec *exec, const struct qoi_step *step,
		     struct qoi_step_state *state, struct qoi_budget *budget);

/* Takes back the notice of a PUT that is not done. */
void qoi_step_revoke(const struct qoi_exec *exec, const struct qoi_step *step,
		     const struct qoi_step_state *state);

/* An arrival that fits one slot, so that the reader may take it. */
int qoi_step_is_small(const struct qoi_exec *exec, const struct qoi_step *step);

/* The word on which an arrival waits, and the value that ends the wait. */
const uint64_t *qoi_step_watch(const struct qoi_exec *exec,
			       const struct qoi_step *step, uint64_t *value);

#endif
