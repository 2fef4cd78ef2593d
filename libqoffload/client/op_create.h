/* SPDX-License-Identifier: BSD-3-Clause */
/* From a description of a collective to an operation that can be posted. */
#ifndef QOI_OP_CREATE_H
#define QOI_OP_CREATE_H

#include "libqoffload/agent/op.h"
#include "libqoffload/client/handle.h"

/*
 * Collective.  local_error: what the caller found wrong with its arguments
 * (told already); the rank takes part nevertheless, so that all fail alike.
 * coll: what to do; rank and count are filled in here.
 */
int qoi_op_create(struct qo_team *team, struct qoi_coll *coll, const void *send,
		  void *recv, int local_error, struct qo_op **op_out);

#endif
