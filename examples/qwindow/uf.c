/* SPDX-License-Identifier: BSD-3-Clause */
#include "examples/qwindow/uf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

int uf_init(struct uf *uf, uint32_t vertex_room, uint32_t edge_room)
{
	size_t vertices = (size_t)vertex_room + 1;
	size_t edges = (size_t)edge_room + 1;

	memset(uf, 0, sizeof(*uf));
	uf->vertex_room = vertex_room;
	uf->edge_room = edge_room;
	uf->vertices = calloc(vertices, sizeof(*uf->vertices));
	uf->clusters = calloc(vertices, sizeof(*uf->clusters));
	uf->growth = calloc(edges, sizeof(*uf->growth));
	uf->used = malloc(vertices * sizeof(*uf->used));
	uf->roots = malloc(vertices * sizeof(*uf->roots));
	uf->full = malloc(edges * sizeof(*uf->full));
	uf->queue = malloc(vertices * sizeof(*uf->queue));
	if (uf->vertices == NULL || uf->clusters == NULL ||
	    uf->growth == NULL || uf->used == NULL || uf->roots == NULL ||
	    uf->full == NULL || uf->queue == NULL) {
		uf_fini(uf);
		return -ENOMEM;
	}
	return 0;
}

void uf_fini(struct uf *uf)
{
	free(uf->vertices);
	free(uf->clusters);
	free(uf->growth);
	free(uf->used);
	free(uf->roots);
	free(uf->full);
	free(uf->queue);
	memset(uf, 0, sizeof(*uf));
}

/* A vertex gets its state when a cluster first reaches it: most never do. */
static void vertex_use(struct uf *uf, uint32_t v)
{
	struct uf_vertex *vertex = &uf->vertices[v];

	if (vertex->used)
		return;
	vertex->used = 1;
	vertex->defect = 0;
	vertex->parent = v;
	vertex->next = NONE;
	vertex->mark = 0;
	uf->clusters[v] = (struct uf_cluster){
		.size = 1,
		.head = v,
		.tail = v,
	};
	uf->used[uf->used_count++] = v;
}

static uint32_t find_root(struct uf *uf, uint32_t v)
{
	struct uf_vertex *vertices = uf->vertices;

	while (vertices[v].parent != v) {
		vertices[v].parent = vertices[vertices[v].parent].parent;
		v = vertices[v].parent;
	}
	return v;
}

static void merge_clusters(struct uf *uf, uint32_t a, uint32_t b)
{
	struct uf_cluster *into, *from;

	/* The larger stays, of equals the lower: a fixed choice. */
	if (uf->clusters[a].size < uf->clusters[b].size ||
	    (uf->clusters[a].size == uf->clusters[b].size && b < a)) {
		uint32_t swap = a;

		a = b;
		b = swap;
	}
	into = &uf->clusters[a];
	from = &uf->clusters[b];
	uf->vertices[b].parent = a;
	into->size += from->size;
	into->odd ^= from->odd;
	into->boundary |= from->boundary;
	if (into->head == NONE)
		into->head = from->head;
	else
		uf->vertices[into->tail].next = from->head;
	if (from->head != NONE)
		into->tail = from->tail;
}

/* Keep the roots of odd clusters without a boundary, each once. */
static void choose_active(struct uf *uf)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < uf->root_count; i++)
		uf->clusters[find_root(uf, uf->roots[i])].active = 0;
	for (uint32_t i = 0; i < uf->root_count; i++) {
		uint32_t root = find_root(uf, uf->roots[i]);
		struct uf_cluster *cluster = &uf->clusters[root];

		if (cluster->odd && !cluster->boundary && !cluster->active) {
			cluster->active = 1;
			uf->roots[kept++] = root;
		}
	}
	uf->root_count = kept;
}

/* The most that one side may add to the edge: 0 if it can't grow there. */
static int32_t edge_room(struct uf *uf, const struct graph *graph, uint32_t e,
			 uint32_t v, uint32_t root)
{
	const struct graph_edge *edge = &graph->edges[e];
	int32_t room = edge->weight - uf->growth[e];
	uint32_t other = edge->a == v ? edge->b : edge->a;

	if (room <= 0 || other == GRAPH_BOUNDARY ||
	    uf->vertices[other].used == 0)
		return room;
	other = find_root(uf, other);
	if (other == root)
		return 0;
	/* Both sides add: rounded up, so that the edge does fill. */
	return uf->clusters[other].active ? (room + 1) / 2 : room;
}

/* The smallest room over the growing edges of a cluster; forgets vertices
 * that have none left. */
static int32_t cluster_room(struct uf *uf, const struct graph *graph,
			    uint32_t root, int32_t least)
{
	struct uf_cluster *cluster = &uf->clusters[root];
	uint32_t before = NONE;

	for (uint32_t v = cluster->head; v != NONE; v = uf->vertices[v].next) {
		int grows = 0;

		for (uint32_t i = graph->first[v]; i < graph->first[v + 1]; i++) {
			int32_t room = edge_room(uf, graph, graph->incident[i],
						 v, root);

			if (room <= 0)
				continue;
			grows = 1;
			if (room < least)
				least = room;
		}
		if (grows) {
			before = v;
			continue;
		}
		if (before == NONE)
			cluster->head = uf->vertices[v].next;
		else
			uf->vertices[before].next = uf->vertices[v].next;
	}
	cluster->tail = before;
	return least;
}

