/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef QOI_SCHEDULE_H
#define QOI_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>

/*
 * An operation as data: what one rank does.  Steps carry a stage; a step may
 * start when every step of every earlier stage is complete.  Steps of one
 * stage may be carried out in any order and at the same time.
 *
 * Messages of an ordered pair of ranks are matched in order: the k-th PUT of
 * i to j is the k-th GET or REDUCE of j from i, with the same bytes.  A stage
 * has at most one PUT to, and at most one GET or REDUCE from, the same peer.
 * There is no step with oneself as the peer: that is a COPY.
 *
 * No step reads or writes what another of its stage writes.  A compiled
 * schedule ends even where each PUT is complete only once its arrival was
 * taken: what is put and got in exchange is in one stage on both sides.
 */
enum qoi_step_kind {
	QOI_STEP_PUT,	 /* send bytes at (from, from_offset) to peer */
	QOI_STEP_GET,	 /* what peer put arrives at (to, to_offset) */
	QOI_STEP_REDUCE, /* what peer put is combined into (to, to_offset) */
	QOI_STEP_COPY,	 /* (from, from_offset) to (to, to_offset) */
	QOI_STEP_FOLD /* (from, from_offset) is combined into (to, to_offset) */
};

enum qoi_buffer {
	QOI_BUFFER_SEND,    /* the user's, read only */
	QOI_BUFFER_RECV,    /* the user's */
	QOI_BUFFER_SCRATCH, /* the operation's own, scratch_bytes */
	QOI_BUFFER_COUNT
};

struct qoi_step {
	uint8_t kind; /* enum qoi_step_kind */
	uint8_t from; /* enum qoi_buffer, of PUT, COPY, FOLD */
	uint8_t to;   /* enum qoi_buffer, of GET, REDUCE, COPY, FOLD */
	uint8_t reserved;
	uint32_t stage; /* not falling along the list */
	uint32_t peer;	/* team rank, of PUT, GET, REDUCE; else own rank */
	uint32_t reserved2;
	uint64_t from_offset; /* bytes */
	uint64_t to_offset;   /* bytes */
	uint64_t bytes;	      /* may be 0: then it only notifies */
};

struct qoi_schedule {
	uint32_t rank;
	uint32_t count; /* ranks */
	int32_t type;	/* QO_INT8 ..., element type of REDUCE and FOLD */
	int32_t reduce; /* QO_SUM ..., or 0 */
	uint32_t stage_count;
	uint32_t step_count;
	uint64_t scratch_bytes;
	uint64_t buffer_bytes[QOI_BUFFER_COUNT]; /* extent of each, for checks */
	const char *algorithm;			 /* static */
	struct qoi_step *steps;			 /* owner: the schedule */
};

/* What is to be done, for one rank.  Kinds of operation: */
enum qoi_coll_kind {
	QOI_ALLTOALL,
	QOI_ALLTOALLV,
	QOI_ALLGATHER,
	QOI_ALLGATHERV,
	QOI_ALLREDUCE,
	QOI_BCAST,
	QOI_BARRIER,
	QOI_COLL_KIND_COUNT
};

struct qoi_coll {
	uint32_t kind; /* enum qoi_coll_kind */
	uint32_t rank;
	uint32_t count; /* ranks */
	uint32_t root;	/* bcast: its buffer is QOI_BUFFER_RECV on all ranks */
	int32_t type;	/* QO_INT8 ... */
	int32_t reduce; /* QO_SUM ..., or 0 */
	uint32_t in_place;
	uint32_t reserved;
	/*
	 * Per block (alltoall, allgather) or in all; of allgatherv, when not
	 * in place, recv_counts[rank].
	 */
	uint64_t elements;
	/*
	 * v variants, in elements, one per rank; not owned, not kept.
	 * allgatherv and in place read those of recv only.
	 */
	const uint64_t *send_counts;
	const uint64_t *send_displacements;
	const uint64_t *recv_counts;
	const uint64_t *recv_displacements;
};

/* What the choice of an algorithm may look at. */
struct qoi_coll_limits {
	uint64_t flat_bytes; /* flat up to this many bytes per message ... */
	uint32_t flat_ranks; /* ... and up to this many ranks */
};

/*
 * Compiles.  algorithm: a name of the table for this kind, or NULL or "auto"
 * for a choice that is the same on every rank (it looks only at what all
 * ranks know: kind, count, type, and elements where they are equal by rule,
 * for allgatherv recv_counts).  limits: equal on all ranks; NULL for defaults.
 * An allgather by "doubling" is a "ring" unless count is a power of two.
 * Returns 0; -EINVAL unknown algorithm (qoi_fail() lists the names) or a bad
 * argument, such as an unsupported type and reduction; -EOVERFLOW; -ENOMEM.
 */
int qoi_schedule_compile(const struct qoi_coll *coll, const char *algorithm,
			 const struct qoi_coll_limits *limits,
			 struct qoi_schedule **schedule_out);
void qoi_schedule_destroy(struct qoi_schedule *schedule);

/*
 * Checks what an agent relies on: kinds, peers in the team and not oneself,
 * ranges inside the buffers (without overflow), stages in order and none
 * empty, at most one PUT and one arrival per peer and stage, element-aligned
 * reductions.
 * Returns 0, -EINVAL or -ENOMEM; what is wrong is told through qoi_fail().
 */
int qoi_schedule_validate(const struct qoi_schedule *schedule);

/*
 * What a rank copies to itself on which nothing else depends, so that any
 * thread may do it at any time: the copies from the send to the receive buffer
 * of a schedule of one stage that does nothing else within the rank.
 * Returns how many there are; bytes_out: in all, or NULL.
 */
uint32_t qoi_schedule_own_copies(const struct qoi_schedule *schedule,
				 uint64_t *bytes_out);

/*
 * A line of the whole, and one per step; as snprintf(): returns the bytes
 * needed, without NUL.
 */
size_t qoi_schedule_print(const struct qoi_schedule *schedule, char *text,
			  size_t text_bytes);

/* Sizes of types in bytes, 0 if unknown; names, NULL if unknown. */
uint32_t qoi_type_bytes(int32_t type);
const char *qoi_type_name(int32_t type);
const char *qoi_reduce_name(int32_t reduce);
const char *qoi_coll_kind_name(uint32_t kind);
/* Whether a type and reduction go together: 0 or -EINVAL, told. */
int qoi_reduce_check(int32_t type, int32_t reduce);

/*
 * to[i] = to[i] op from[i]; any alignment, no overlap; the pair has been
 * checked.  Commutes to the bit, NaN and -0 included: see reduce.c.
 */
void qoi_reduce_apply(int32_t type, int32_t reduce, void *to, const void *from,
		      uint64_t elements);

/* Names of the algorithms for a kind, NULL-terminated, "auto" not among them. */
const char *const *qoi_coll_algorithms(uint32_t kind);

#endif
