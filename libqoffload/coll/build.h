/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside coll/: how an algorithm writes its schedule down. */
#ifndef QOI_COLL_BUILD_H
#define QOI_COLL_BUILD_H

#include <stdbool.h>

#include "libqoffload/coll/schedule.h"

/* A piece of one of the three buffers. */
struct qoi_part {
	uint8_t buffer;	 /* enum qoi_buffer */
	uint64_t offset; /* bytes */
	uint64_t bytes;
};

/*
 * A schedule being written.  The first failure is kept and later steps are
 * dropped, so that an algorithm needs no error paths of its own.
 */
struct qoi_build {
	const struct qoi_coll *coll;
	struct qoi_schedule *schedule;
	uint32_t capacity; /* steps that fit */
	uint32_t stage;	   /* of the next step */
	int error;	   /* 0, -ENOMEM or -EOVERFLOW */
};

/* Steps of the current stage.  A part of zero bytes gives no step. */
void qoi_build_put(struct qoi_build *build, uint32_t peer, struct qoi_part from);
void qoi_build_get(struct qoi_build *build, uint32_t peer, struct qoi_part to);
void qoi_build_reduce(struct qoi_build *build, uint32_t peer,
		      struct qoi_part to);
void qoi_build_copy(struct qoi_build *build, struct qoi_part from,
		    struct qoi_part to);
void qoi_build_fold(struct qoi_build *build, struct qoi_part from,
		    struct qoi_part to);
/* Messages without bytes: a barrier's. */
void qoi_build_notify(struct qoi_build *build, uint32_t peer);
void qoi_build_await(struct qoi_build *build, uint32_t peer);

/* Later steps wait for those so far.  Never leaves an empty stage behind. */
void qoi_build_next_stage(struct qoi_build *build);

/* Takes count pieces of bytes each from the scratch buffer, as one part. */
struct qoi_part qoi_build_scratch(struct qoi_build *build, uint64_t count,
				  uint64_t bytes);

/* Piece number index of a part that holds equal pieces of bytes each. */
struct qoi_part qoi_part_piece(struct qoi_part part, uint64_t index,
			       uint64_t bytes);
/* The bytes of a part from offset on. */
struct qoi_part qoi_part_slice(struct qoi_part part, uint64_t offset,
			       uint64_t bytes);

/*
 * Checks the arguments and computes the extents of the user's buffers.  After
 * it no product of a count, a displacement and a size exceeds 64 bits.
 */
int qoi_coll_check(const struct qoi_coll *coll,
		   uint64_t buffer_bytes_out[QOI_BUFFER_COUNT]);
/* Where the data for peer are at the start. */
struct qoi_part qoi_coll_outgoing(const struct qoi_coll *coll, uint32_t peer);
/* Where the data of peer, or the result, belong in the end. */
struct qoi_part qoi_coll_incoming(const struct qoi_coll *coll, uint32_t peer);

/* The rank `distance` (at most count) after, or before, this one, on a ring. */
uint32_t qoi_coll_rank_after(const struct qoi_coll *coll, uint32_t distance);
uint32_t qoi_coll_rank_before(const struct qoi_coll *coll, uint32_t distance);
bool qoi_coll_is_power_of_two(uint32_t count);

/* Whether type and reduction are known, and go together. */
bool qoi_reduce_fits(int32_t type, int32_t reduce);
/* Whether the result is the same to the bit in whatever order of ranks. */
bool qoi_reduce_is_exact(int32_t type, int32_t reduce);

/*
 * The name of the algorithm that will be used, from what a user asked for;
 * NULL, told, if the kind has none of that name.
 */
const char *qoi_coll_choose(const struct qoi_coll *coll, const char *algorithm,
			    const struct qoi_coll_limits *limits);
/* Writes the schedule; algorithm as chosen. */
void qoi_coll_build(struct qoi_build *build, const char *algorithm);

/*
 * The algorithms.  Each is called with at least two ranks, and is free of
 * deadlock even where a PUT is complete only once its arrival was taken.
 * Ranks with and without QO_IN_PLACE may meet: the messages are the same.
 */
void qoi_alltoall_flat(struct qoi_build *build);
void qoi_alltoall_pairwise(struct qoi_build *build);
void qoi_alltoall_bruck(struct qoi_build *build);
void qoi_allgather_flat(struct qoi_build *build);
void qoi_allgather_ring(struct qoi_build *build);
void qoi_allgather_doubling(struct qoi_build *build);
void qoi_allreduce_flat(struct qoi_build *build);
void qoi_allreduce_doubling(struct qoi_build *build);
void qoi_allreduce_ring(struct qoi_build *build);
void qoi_bcast_flat(struct qoi_build *build);
void qoi_bcast_binomial(struct qoi_build *build);
void qoi_bcast_chain(struct qoi_build *build);
void qoi_barrier_flat(struct qoi_build *build);
void qoi_barrier_dissemination(struct qoi_build *build);

#endif
