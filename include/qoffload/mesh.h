/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef QOFFLOAD_MESH_H
#define QOFFLOAD_MESH_H

#include <qoffload/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A directed edge: a ring of slots in the memory of its destination. */
struct qo_edge {
	uint32_t source;      /* team rank that posts seams */
	uint32_t destination; /* team rank that they arrive at; may be source */
	uint32_t tag;	      /* tells apart two edges of one ordered pair */
	uint32_t slot_bytes;  /* longest seam, bytes; may be 0 */
	uint32_t depth; /* rounds under way at once; a power of two, <= 64 */
	uint32_t flags; /* 0 */
};

/* The largest slot and the largest depth of an edge. */
#define QO_EDGE_SLOT_BYTES_MAX (UINT32_C(1) << 30)
#define QO_EDGE_DEPTH_MAX 64

/* What crosses an edge in a round. */
struct qo_seam {
	uint32_t edge;	  /* index into the edges given to qo_mesh_create() */
	uint32_t bytes;	  /* <= slot_bytes of that edge */
	const void *data; /* may be NULL when bytes is 0 */
};

/* A seam that has arrived, in place. */
struct qo_view {
	uint32_t edge;	  /* index into the edges given to qo_mesh_create() */
	uint32_t bytes;	  /* length */
	uint64_t round;	  /* as posted */
	const void *data; /* aligned to 16; valid until qo_mesh_release() */
};

/* For qo_mesh_arrived(): whichever edge comes next. */
#define QO_ANY_EDGE UINT32_MAX

/*
 * Makes a mesh.  Collective over the team.
 * edges: `count` edges.  Each rank gives at least all edges that it is an end
 *   of; edges between others are passed over.  Both ends must give the same
 *   slot_bytes and depth.  A rank without edges takes part with count 0.
 * Returns: 0; -EINVAL a bad edge; -EPROTO the ends of an edge disagree, on
 *   every rank, named in qo_error_detail(); -ETIMEDOUT; -ECONNRESET; -ENOMEM;
 *   -ENOSPC; -EAGAIN no request slots (one per round under way).
 * Blocks: until every rank has called it.
 * Threads: calls on one team are serialised by the caller.
 * Owns: edges are copied; the caller destroys the mesh.
 * Since: 0.1.  Source: MPI-4.0 section 8.7 (neighborhood collectives).
 */
int qo_mesh_create(qo_team_t team, const struct qo_edge *edges, size_t count,
		   qo_mesh_t *mesh_out);

/*
 * Posts a round: sends one seam over each outgoing edge and starts a request
 * that is done when the seam of this round has arrived on each incoming edge.
 * round: 0, then one more each time.
 * seams: `count` of them, at most one per outgoing edge; an edge that is not
 *   listed carries a seam of 0 bytes, so both ends stay in step.
 * deadline_ns: CLOCK_MONOTONIC or QO_NO_DEADLINE; a request that completes
 *   later has QO_STATUS_LATE set, and is counted; nothing is cancelled.  It
 *   completes when a test or a wait first sees all its seams.
 * Returns: 0; -EAGAIN nothing was taken: an edge has no credit, or the round
 *   `depth` before has not been released; -EINVAL wrong round, edge or null
 *   data; -EMSGSIZE a seam is longer than its slot; -ECONNRESET.
 * Blocks: no.  Allocates nothing.
 * Threads: calls on one mesh are serialised by the caller.
 * Owns: the data is copied before the return, straight into the consumer's
 *   slot where its memory can be reached.
 * Since: 0.1
 */
int qo_mesh_post(qo_mesh_t mesh, uint64_t round, const struct qo_seam *seams,
		 size_t count, int64_t deadline_ns, qo_request_t *request_out);

/*
 * Gives a seam that has arrived, in place; each seam of a round once for
 * QO_ANY_EDGE, as often as wanted when the edge is named.
 * edge: index of an incoming edge, or QO_ANY_EDGE.
 * Returns: 0; -EAGAIN not yet; -ENOENT (any) all were given; -EINVAL not an
 *   incoming edge; -EBADF; -EBADMSG the slot's length is impossible;
 *   -ECONNRESET the edge's source is lost and the seam will not come.
 * Blocks: no.  Threads: one at a time per request.
 * Owns: the view is valid until qo_mesh_release().
 * Since: 0.1
 */
int qo_mesh_arrived(qo_request_t request, uint32_t edge,
		    struct qo_view *view_out);

/*
 * Gives the slots of a complete round back: its views end, its request is
 * stale, and the credits return to the sources.
 * Returns: 0; -EBUSY not all seams have arrived; -EBADF.
 * Blocks: no.  Threads: calls on one mesh are serialised by the caller.
 * Since: 0.1
 */
int qo_mesh_release(qo_request_t request);

/*
 * Frees a mesh.  Local: seams that were posted still arrive at their ends.
 * Returns: 0; -EBUSY seams posted here are still on their way.
 * Blocks: no.  Threads: none may use the mesh.
 * Since: 0.1
 */
int qo_mesh_destroy(qo_mesh_t mesh);

#ifdef __cplusplus
}
#endif
#endif
