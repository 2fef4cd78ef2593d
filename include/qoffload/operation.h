/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef QOFFLOAD_OPERATION_H
#define QOFFLOAD_OPERATION_H

#include <qoffload/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Operations are persistent: an init call prepares one, qo_post() starts it,
 * as often as wanted.  For every init call:
 *
 * Collective: each rank of the team calls the same inits in the same order,
 *   with arguments that fit; which buffers, is each rank's own affair.
 * Returns: 0; -EINVAL a bad argument or, on every rank, an unsupported pair
 *   of type and reduction; -EPROTO ranks disagree (qo_error_detail() names
 *   both sides), on every rank; -EOVERFLOW; -ETIMEDOUT a rank did not come;
 *   -ECONNRESET; -ENOMEM; -ENOSPC; -EAGAIN no request slot (QO_REQUEST_COUNT).
 * Blocks: until every rank has called it; a post then negotiates nothing.
 * Threads: calls on one team are serialised by the caller.
 * Owns: the caller destroys the operation with qo_op_destroy().  Counts and
 *   displacements are copied.  Buffers stay the caller's and must stay valid
 *   until then; between post and completion the receive buffer is the
 *   library's and the send buffer may only be read.
 * Since: 0.1.  Source: MPI-4.0 section 6.13 (persistent collectives).
 *
 * Sizes are 64-bit counts of elements of `type` (QO_INT8 .. QO_DOUBLE).
 * Zero counts are allowed, and buffers may be NULL then.  QO_IN_PLACE as
 * the send buffer takes the input from the receive buffer, as in MPI.
 */

/* Blocks of unequal length: block i is counts[i] elements at displacements[i]. */
struct qo_blocks {
	void *address;		       /* base of the buffer, or QO_IN_PLACE */
	const uint64_t *counts;	       /* elements, one per rank */
	const uint64_t *displacements; /* elements from the base, one per rank */
};

/*
 * Sends block i of send to rank i, and receives block i from rank i.
 * send, recv: one block of `count` elements per rank, in rank order.
 */
int qo_alltoall_init(qo_team_t team, const void *send, void *recv,
		     uint64_t count, int32_t type, qo_op_t *op_out);

/*
 * As qo_alltoall_init() with a length for each pair: what rank i sends to j
 * must be as long as what j receives from i.  In place: send->address is
 * QO_IN_PLACE, counts and displacements of send are not read.
 */
int qo_alltoallv_init(qo_team_t team, const struct qo_blocks *send,
		      const struct qo_blocks *recv, int32_t type,
		      qo_op_t *op_out);

/*
 * Gathers the blocks of all ranks on all ranks.
 * send: `count` elements.  recv: one such block per rank, in rank order.
 */
int qo_allgather_init(qo_team_t team, const void *send, void *recv,
		      uint64_t count, int32_t type, qo_op_t *op_out);

/*
 * As qo_allgather_init() with a length for each rank.
 * send_count: elements, equal to recv->counts[own rank]; ignored in place.
 */
int qo_allgatherv_init(qo_team_t team, const void *send, uint64_t send_count,
		       const struct qo_blocks *recv, int32_t type,
		       qo_op_t *op_out);

/*
 * Combines the vectors of all ranks, element by element; all get the result,
 * which is the same to the bit on every rank.
 * send, recv: `count` elements.  reduce: QO_SUM, QO_MIN, QO_MAX; on integers
 * also QO_AND, QO_OR, QO_XOR.
 */
int qo_allreduce_init(qo_team_t team, const void *send, void *recv,
		      uint64_t count, int32_t type, int32_t reduce,
		      qo_op_t *op_out);

/* Sends `count` elements at buffer of rank `root` to buffer of all others. */
int qo_bcast_init(qo_team_t team, void *buffer, uint64_t count, int32_t type,
		  uint32_t root, qo_op_t *op_out);

/* Completes on no rank before it was posted on every rank. */
int qo_barrier_init(qo_team_t team, qo_op_t *op_out);

/*
 * Frees an operation.  Local.
 * Returns: 0; -EBUSY its last request is not complete.
 * Blocks: no; of a daemon's operation until it answers, at most
 *   QO_AGENT_TIMEOUT.
 * Threads: none may use it; its requests become -EBADF.
 * Since: 0.1
 */
int qo_op_destroy(qo_op_t op);

/*
 * Describes an operation: algorithm and schedule, one line per step.
 * text: up to text_bytes bytes, always ended by a NUL when text_bytes > 0.
 * Returns: 0; -EMSGSIZE it was cut.
 * Blocks: no.  Threads: any.
 * Since: 0.1
 */
int qo_op_describe(qo_op_t op, char *text, size_t text_bytes);

#ifdef __cplusplus
}
#endif
#endif
