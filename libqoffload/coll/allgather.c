/* SPDX-License-Identifier: BSD-3-Clause */
/* allgather and allgatherv: they differ only in where a block lies. */
#include "libqoffload/coll/build.h"

static void allgather_copy_own(struct qoi_build *build)
{
	const struct qoi_coll *coll = build->coll;

	if (coll->in_place == 0)
		qoi_build_copy(build, qoi_coll_outgoing(coll, coll->rank),
			       qoi_coll_incoming(coll, coll->rank));
}

/* Everything at once. */
void qoi_allgather_flat(struct qoi_build *build)
{
	const struct qoi_coll *coll = build->coll;

	for (uint32_t d = 1; d < coll->count; d++) {
		uint32_t peer = qoi_coll_rank_after(coll, d);

		qoi_build_put(build, peer, qoi_coll_outgoing(coll, peer));
	}
	allgather_copy_own(build);
	for (uint32_t d = 1; d < coll->count; d++) {
		uint32_t peer = qoi_coll_rank_before(coll, d);

		qoi_build_get(build, peer, qoi_coll_incoming(coll, peer));
	}
}

/* Each block goes once around; a rank passes on what it got last. */
void qoi_allgather_ring(struct qoi_build *build)
{
	const struct qoi_coll *coll = build->coll;
	const uint32_t next = qoi_coll_rank_after(coll, 1);
	const uint32_t previous = qoi_coll_rank_before(coll, 1);
	struct qoi_part passed = qoi_coll_outgoing(coll, next);

	allgather_copy_own(build);
	for (uint32_t d = 1; d < coll->count; d++) {
		struct qoi_part got =
			qoi_coll_incoming(coll, qoi_coll_rank_before(coll, d));

		qoi_build_put(build, next, passed);
		qoi_build_get(build, previous, got);
		qoi_build_next_stage(build);
		passed = got;
	}
}

/*
 * In round k groups of 2^k ranks swap all they have.  Equal blocks and a
 * power of two of ranks only: what a group has is then one piece.
 */
void qoi_allgather_doubling(struct qoi_build *build)
{
	const struct qoi_coll *coll = build->coll;
	struct qoi_part have = qoi_coll_outgoing(coll, coll->rank);

	allgather_copy_own(build);
	for (uint32_t group = 1; group < coll->count; group *= 2) {
		uint32_t partner = coll->rank ^ group;
		struct qoi_part got =
			qoi_coll_incoming(coll, partner & ~(group - 1));

		got.bytes *= group;
		qoi_build_put(build, partner, have);
		qoi_build_get(build, partner, got);
		qoi_build_next_stage(build);
		have = qoi_coll_incoming(coll, coll->rank & ~(2 * group - 1));
		have.bytes *= 2 * group;
	}
}
