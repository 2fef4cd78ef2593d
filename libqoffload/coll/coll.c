/* SPDX-License-Identifier: BSD-3-Clause */
/* The request for an operation: what is valid, and which bytes it means. */
#include <errno.h>

#include "libqoffload/base/error.h"
#include "libqoffload/coll/build.h"

static bool coll_is_v(const struct qoi_coll *coll)
{
	return coll->kind == QOI_ALLTOALLV || coll->kind == QOI_ALLGATHERV;
}

/* Are the buffers, or is the receive buffer, one equal block per rank? */
static bool coll_has_blocks(const struct qoi_coll *coll)
{
	return coll->kind == QOI_ALLTOALL || coll->kind == QOI_ALLGATHER;
}

static int coll_check_ranks(const struct qoi_coll *coll)
{
	if (coll->kind >= QOI_COLL_KIND_COUNT)
		return qoi_fail(-EINVAL, "unknown kind of operation %u",
				coll->kind);
	if (coll->count == 0 || coll->rank >= coll->count)
		return qoi_fail(-EINVAL, "%s: rank %u of %u ranks",
				qoi_coll_kind_name(coll->kind), coll->rank,
				coll->count);
	if (coll->kind == QOI_BCAST && coll->root >= coll->count)
		return qoi_fail(-EINVAL, "bcast: root %u of %u ranks",
				coll->root, coll->count);
	return 0;
}

static int coll_check_types(const struct qoi_coll *coll)
{
	if (coll->kind == QOI_BARRIER)
		return 0;
	if (coll->kind == QOI_ALLREDUCE)
		return qoi_reduce_check(coll->type, coll->reduce);
	if (qoi_type_bytes(coll->type) == 0)
		return qoi_fail(-EINVAL, "%s: unknown type %d",
				qoi_coll_kind_name(coll->kind), coll->type);
	return 0;
}

static int coll_check_arrays(const struct qoi_coll *coll)
{
	const char *kind = qoi_coll_kind_name(coll->kind);

	if (!coll_is_v(coll))
		return 0;
	if (coll->recv_counts == NULL || coll->recv_displacements == NULL)
		return qoi_fail(-EINVAL, "%s: no receive counts", kind);
	if (coll->in_place != 0)
		return 0;
	if (coll->kind == QOI_ALLGATHERV) {
		if (coll->elements == coll->recv_counts[coll->rank])
			return 0;
		return qoi_fail(-EINVAL,
				"allgatherv: rank %u sends %ju elements and "
				"expects %ju of itself",
				coll->rank, (uintmax_t)coll->elements,
				(uintmax_t)coll->recv_counts[coll->rank]);
	}
	if (coll->send_counts == NULL || coll->send_displacements == NULL)
		return qoi_fail(-EINVAL, "%s: no send counts", kind);
	if (coll->send_counts[coll->rank] != coll->recv_counts[coll->rank])
		return qoi_fail(-EINVAL,
				"alltoallv: rank %u sends %ju elements to "
				"itself and expects %ju",
				coll->rank,
				(uintmax_t)coll->send_counts[coll->rank],
				(uintmax_t)coll->recv_counts[coll->rank]);
	return 0;
}

/* From the base to the end of the last block.  Empty blocks are nowhere. */
static int coll_extent(const struct qoi_coll *coll, const uint64_t *counts,
		       const uint64_t *displacements, uint64_t *bytes_out)
{
	const uint64_t unit = qoi_type_bytes(coll->type);
	uint64_t extent = 0;

	for (uint32_t i = 0; i < coll->count; i++) {
		uint64_t end;

		if (counts[i] == 0)
			continue;
		if (__builtin_add_overflow(displacements[i], counts[i], &end) ||
		    __builtin_mul_overflow(end, unit, &end))
			return qoi_fail(-EOVERFLOW,
					"%s: block %u of %ju elements at %ju "
					"ends beyond 64 bits",
					qoi_coll_kind_name(coll->kind), i,
					(uintmax_t)counts[i],
					(uintmax_t)displacements[i]);
		if (end > extent)
			extent = end;
	}
	*bytes_out = extent;
	return 0;
}

