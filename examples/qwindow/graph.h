/* SPDX-License-Identifier: BSD-3-Clause */
/* The decoding graph of one window: vertices 0.., weighted edges. */
#ifndef QWINDOW_GRAPH_H
#define QWINDOW_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#define GRAPH_BOUNDARY UINT32_MAX

struct graph_edge {
	uint32_t a;	/* vertex */
	uint32_t b;	/* vertex, or GRAPH_BOUNDARY */
	int32_t weight; /* > 0 */
	uint32_t id;	/* of the model's edge */
	uint64_t observables;
	uint32_t commit; /* 1: a correction of this edge is kept */
};

struct graph {
	uint32_t vertex_count;
	uint32_t edge_count;
	uint32_t edge_room;
	struct graph_edge *edges; /* owned */
	uint32_t *first;	  /* owned, vertex_count + 1, into incident */
	uint32_t *incident;	  /* owned, edges at a vertex, in their order */
};

/* lrint(20 ln((1 - p) / p)), at least 1 so that growth always ends. */
int32_t graph_weight(double probability);

int graph_add_edge(struct graph *graph, const struct graph_edge *edge);
/* Index the edges by vertex, when all are added. */
int graph_finish(struct graph *graph, uint32_t vertex_count);
void graph_release(struct graph *graph);

#endif
