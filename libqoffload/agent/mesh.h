/* SPDX-License-Identifier: BSD-3-Clause */
/* A mesh as its movers see it: edges, and the rounds under way on them. */
#ifndef QOI_MESH_H
#define QOI_MESH_H

#include <qoffload/mesh.h>

#include "libqoffload/agent/agent.h"
#include "libqoffload/agent/object.h"

#define QOI_ROLE_IN 1u	/* ends here */
#define QOI_ROLE_OUT 2u /* starts here; both: to oneself */

struct qoi_edge {
	struct qo_conn *conn;	  /* NULL: to oneself.  Owner: the team */
	struct qo_remote *remote; /* owner: the mesh; NULL: to oneself */
	uint32_t peer;		  /* team rank at the other end */
	uint32_t roles;		  /* QOI_ROLE_*; 0: an edge between others */
	uint32_t tag;
	struct qoi_queue_shape shape;

	/* As the destination. */
	uint8_t *slots;		    /* in the own window */
	uint64_t *credit_out;	    /* the source's line, mapped; or NULL */
	uint64_t credit_out_offset; /* in the source's window */
	uint64_t credit_sent;	    /* unmapped: last one put */

	/* As the source. */
	uint8_t *out_slots; /* mapped slots, or staging of the same form */
	const uint64_t *credit_in; /* own line: rounds consumed */
	uint64_t credit_seen;
	uint64_t out_slots_offset; /* in the destination's window */
	uint64_t put;		   /* unmapped: rounds put so far */
	uint8_t *staging;	   /* unmapped.  Owner: the edge */
};

struct qoi_round {
	struct qoi_request *request; /* owner: the table; taken by the mesh */
	uint64_t round;
	uint64_t *seen;	  /* bit per incoming edge: given out.  Owner: mesh */
	uint32_t open;	  /* 1: posted and not released */
	uint32_t arrived; /* incoming edges 0 .. arrived - 1 are here */
};

struct qo_mesh {
	struct qoi_work work;	  /* first: movers know the mesh by it */
	struct qoi_object object; /* among what the context frees at its end */
	struct qoi_agent *agent;  /* owner: the context */
	struct qo_team *team;	  /* owner: the user; held by the mesh */
	struct qo_window *window; /* owner: the mesh */
	struct qo_remote **remotes; /* by rank.  Owner: the mesh */
	struct qoi_edge *edges;	    /* by the user's index */
	uint32_t *in;		    /* indices of incoming edges */
	uint32_t *out;		    /* indices of outgoing edges */
	uint32_t edge_count;
	uint32_t in_count;
	uint32_t out_count;
	uint32_t depth; /* rounds under way at the most; a power of two */
	struct qoi_round *rounds;      /* by round & (depth - 1) */
	const struct qo_seam **picked; /* by user's index, while posting */
	uint64_t next;		       /* round of the next post */
	uint64_t released;	       /* all rounds below are released */
	uint64_t released_ahead;       /* bit i: round released + i is too */
	uint32_t sequence;
	uint32_t unmapped; /* 1: some edge needs a provider's puts */
};

extern const struct qoi_work_ops qoi_mesh_work_ops;

static inline struct qoi_round *qoi_mesh_round(struct qo_mesh *mesh,
					       uint64_t round)
{
	return &mesh->rounds[round & (mesh->depth - 1)];
}

static inline struct qoi_round *
qoi_mesh_round_of(struct qo_mesh *mesh, const struct qoi_request *request)
{
	for (uint32_t i = 0; i < mesh->depth; i++) {
		if (mesh->rounds[i].request == request)
			return &mesh->rounds[i];
	}
	return NULL;
}

/* Whether an incoming edge's seam of a round is here. */
static inline int qoi_edge_arrived(const struct qoi_edge *edge, uint64_t round)
{
	return qoi_slot_arrived(qoi_slot(edge->slots, &edge->shape, round),
				round);
}

/* 0, or why the other end is gone. */
static inline int qoi_edge_fate(const struct qoi_edge *edge)
{
	if (edge->conn == NULL)
		return 0;
	return (int)qoi_observe32((const uint32_t *)&edge->conn->fate);
}

/* Finishes a round whose seams are all here, or shows where to look. */
void qoi_round_read(struct qo_mesh *mesh, struct qoi_round *round);

/* Unmapped edges: 1 while puts of seams or credits are due. */
int qoi_mesh_owes(const struct qo_mesh *mesh);

#endif
