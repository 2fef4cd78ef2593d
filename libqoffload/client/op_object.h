/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of an operation: its memory, its place among others, its end. */
#ifndef QOI_OP_OBJECT_H
#define QOI_OP_OBJECT_H

#include "libqoffload/agent/op.h"
#include "libqoffload/client/handle.h"

/* An operation with nothing in it yet.  Returns 0, -ENOMEM. */
int qoi_op_alloc(struct qo_team *team, uint32_t kind, uint32_t sequence,
		 struct qo_op **op_out);
/* It is complete: its team holds it, and the context frees it at its end. */
void qoi_op_keep(struct qo_op *op);
/* Frees one that is not kept, however far it came. */
void qoi_op_free(struct qo_op *op);
/* What peers write into goes, and what this rank would write. */
void qoi_op_window_release(struct qo_op *op);

#endif
