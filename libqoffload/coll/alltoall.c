/* SPDX-License-Identifier: BSD-3-Clause */
/* alltoall and alltoallv: they differ only in where a block lies. */
#include "libqoffload/coll/build.h"

static void alltoall_copy_own(struct qoi_build *build)
{
	const struct qoi_coll *coll = build->coll;

	if (coll->in_place == 0)
		qoi_build_copy(build, qoi_coll_outgoing(coll, coll->rank),
			       qoi_coll_incoming(coll, coll->rank));
}

/*
 * In place, a block may arrive before the one it replaces has left: it waits
 * in the scratch buffer, and alltoall_unload() moves it.
 */
static void alltoall_get(struct qoi_build *build, uint32_t peer)
{
	struct qoi_part to = qoi_coll_incoming(build->coll, peer);

	if (build->coll->in_place != 0)
		to = qoi_build_scratch(build, 1, to.bytes);
	qoi_build_get(build, peer, to);
}

/* peer_at: the rank whose block is the distance-th in the scratch buffer. */
static void alltoall_unload(struct qoi_build *build,
			    uint32_t (*peer_at)(const struct qoi_coll *coll,
						uint32_t distance))
{
	struct qoi_part from = { QOI_BUFFER_SCRATCH, 0, 0 };

	if (build->coll->in_place == 0)
		return;
	qoi_build_next_stage(build);
	for (uint32_t d = 1; d < build->coll->count; d++) {
		struct qoi_part to =
			qoi_coll_incoming(build->coll, peer_at(build->coll, d));

		from.bytes = to.bytes;
		qoi_build_copy(build, from, to);
		from.offset += from.bytes;
	}
}

/* Everything at once. */
void qoi_alltoall_flat(struct qoi_build *build)
{
	const struct qoi_coll *coll = build->coll;

	for (uint32_t d = 1; d < coll->count; d++) {
		uint32_t peer = qoi_coll_rank_after(coll, d);

		qoi_build_put(build, peer, qoi_coll_outgoing(coll, peer));
	}
	alltoall_copy_own(build);
	for (uint32_t d = 1; d < coll->count; d++)
		alltoall_get(build, qoi_coll_rank_before(coll, d));
	alltoall_unload(build, qoi_coll_rank_before);
}

static uint32_t alltoall_target(const struct qoi_coll *coll, uint32_t distance)
{
	if (qoi_coll_is_power_of_two(coll->count))
		return coll->rank ^ distance;
	return qoi_coll_rank_after(coll, distance);
}

static uint32_t alltoall_source(const struct qoi_coll *coll, uint32_t distance)
{
	if (qoi_coll_is_power_of_two(coll->count))
		return coll->rank ^ distance;
	return qoi_coll_rank_before(coll, distance);
}

/* One partner at a time: for messages that fill a link. */
void qoi_alltoall_pairwise(struct qoi_build *build)
{
	const struct qoi_coll *coll = build->coll;

	alltoall_copy_own(build);
	for (uint32_t d = 1; d < coll->count; d++) {
		uint32_t target = alltoall_target(coll, d);

		qoi_build_put(build, target, qoi_coll_outgoing(coll, target));
		alltoall_get(build, alltoall_source(coll, d));
		qoi_build_next_stage(build);
	}
	alltoall_unload(build, alltoall_source);
}