/* Bytes of the buffers where all blocks are alike; vectors have one block. */
static int coll_equal_extents(const struct qoi_coll *coll, uint64_t *send_out,
			      uint64_t *recv_out)
{
	const uint64_t blocks = coll_has_blocks(coll) ? coll->count : 1;
	uint64_t block, all;

	if (__builtin_mul_overflow(coll->elements,
				   (uint64_t)qoi_type_bytes(coll->type), &block) ||
	    __builtin_mul_overflow(block, blocks, &all))
		return qoi_fail(-EOVERFLOW,
				"%s: %ju elements of %s exceed 64 bits",
				qoi_coll_kind_name(coll->kind),
				(uintmax_t)coll->elements,
				qoi_type_name(coll->type));
	*send_out = coll->kind == QOI_ALLTOALL ? all : block;
	*recv_out = all;
	return 0;
}

static int coll_extents(const struct qoi_coll *coll, uint64_t *send_out,
			uint64_t *recv_out)
{
	int error;

	if (coll->kind == QOI_BARRIER)
		return 0;
	if (!coll_is_v(coll))
		return coll_equal_extents(coll, send_out, recv_out);
	error = coll_extent(coll, coll->recv_counts, coll->recv_displacements,
			    recv_out);
	if (error != 0 || coll->in_place != 0)
		return error;
	if (coll->kind == QOI_ALLTOALLV)
		return coll_extent(coll, coll->send_counts,
				   coll->send_displacements, send_out);
	/* No overflow: the same count has just passed with a displacement. */
	*send_out = coll->elements * qoi_type_bytes(coll->type);
	return 0;
}

int qoi_coll_check(const struct qoi_coll *coll,
		   uint64_t buffer_bytes_out[QOI_BUFFER_COUNT])
{
	uint64_t send = 0, recv = 0;
	int error = coll_check_ranks(coll);

	if (error == 0)
		error = coll_check_types(coll);
	if (error == 0)
		error = coll_check_arrays(coll);
	if (error == 0)
		error = coll_extents(coll, &send, &recv);
	if (error != 0)
		return error;
	if (coll->in_place != 0 || coll->kind == QOI_BCAST)
		send = 0;
	buffer_bytes_out[QOI_BUFFER_SEND] = send;
	buffer_bytes_out[QOI_BUFFER_RECV] = recv;
	buffer_bytes_out[QOI_BUFFER_SCRATCH] = 0;
	return 0;
}

static struct qoi_part coll_part(const struct qoi_coll *coll, uint8_t buffer,
				 uint64_t displacement, uint64_t elements)
{
	const uint64_t unit = qoi_type_bytes(coll->type);

	return (struct qoi_part){ buffer, displacement * unit, elements * unit };
}

struct qoi_part qoi_coll_outgoing(const struct qoi_coll *coll, uint32_t peer)
{
	switch (coll->kind) {
	case QOI_ALLGATHER:
	case QOI_ALLGATHERV:
		if (coll->in_place != 0)
			return qoi_coll_incoming(coll, coll->rank);
		break;
	case QOI_ALLTOALLV:
		if (coll->in_place != 0)
			return qoi_coll_incoming(coll, peer);
		return coll_part(coll, QOI_BUFFER_SEND,
				 coll->send_displacements[peer],
				 coll->send_counts[peer]);
	case QOI_ALLTOALL:
		if (coll->in_place != 0)
			return qoi_coll_incoming(coll, peer);
		return coll_part(coll, QOI_BUFFER_SEND, peer * coll->elements,
				 coll->elements);
	default:
		if (coll->in_place != 0 || coll->kind == QOI_BCAST)
			return qoi_coll_incoming(coll, peer);
	}
	return coll_part(coll, QOI_BUFFER_SEND, 0, coll->elements);
}

struct qoi_part qoi_coll_incoming(const struct qoi_coll *coll, uint32_t peer)
{
	if (coll_is_v(coll))
		return coll_part(coll, QOI_BUFFER_RECV,
				 coll->recv_displacements[peer],
				 coll->recv_counts[peer]);
	if (coll_has_blocks(coll))
		return coll_part(coll, QOI_BUFFER_RECV, peer * coll->elements,
				 coll->elements);
	return coll_part(coll, QOI_BUFFER_RECV, 0, coll->elements);
}

uint32_t qoi_coll_rank_after(const struct qoi_coll *coll, uint32_t distance)
{
	/* In 64 bits: the sum may pass 32. */
	return (uint32_t)(((uint64_t)coll->rank + distance) % coll->count);
}

uint32_t qoi_coll_rank_before(const struct qoi_coll *coll, uint32_t distance)
{
	return qoi_coll_rank_after(coll, coll->count - distance);
}

bool qoi_coll_is_power_of_two(uint32_t count)
{
	return (count & (count - 1)) == 0;
}
