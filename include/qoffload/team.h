/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef QOFFLOAD_TEAM_H
#define QOFFLOAD_TEAM_H

#include <qoffload/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * How the ranks of a new team find each other: an allgather by any means the
 * application has.  The library calls allgather() once, then test() until it
 * is done, then free(), all in qo_team_create() and in its calling thread.
 */
struct qo_oob {
	size_t size;	/* sizeof(struct qo_oob) */
	uint32_t rank;	/* of the caller, 0 .. count - 1 */
	uint32_t count; /* ranks in the team */
	void *arg;	/* handed to the three callbacks */
	/*
	 * Starts to gather `bytes` bytes of each rank, in rank order, into
	 * recv (count * bytes).  Both stay valid until test() says done.
	 * Returns 0 or a negative errno.
	 */
	int (*allgather)(const void *send, void *recv, size_t bytes, void *arg,
			 void **request_out);
	/* Returns 0 done, -EAGAIN under way, or another negative errno. */
	int (*test)(void *request, void *arg);
	/* Frees the request of a finished allgather; may be NULL. */
	int (*free)(void *request, void *arg);
};

/* What a team is; set size before the call. */
struct qo_team_info {
	size_t size;	/* sizeof(struct qo_team_info), set by the caller */
	uint32_t rank;	/* of this process in the team */
	uint32_t count; /* ranks in the team */
	uint64_t id;	/* equal on all ranks, unlike any other team's */
	uint32_t ranks_here;	 /* ranks on this node */
	uint32_t oversubscribed; /* 1: more ranks here than cores for them */
};
#define QO_TEAM_INFO_INIT                                                      \
	{                                                                      \
		sizeof(struct qo_team_info), 0, 0, 0, 0, 0                     \
	}

/*
 * Makes a team of the ranks that take part in the out-of-band allgather.
 * Collective: every rank calls it.
 * Returns: 0; -EINVAL; -ENETUNREACH no provider reaches a rank (named in
 *   qo_error_detail()); -EPROTONOSUPPORT a rank's library differs in layout;
 *   -ETIMEDOUT a rank did not answer in QO_CONNECT_TIMEOUT; -ECONNRESET;
 *   -ENOMEM; -ENOSPC; or what the callbacks return.
 * Blocks: until all ranks are connected.  Threads: one at a time per oob.
 * Owns: the caller destroys it.  oob and its callbacks may go on return.
 * Since: 0.1.  Source: MPI-4.0 section 7.4.
 */
int qo_team_create(qo_context_t context, const struct qo_oob *oob,
		   qo_team_t *team_out);

/*
 * Divides a team by color; within a color, ranks are ordered by key, then by
 * their rank in the old team.  Collective over the old team.
 * color: ranks of equal color form a team; negative: none, *team_out = NULL.
 * Returns, Blocks, Owns: as qo_team_create().
 * Threads: calls on one team are serialised by the caller.
 * Since: 0.1.  Source: MPI-4.0 section 7.4.2, MPI_Comm_split.
 */
int qo_team_split(qo_team_t team, int color, int key, qo_team_t *team_out);

/*
 * Frees a team.  Local; its operations and meshes must be destroyed before.
 * Returns: 0; -EBUSY operations or meshes of it remain.
 * Blocks: no.  Threads: none may use the team.
 * Since: 0.1
 */
int qo_team_destroy(qo_team_t team);

/*
 * Tells rank, size and identity of a team.
 * Returns: 0; -EINVAL.
 * Blocks: no.  Threads: any.
 * Since: 0.1
 */
int qo_team_query(qo_team_t team, struct qo_team_info *info_out);

#ifdef __cplusplus
}
#endif
#endif