static void cluster_grow(struct uf *uf, const struct graph *graph,
			 uint32_t root, int32_t amount)
{
	uint32_t v = uf->clusters[root].head;

	for (; v != NONE; v = uf->vertices[v].next) {
		for (uint32_t i = graph->first[v]; i < graph->first[v + 1]; i++) {
			uint32_t e = graph->incident[i];
			int32_t weight = graph->edges[e].weight;

			if (edge_room(uf, graph, e, v, root) <= 0)
				continue;
			uf->growth[e] += amount;
			if (uf->growth[e] >= weight) {
				uf->growth[e] = weight;
				uf->full[uf->full_count++] = e;
			}
		}
	}
}

static void join_full_edges(struct uf *uf, const struct graph *graph)
{
	for (uint32_t i = 0; i < uf->full_count; i++) {
		const struct graph_edge *edge = &graph->edges[uf->full[i]];
		uint32_t a, b;

		vertex_use(uf, edge->a);
		a = find_root(uf, edge->a);
		if (edge->b == GRAPH_BOUNDARY) {
			uf->clusters[a].boundary = 1;
			continue;
		}
		vertex_use(uf, edge->b);
		b = find_root(uf, edge->b);
		if (a != b)
			merge_clusters(uf, a, b);
	}
	uf->full_count = 0;
}

/* Every turn fills an edge, so there are at most edge_count of them. */
static void grow_all(struct uf *uf, const struct graph *graph)
{
	for (uint32_t turn = 0; turn <= graph->edge_count; turn++) {
		int32_t least = INT32_MAX;

		choose_active(uf);
		for (uint32_t i = 0; i < uf->root_count; i++)
			least = cluster_room(uf, graph, uf->roots[i], least);
		if (least == INT32_MAX)
			return;
		for (uint32_t i = 0; i < uf->root_count; i++)
			cluster_grow(uf, graph, uf->roots[i], least);
		join_full_edges(uf, graph);
	}
}

static int edge_is_full(const struct uf *uf, const struct graph *graph,
			uint32_t e)
{
	return uf->growth[e] >= graph->edges[e].weight;
}

/*
 * Breadth-first over full edges from `start`; the order goes to uf->queue and
 * each vertex remembers the edge it was reached by. With `exit_out` it stops
 * at the first full boundary edge and returns its vertex, or `start`.
 */
static uint32_t search_from(struct uf *uf, const struct graph *graph,
			    uint32_t start, uint32_t *exit_out,
			    uint32_t *count_out)
{
	uint32_t count = 1;

	uf->search++;
	uf->queue[0] = start;
	uf->vertices[start].mark = uf->search;
	uf->vertices[start].tree_edge = NONE;
	for (uint32_t at = 0; at < count; at++) {
		uint32_t v = uf->queue[at];

		for (uint32_t i = graph->first[v]; i < graph->first[v + 1]; i++) {
			uint32_t e = graph->incident[i];
			uint32_t a = graph->edges[e].a, b = graph->edges[e].b;
			uint32_t other = a == v ? b : a;

			if (!edge_is_full(uf, graph, e))
				continue;
			if (other == GRAPH_BOUNDARY) {
				if (exit_out == NULL)
					continue;
				*exit_out = e;
				return v;
			}
			if (uf->vertices[other].mark == uf->search)
				continue;
			uf->vertices[other].mark = uf->search;
			uf->vertices[other].tree_edge = e;
			uf->queue[count++] = other;
		}
	}
	*count_out = count;
	return start;
}

/* Peel the tree of one cluster from its leaves; a defect left at the root
 * leaves by the boundary edge. Returns the new number of edges. */
static uint32_t peel_cluster(struct uf *uf, const struct graph *graph,
			     uint32_t lowest, uint32_t *edges_out,
			     uint32_t found)
{
	uint32_t exit = NONE, count = 0;
	uint32_t root = search_from(uf, graph, lowest, &exit, &count);

	if (exit != NONE)
		search_from(uf, graph, root, NULL, &count);
	while (count-- > 1) {
		uint32_t v = uf->queue[count];
		uint32_t e = uf->vertices[v].tree_edge;
		const struct graph_edge *edge = &graph->edges[e];

		if (uf->vertices[v].defect == 0)
			continue;
		uf->vertices[v].defect = 0;
		uf->vertices[edge->a == v ? edge->b : edge->a].defect ^= 1;
		edges_out[found++] = e;
	}
	if (uf->vertices[root].defect != 0 && exit != NONE) {
		uf->vertices[root].defect = 0;
		edges_out[found++] = exit;
	}
	return found;
}

static void clear_state(struct uf *uf, const struct graph *graph)
{
	for (uint32_t i = 0; i < uf->used_count; i++) {
		uint32_t v = uf->used[i];

		uf->vertices[v].used = 0;
		for (uint32_t j = graph->first[v]; j < graph->first[v + 1]; j++)
			uf->growth[graph->incident[j]] = 0;
	}
	uf->used_count = 0;
}

uint32_t uf_decode(struct uf *uf, const struct graph *graph,
		   const uint32_t *defects, uint32_t defect_count,
		   uint32_t *edges_out)
{
	uint32_t found = 0;

	uf->search = 0;
	uf->root_count = defect_count;
	for (uint32_t i = 0; i < defect_count; i++) {
		vertex_use(uf, defects[i]);
		uf->vertices[defects[i]].defect = 1;
		uf->clusters[defects[i]].odd = 1;
		uf->roots[i] = defects[i];
	}
	grow_all(uf, graph);
	for (uint32_t i = 0; i < defect_count; i++) {
		/* A marked vertex is in a cluster that is peeled already. */
		if (uf->vertices[defects[i]].mark == 0)
			found = peel_cluster(uf, graph, defects[i], edges_out,
					     found);
	}
	clear_state(uf, graph);
	return found;
}
