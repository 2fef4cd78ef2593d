/* SPDX-License-Identifier: BSD-3-Clause */
/* What the halves of one operation share. */
#ifndef QOI_GROUP_H
#define QOI_GROUP_H

#include "libqoffload/daemon/half.h"

/* Finds or makes the group, and takes its rank in it.  -EPROTO, -ENOMEM. */
int qoi_group_join(struct qoi_half *half,
		   const struct qoi_layout_attach_op *ask);
/* fate: what the others see of it from now on.  The last one frees it. */
void qoi_group_leave(struct qoi_half *half, int fate);
/*
 * Once every rank is here: makes the channels between them.  Returns 0, also
 * when it is too early; -EPROTO: they don't fit together; -ENOMEM.
 */
int qoi_group_tie(struct qoi_group *group);
void qoi_group_free(struct qoi_group *group);

#endif
