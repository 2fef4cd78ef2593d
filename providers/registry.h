/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef QO_REGISTRY_H
#define QO_REGISTRY_H

#include "providers/provider.h"

/*
 * Checks a provider (abi, size, caps equal to the ops that are there) and
 * copies it with every gap filled by a default that returns -EOPNOTSUPP, so
 * that nobody tests an op for NULL.
 * Returns 0, -EPROTONOSUPPORT (abi, size), -EINVAL (caps against ops).
 */
int qoi_provider_adopt(const struct qo_provider *from, struct qo_provider *to,
		       struct qo_provider_ops *ops_storage);

/*
 * Opens the providers of a list such as "self,shm" or "self,fault:shm", in
 * order of preference.  endpoints_out: at most QOI_ENDPOINTS_MAX.
 * Returns 0, -ENODEV (names what there is), or what open() returns.
 */
#define QOI_ENDPOINTS_MAX 8
int qoi_providers_open(const struct qoi_config *config,
		       struct qo_endpoint **endpoints_out, uint32_t *count_out);

/* Calls fn for each provider built in; for qo_info. */
void qoi_providers_visit(void (*fn)(const struct qo_provider *, void *arg),
			 void *arg);

#endif
