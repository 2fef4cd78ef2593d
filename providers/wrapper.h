/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef QO_WRAPPER_H
#define QO_WRAPPER_H

#include "providers/provider.h"

/*
 * A provider over another one, as in "fault:shm".  Its open() is handed the
 * first member of this.
 */
struct qo_wrapper {
	struct qo_provider provider;
	const struct qo_provider *inner; /* adopted.  Owner: the registry */
};

#endif
