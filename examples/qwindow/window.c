/* SPDX-License-Identifier: BSD-3-Clause */
#include "examples/qwindow/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "examples/qwindow/bits.h"

/* Layers of one slab. */
struct span {
	uint32_t start;
	uint32_t core_start;
	uint32_t core_end;
	uint32_t end;
};

static struct span slab_span(const struct plan *plan, uint32_t layer_count,
			     uint32_t k)
{
	uint32_t last = plan->slab_count - 1;
	struct span span = {
		.start = k * plan->width,
		.end = k == last ? layer_count : (k + 1) * plan->width,
	};

	span.core_start = span.start + (k == 0 ? 0 : plan->buffer);
	span.core_end = span.end - (k == last ? 0 : plan->buffer);
	return span;
}

static uint32_t slab_of_layer(const struct plan *plan, uint32_t layer)
{
	uint32_t k = layer / plan->width;

	return k < plan->slab_count ? k : plan->slab_count - 1;
}

static struct range layers_range(const struct dem *dem, uint32_t start,
				 uint32_t end)
{
	return (struct range){
		.first = dem->layer_first[start],
		.count = dem->layer_first[end] - dem->layer_first[start],
	};
}

static void place_slab(const struct dem *dem, struct plan *plan, uint32_t k)
{
	struct span span = slab_span(plan, dem->layer_count, k);
	struct slab *slab = &plan->slabs[k];
	uint32_t reach = dem->max_span < span.core_start - span.start
				 ? dem->max_span
				 : span.core_start - span.start;

	slab->all = layers_range(dem, span.start, span.end);
	slab->left = layers_range(dem, span.start, span.core_start);
	slab->right = layers_range(dem, span.core_end, span.end);
	slab->seam = layers_range(dem, span.core_start - reach, span.core_start);
}

static int in_range(const struct range *range, uint32_t detector)
{
	return detector - range->first < range->count;
}

/* Vertex of a detector in B_k, or GRAPH_BOUNDARY when it is elsewhere. */
static uint32_t b_vertex(const struct plan *plan, uint32_t k, uint32_t detector)
{
	const struct range *right = &plan->slabs[k].right;
	const struct range *left = &plan->slabs[k + 1].left;

	/* The two ranges follow each other. */
	if (in_range(right, detector) || in_range(left, detector))
		return detector - right->first;
	return GRAPH_BOUNDARY;
}

static int is_core(const struct slab *slab, uint32_t detector)
{
	return detector != DEM_BOUNDARY && in_range(&slab->all, detector) &&
	       !in_range(&slab->left, detector) &&
	       !in_range(&slab->right, detector);
}

/* Rule 1: an edge that leaves the slab ends at the open time boundary.
 * Rule 2: what touches the core is kept. */
static int add_to_a(struct plan *plan, uint32_t k, const struct dem_edge *model,
		    struct graph_edge edge)
{
	struct slab *slab = &plan->slabs[k];
	int has_a = in_range(&slab->all, model->a);
	int has_b = model->b != DEM_BOUNDARY && in_range(&slab->all, model->b);

	edge.a = has_a ? model->a - slab->all.first : GRAPH_BOUNDARY;
	edge.b = has_b ? model->b - slab->all.first : GRAPH_BOUNDARY;
	if (!has_a) {
		edge.a = edge.b;
		edge.b = GRAPH_BOUNDARY;
	}
	edge.commit = is_core(slab, model->a) || is_core(slab, model->b);
	return graph_add_edge(&slab->a, &edge);
}

/* Rule 1: an edge that leaves B_k is dropped; its time boundary is closed. */
static int add_to_b(struct plan *plan, uint32_t k, const struct dem_edge *model,
		    struct graph_edge edge)
{
	edge.a = b_vertex(plan, k, model->a);
	edge.b = GRAPH_BOUNDARY;
	if (edge.a == GRAPH_BOUNDARY)
		return 0;
	if (model->b != DEM_BOUNDARY) {
		edge.b = b_vertex(plan, k, model->b);
		if (edge.b == GRAPH_BOUNDARY)
			return 0;
	}
	edge.commit = 1;
	return graph_add_edge(&plan->slabs[k].b, &edge);
}

static int place_edge(const struct dem *dem, struct plan *plan, uint32_t id)
{
	const struct dem_edge *model = &dem->edges[id];
	struct graph_edge edge = {
		.weight = graph_weight(model->probability),
		.id = id,
		.observables = model->observables,
	};
	uint32_t k = slab_of_layer(plan, dem->layer[model->a]);
	uint32_t last = k;
	int rc = add_to_a(plan, k, model, edge);

	if (model->b != DEM_BOUNDARY)
		last = slab_of_layer(plan, dem->layer[model->b]);
	if (rc == 0 && last != k)
		rc = add_to_a(plan, last, model, edge);
	/* The lower end is in the right buffer of k or the left one. */
	if (rc == 0 && k > 0)
		rc = add_to_b(plan, k - 1, model, edge);
	if (rc == 0 && k + 1 < plan->slab_count)
		rc = add_to_b(plan, k, model, edge);
	return rc;
}

