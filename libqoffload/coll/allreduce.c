/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every rank must end with the same bits.  All reductions commute to the bit
 * (see reduce.c), so two partners may each put its own operand first.  Sums of
 * float and double do not associate: there all ranks add in the same order.
 */
#include "libqoffload/coll/build.h"

static void flat_put(struct qoi_build *build)
{
	const struct qoi_coll *coll = build->coll;

	for (uint32_t d = 1; d < coll->count; d++) {
		uint32_t peer = qoi_coll_rank_after(coll, d);

		qoi_build_put(build, peer, qoi_coll_outgoing(coll, peer));
	}
}

/* Own vector first, then those before it on the ring. */
static void flat_any_order(struct qoi_build *build)
{
	const struct qoi_coll *coll = build->coll;
	const struct qoi_part own = qoi_coll_outgoing(coll, coll->rank);
	const struct qoi_part result = qoi_coll_incoming(coll, coll->rank);
	/* Where it is free, the first vector lands in the result. */
	const uint32_t landed = coll->in_place != 0 ? 0 : 1;
	const uint32_t waiting = coll->count - 1 - landed;
	struct qoi_part slots = qoi_build_scratch(build, waiting, own.bytes);

	flat_put(build);
	if (landed != 0)
		qoi_build_get(build, qoi_coll_rank_before(coll, 1), result);
	for (uint32_t i = 0; i < waiting; i++)
		qoi_build_get(build, qoi_coll_rank_before(coll, 1 + landed + i),
			      qoi_part_piece(slots, i, own.bytes));
	qoi_build_next_stage(build);
	if (landed != 0)
		qoi_build_fold(build, own, result);
	for (uint32_t i = 0; i < waiting; i++) {
		qoi_build_next_stage(build);
		qoi_build_fold(build, qoi_part_piece(slots, i, own.bytes),
			       result);
	}
}

/* Rank 0's vector first, then those of rank 1, 2 ... */
static void flat_rank_order(struct qoi_build *build)
{
	const struct qoi_coll *coll = build->coll;
	const struct qoi_part own = qoi_coll_outgoing(coll, coll->rank);
	const struct qoi_part result = qoi_coll_incoming(coll, coll->rank);
	const bool in_place = coll->in_place != 0;
	struct qoi_part slots = qoi_build_scratch(build, coll->count, own.bytes);

	flat_put(build);
	/* In place, the own vector must make room for rank 0's. */
	if (coll->rank == 0 && !in_place)
		qoi_build_copy(build, own, result);
	else if (coll->rank != 0 && in_place)
		qoi_build_copy(build, own,
			       qoi_part_piece(slots, coll->rank, own.bytes));
	for (uint32_t i = 0; i < coll->count; i++) {
		bool lands = i == 0 && !in_place;

		if (i != coll->rank)
			qoi_build_get(build, i,
				      lands ? result
					    : qoi_part_piece(slots, i,
							     own.bytes));
	}
	qoi_build_next_stage(build);
	if (coll->rank != 0 && in_place)
		qoi_build_copy(build, qoi_part_piece(slots, 0, own.bytes),
			       result);
	for (uint32_t i = 1; i < coll->count; i++) {
		bool from_user = i == coll->rank && !in_place;

		qoi_build_next_stage(build);
		qoi_build_fold(build,
			       from_user ? own
					 : qoi_part_piece(slots, i, own.bytes),
			       result);
	}
}

/* Every vector to everyone, who combines them alone. */
void qoi_allreduce_flat(struct qoi_build *build)
{
	const struct qoi_coll *coll = build->coll;

	if (coll->count == 2 || qoi_reduce_is_exact(coll->type, coll->reduce))
		flat_any_order(build);
	else
		flat_rank_order(build);
}

/* What doubling has so far: in the send buffer at first, if not in place. */
struct doubling {
	struct qoi_part sum;
	struct qoi_part result;
	struct qoi_part spare; /* for what arrives */
};

