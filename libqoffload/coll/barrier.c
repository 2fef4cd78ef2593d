/* SPDX-License-Identifier: BSD-3-Clause */
#include "libqoffload/coll/build.h"

void qoi_barrier_flat(struct qoi_build *build)
{
	const struct qoi_coll *coll = build->coll;

	for (uint32_t d = 1; d < coll->count; d++)
		qoi_build_notify(build, qoi_coll_rank_after(coll, d));
	for (uint32_t d = 1; d < coll->count; d++)
		qoi_build_await(build, qoi_coll_rank_before(coll, d));
}

/* After round k a rank knows of the 2^(k+1) ranks up to itself. */
void qoi_barrier_dissemination(struct qoi_build *build)
{
	const struct qoi_coll *coll = build->coll;

	for (uint64_t d = 1; d < coll->count; d *= 2) {
		qoi_build_notify(build, qoi_coll_rank_after(coll, (uint32_t)d));
		qoi_build_await(build, qoi_coll_rank_before(coll, (uint32_t)d));
		qoi_build_next_stage(build);
	}
}
