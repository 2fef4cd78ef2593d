/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * alltoall of small blocks between many ranks (Bruck et al. 1997): block i of
 * `ring` is for the rank i places on; in round k all blocks with bit k in
 * their distance travel 2^k places together.
 */
#include "libqoffload/coll/build.h"

struct bruck {
	uint64_t bytes;	      /* of a block */
	struct qoi_part ring; /* count blocks */
	struct qoi_part out;  /* up to count / 2 blocks, packed */
	struct qoi_part in;
};

/* The user's blocks, turned so that the own one comes first. */
static void bruck_turn(struct qoi_build *build, const struct bruck *bruck)
{
	const struct qoi_coll *coll = build->coll;
	const uint64_t head = coll->rank * bruck->bytes;
	const uint64_t tail = bruck->ring.bytes - head;
	struct qoi_part send = qoi_coll_outgoing(coll, 0);

	qoi_build_copy(build, qoi_part_slice(send, head, tail),
		       qoi_part_slice(bruck->ring, 0, tail));
	qoi_build_copy(build, qoi_part_slice(send, 0, head),
		       qoi_part_slice(bruck->ring, tail, head));
	qoi_build_next_stage(build);
}

/*
 * Moves the blocks that have the bit set between the ring and a packed part,
 * in runs; returns the packed bytes.
 */
static uint64_t bruck_move(struct qoi_build *build, const struct bruck *bruck,
			   uint32_t bit, bool pack)
{
	const uint64_t count = build->coll->count;
	uint64_t packed = 0;

	for (uint64_t first = bit; first < count; first += 2 * (uint64_t)bit) {
		uint64_t run = count - first < bit ? count - first : bit;
		uint64_t bytes = run * bruck->bytes;
		struct qoi_part ring =
			qoi_part_slice(bruck->ring, first * bruck->bytes, bytes);

		if (pack)
			qoi_build_copy(build, ring,
				       qoi_part_slice(bruck->out, packed, bytes));
		else
			qoi_build_copy(build,
				       qoi_part_slice(bruck->in, packed, bytes),
				       ring);
		packed += bytes;
	}
	qoi_build_next_stage(build);
	return packed;
}

static void bruck_round(struct qoi_build *build, const struct bruck *bruck,
			uint32_t bit)
{
	uint64_t packed = bruck_move(build, bruck, bit, true);

	qoi_build_put(build, qoi_coll_rank_after(build->coll, bit),
		      qoi_part_slice(bruck->out, 0, packed));
	qoi_build_get(build, qoi_coll_rank_before(build->coll, bit),
		      qoi_part_slice(bruck->in, 0, packed));
	qoi_build_next_stage(build);
	(void)bruck_move(build, bruck, bit, false);
}

void qoi_alltoall_bruck(struct qoi_build *build)
{
	const struct qoi_coll *coll = build->coll;
	struct bruck bruck;

	bruck.bytes = qoi_coll_incoming(coll, 0).bytes;
	bruck.ring = qoi_build_scratch(build, coll->count, bruck.bytes);
	bruck.out = qoi_build_scratch(build, coll->count / 2, bruck.bytes);
	bruck.in = qoi_build_scratch(build, coll->count / 2, bruck.bytes);
	if (build->error != 0)
		return;
	bruck_turn(build, &bruck);
	for (uint64_t bit = 1; bit < coll->count; bit *= 2)
		bruck_round(build, &bruck, (uint32_t)bit);
	/* What has travelled i places comes from the rank i places back. */
	for (uint32_t i = 0; i < coll->count; i++)
		qoi_build_copy(
			build, qoi_part_piece(bruck.ring, i, bruck.bytes),
			qoi_coll_incoming(coll, qoi_coll_rank_before(coll, i)));
}
