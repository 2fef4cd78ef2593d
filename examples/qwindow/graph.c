/* SPDX-License-Identifier: BSD-3-Clause */
#include "examples/qwindow/graph.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int32_t graph_weight(double probability)
{
	long weight = lrint(20 * log((1 - probability) / probability));

	return weight < 1 ? 1 : (int32_t)weight;
}

int graph_add_edge(struct graph *graph, const struct graph_edge *edge)
{
	if (graph->edge_count == graph->edge_room) {
		uint32_t room = graph->edge_room * 2 + 64;
		struct graph_edge *grown =
			realloc(graph->edges, room * sizeof(*grown));

		if (grown == NULL)
			return -ENOMEM;
		graph->edges = grown;
		graph->edge_room = room;
	}
	graph->edges[graph->edge_count++] = *edge;
	return 0;
}

int graph_finish(struct graph *graph, uint32_t vertex_count)
{
	size_t ends = 2 * (size_t)graph->edge_count + 1;
	uint32_t *next = calloc((size_t)vertex_count + 2, sizeof(*next));
	uint32_t *incident = malloc(ends * sizeof(*incident));

	if (next == NULL || incident == NULL) {
		free(next);
		free(incident);
		return -ENOMEM;
	}
	/* Counted two places on, so that filling leaves next[v] = first[v]
	 * one place on: no second array. */
	for (uint32_t e = 0; e < graph->edge_count; e++) {
		next[graph->edges[e].a + 2]++;
		if (graph->edges[e].b != GRAPH_BOUNDARY)
			next[graph->edges[e].b + 2]++;
	}
	for (uint32_t v = 0; v < vertex_count; v++)
		next[v + 2] += next[v + 1];
	for (uint32_t e = 0; e < graph->edge_count; e++) {
		incident[next[graph->edges[e].a + 1]++] = e;
		if (graph->edges[e].b != GRAPH_BOUNDARY)
			incident[next[graph->edges[e].b + 1]++] = e;
	}
	graph->vertex_count = vertex_count;
	graph->first = next;
	graph->incident = incident;
	return 0;
}

void graph_release(struct graph *graph)
{
	free(graph->edges);
	free(graph->first);
	free(graph->incident);
	memset(graph, 0, sizeof(*graph));
}
