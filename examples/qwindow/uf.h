/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Weighted union-find decoder. Odd clusters that touch no boundary grow in
 * step, by the smallest amount after which some edge is full; then each
 * cluster is peeled along a breadth-first tree. Integers only and no order
 * that depends on anything but the input: the same defects on the same graph
 * give the same corrections everywhere.
 */
#ifndef QWINDOW_UF_H
#define QWINDOW_UF_H

#include <stdint.h>

#include "examples/qwindow/graph.h"

struct uf_vertex {
	uint32_t parent; /* in the cluster's tree of unions */
	uint32_t next;	 /* in the cluster's list of vertices that may grow */
	uint32_t tree_edge; /* of the peeling tree */
	uint32_t mark;	    /* number of the last search that saw it */
	uint8_t used;	    /* fields differ from their start */
	uint8_t defect;
};

/* Of a cluster; valid at the root of the tree of unions. */
struct uf_cluster {
	uint32_t size;
	uint32_t head; /* of the list of vertices that may grow */
	uint32_t tail;
	uint8_t odd;
	uint8_t boundary;
	uint8_t active; /* grows in this step */
};

struct uf {
	uint32_t vertex_room;
	uint32_t edge_room;
	struct uf_vertex *vertices;  /* owned */
	struct uf_cluster *clusters; /* owned */
	int32_t *growth; /* owned, of each edge, at most its weight */
	uint32_t *used;	 /* owned, vertices whose state differs from start */
	uint32_t used_count;
	uint32_t *roots; /* owned, of the clusters that may be active */
	uint32_t root_count;
	uint32_t *full; /* owned, edges filled in this step */
	uint32_t full_count;
	uint32_t *queue; /* owned, of the breadth-first search */
	uint32_t search; /* number of searches so far */
};

/* Room for graphs of at most this size. 0 or -ENOMEM. */
int uf_init(struct uf *uf, uint32_t vertex_room, uint32_t edge_room);
void uf_fini(struct uf *uf);

/*
 * `defects`: vertices, ascending, all different. The correction, a set of
 * edges of `graph`, goes to edges_out (room for graph->edge_count); returns
 * how many. Its syndrome equals the defects wherever a cluster can be made
 * even or reach the boundary.
 */
uint32_t uf_decode(struct uf *uf, const struct graph *graph,
		   const uint32_t *defects, uint32_t defect_count,
		   uint32_t *edges_out);

#endif