/* The partner's partial result is combined with ours, and ours sent. */
static void doubling_meet(struct qoi_build *build, struct doubling *doubling,
			  uint32_t partner, bool both_ways)
{
	struct qoi_part arrived = doubling->sum.buffer == QOI_BUFFER_SEND
					  ? doubling->result
					  : doubling->spare;

	if (both_ways)
		qoi_build_put(build, partner, doubling->sum);
	qoi_build_get(build, partner, arrived);
	qoi_build_next_stage(build);
	/* Into the result, whichever of the two is there. */
	if (doubling->sum.buffer == QOI_BUFFER_SEND)
		qoi_build_fold(build, doubling->sum, doubling->result);
	else
		qoi_build_fold(build, arrived, doubling->result);
	qoi_build_next_stage(build);
	doubling->sum = doubling->result;
}

/*
 * Recursive doubling among a power of two of ranks.  Of the first 2 * extra
 * ranks, the even ones give their vector to the next and get the result back.
 */
void qoi_allreduce_doubling(struct qoi_build *build)
{
	const struct qoi_coll *coll = build->coll;
	struct doubling doubling = {
		.sum = qoi_coll_outgoing(coll, coll->rank),
		.result = qoi_coll_incoming(coll, coll->rank),
	};
	const bool single = coll->rank % 2 == 0;
	uint32_t inner = 1, extra, index;

	while (inner <= coll->count / 2)
		inner *= 2;
	extra = coll->count - inner;
	if (coll->rank < 2 * extra && single) {
		qoi_build_put(build, coll->rank + 1, doubling.sum);
		qoi_build_next_stage(build);
		qoi_build_get(build, coll->rank + 1, doubling.result);
		return;
	}
	doubling.spare = qoi_build_scratch(build, 1, doubling.sum.bytes);
	if (coll->rank < 2 * extra)
		doubling_meet(build, &doubling, coll->rank - 1, false);
	index = coll->rank < 2 * extra ? coll->rank / 2 : coll->rank - extra;
	for (uint32_t bit = 1; bit < inner; bit *= 2) {
		uint32_t other = index ^ bit;

		doubling_meet(build, &doubling,
			      other < extra ? 2 * other + 1 : other + extra,
			      true);
	}
	if (coll->rank < 2 * extra)
		qoi_build_put(build, coll->rank - 1, doubling.result);
}

/* Block index of the vector cut into one block of whole elements per rank. */
static struct qoi_part ring_block(const struct qoi_coll *coll,
				  struct qoi_part vector, uint32_t index)
{
	const uint64_t unit = qoi_type_bytes(coll->type);
	const uint64_t each = coll->elements / coll->count;
	const uint64_t longer = coll->elements % coll->count;
	uint64_t first = index * each + (index < longer ? index : longer);

	return qoi_part_slice(vector, first * unit,
			      (each + (index < longer ? 1 : 0)) * unit);
}

/*
 * Each block goes around once and is combined on its way, then goes around
 * once more, complete.  A rank's own part of a block is copied to the result
 * while the block before it is waited for.
 */
void qoi_allreduce_ring(struct qoi_build *build)
{
	const struct qoi_coll *coll = build->coll;
	const struct qoi_part own = qoi_coll_outgoing(coll, coll->rank);
	const struct qoi_part result = qoi_coll_incoming(coll, coll->rank);
	const uint32_t next = qoi_coll_rank_after(coll, 1);
	const uint32_t previous = qoi_coll_rank_before(coll, 1);
	struct qoi_part passed = ring_block(coll, own, coll->rank);

	if (coll->in_place == 0)
		qoi_build_copy(build, ring_block(coll, own, previous),
			       ring_block(coll, result, previous));
	for (uint32_t d = 1; d < coll->count; d++) {
		uint32_t index = qoi_coll_rank_before(coll, d);
		uint32_t later = qoi_coll_rank_before(coll, d + 1);
		struct qoi_part got = ring_block(coll, result, index);

		qoi_build_next_stage(build);
		qoi_build_put(build, next, passed);
		qoi_build_reduce(build, previous, got);
		if (coll->in_place == 0 && d + 1 < coll->count)
			qoi_build_copy(build, ring_block(coll, own, later),
				       ring_block(coll, result, later));
		passed = got;
	}
	for (uint32_t d = 0; d + 1 < coll->count; d++) {
		struct qoi_part got =
			ring_block(coll, result, qoi_coll_rank_before(coll, d));

		qoi_build_next_stage(build);
		qoi_build_put(build, next, passed);
		qoi_build_get(build, previous, got);
		passed = got;
	}
}