static void note_most(uint32_t *most, uint32_t value)
{
	if (*most < value)
		*most = value;
}

static int finish_slab(struct plan *plan, uint32_t k)
{
	struct slab *slab = &plan->slabs[k];
	uint32_t b_count = slab->right.count;
	int rc;

	if (k + 1 < plan->slab_count)
		b_count += plan->slabs[k + 1].left.count;
	rc = graph_finish(&slab->a, slab->all.count);
	if (rc == 0)
		rc = graph_finish(&slab->b, b_count);
	note_most(&plan->all_most, slab->all.count);
	note_most(&plan->all_most, b_count);
	note_most(&plan->left_most, slab->left.count);
	note_most(&plan->right_most, slab->right.count);
	note_most(&plan->seam_most, slab->seam.count);
	note_most(&plan->edges_most, slab->a.edge_count);
	note_most(&plan->edges_most, slab->b.edge_count);
	return rc;
}

int plan_create(const struct dem *dem, uint32_t commit, uint32_t buffer,
		struct plan *plan_out)
{
	struct plan plan = {
		.commit = commit,
		.buffer = buffer,
		.width = commit + 2 * buffer,
	};
	int rc = 0;

	plan.slab_count = dem->layer_count / plan.width;
	if (plan.slab_count == 0)
		plan.slab_count = 1;
	plan.slabs = calloc(plan.slab_count, sizeof(*plan.slabs));
	if (plan.slabs == NULL)
		return -ENOMEM;
	for (uint32_t k = 0; k < plan.slab_count; k++)
		place_slab(dem, &plan, k);
	for (uint32_t id = 0; id < dem->edge_count && rc == 0; id++)
		rc = place_edge(dem, &plan, id);
	for (uint32_t k = 0; k < plan.slab_count && rc == 0; k++)
		rc = finish_slab(&plan, k);
	if (rc != 0) {
		plan_release(&plan);
		return rc;
	}
	*plan_out = plan;
	return 0;
}

void plan_release(struct plan *plan)
{
	for (uint32_t k = 0; plan->slabs != NULL && k < plan->slab_count; k++) {
		graph_release(&plan->slabs[k].a);
		graph_release(&plan->slabs[k].b);
	}
	free(plan->slabs);
	memset(plan, 0, sizeof(*plan));
}

int window_decoder_init(struct window_decoder *decoder, const struct plan *plan)
{
	size_t vertices = (size_t)plan->all_most + 1;
	size_t edges = (size_t)plan->edges_most + 1;
	int rc = uf_init(&decoder->uf, plan->all_most, plan->edges_most);

	if (rc != 0)
		return rc;
	decoder->defects = malloc(vertices * sizeof(*decoder->defects));
	decoder->edges = malloc(edges * sizeof(*decoder->edges));
	if (decoder->defects == NULL || decoder->edges == NULL) {
		window_decoder_fini(decoder);
		return -ENOMEM;
	}
	return 0;
}

void window_decoder_fini(struct window_decoder *decoder)
{
	uf_fini(&decoder->uf);
	free(decoder->defects);
	free(decoder->edges);
	decoder->defects = NULL;
	decoder->edges = NULL;
}

static void decode_graph(struct window_decoder *decoder,
			 const struct graph *graph, uint32_t defect_count,
			 commit_edge commit, void *arg)
{
	uint32_t count;

	if (defect_count == 0)
		return;
	count = uf_decode(&decoder->uf, graph, decoder->defects, defect_count,
			  decoder->edges);
	for (uint32_t i = 0; i < count; i++) {
		const struct graph_edge *edge = &graph->edges[decoder->edges[i]];

		if (edge->commit)
			commit(edge, arg);
	}
}

void window_decode_a(struct window_decoder *decoder, const struct slab *slab,
		     const uint8_t *row, commit_edge commit, void *arg)
{
	uint32_t count = bits_list(row, slab->all.count, 0, decoder->defects);

	decode_graph(decoder, &slab->a, count, commit, arg);
}

void window_decode_b(struct window_decoder *decoder, const struct slab *slab,
		     const uint8_t *right, const uint8_t *left,
		     uint32_t left_count, commit_edge commit, void *arg)
{
	uint32_t count =
		bits_list(right, slab->right.count, 0, decoder->defects);

	count += bits_list(left, left_count, slab->right.count,
			   decoder->defects + count);
	decode_graph(decoder, &slab->b, count, commit, arg);
}
