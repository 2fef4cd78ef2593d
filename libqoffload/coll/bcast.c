/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks are counted from the root here: "place" 0 is the root. */
#include "libqoffload/coll/build.h"

/* A chain's pieces: large enough to be worth a message, and not too many. */
#define CHAIN_PIECE_BYTES (64u * 1024)
#define CHAIN_PIECES_MAX 64u

static uint32_t bcast_place(const struct qoi_coll *coll)
{
	return qoi_coll_rank_after(coll, coll->count - coll->root);
}

static uint32_t bcast_rank(const struct qoi_coll *coll, uint32_t place)
{
	return (uint32_t)(((uint64_t)coll->root + place) % coll->count);
}

void qoi_bcast_flat(struct qoi_build *build)
{
	const struct qoi_coll *coll = build->coll;
	const struct qoi_part data = qoi_coll_incoming(coll, coll->rank);

	if (coll->rank != coll->root) {
		qoi_build_get(build, coll->root, data);
		return;
	}
	for (uint32_t place = 1; place < coll->count; place++)
		qoi_build_put(build, bcast_rank(coll, place), data);
}

/* A place hears from itself without its lowest bit; larger halves first. */
void qoi_bcast_binomial(struct qoi_build *build)
{
	const struct qoi_coll *coll = build->coll;
	const struct qoi_part data = qoi_coll_incoming(coll, coll->rank);
	const uint32_t place = bcast_place(coll);
	uint64_t bit = 1;

	while (bit < coll->count && (place & bit) == 0)
		bit *= 2;
	if (place != 0) {
		qoi_build_get(build, bcast_rank(coll, place - (uint32_t)bit),
			      data);
		qoi_build_next_stage(build);
	}
	for (bit /= 2; bit > 0; bit /= 2)
		if (place + bit < coll->count)
			qoi_build_put(build,
				      bcast_rank(coll, place + (uint32_t)bit),
				      data);
}

/* Piece by piece along a line: a rank passes one on while it gets the next. */
void qoi_bcast_chain(struct qoi_build *build)
{
	const struct qoi_coll *coll = build->coll;
	const struct qoi_part data = qoi_coll_incoming(coll, coll->rank);
	const uint32_t place = bcast_place(coll);
	const bool last = place == coll->count - 1;
	uint64_t piece = data.bytes / CHAIN_PIECES_MAX + 1;
	struct qoi_part got = { QOI_BUFFER_RECV, 0, 0 };

	if (piece < CHAIN_PIECE_BYTES)
		piece = CHAIN_PIECE_BYTES;
	for (uint64_t done = 0; done < data.bytes; done += got.bytes) {
		struct qoi_part passed = got;
		uint64_t left = data.bytes - done;

		got = qoi_part_slice(data, done, left < piece ? left : piece);
		if (place != 0)
			qoi_build_get(build, bcast_rank(coll, place - 1), got);
		else
			passed = got;
		if (!last)
			qoi_build_put(build, bcast_rank(coll, place + 1),
				      passed);
		qoi_build_next_stage(build);
	}
	if (place != 0 && !last)
		qoi_build_put(build, bcast_rank(coll, place + 1), got);
}
