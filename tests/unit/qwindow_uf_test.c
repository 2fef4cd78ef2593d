/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "examples/qwindow/bits.h"
#include "examples/qwindow/graph.h"
#include "examples/qwindow/uf.h"

#define EDGES_MOST 12
#define VERTICES_MOST 8

static uint32_t syndrome_of(const struct graph *graph, uint32_t edge_set)
{
	uint32_t syndrome = 0;

	for (uint32_t e = 0; e < graph->edge_count; e++) {
		if ((edge_set >> e & 1) == 0)
			continue;
		syndrome ^= 1u << graph->edges[e].a;
		if (graph->edges[e].b != GRAPH_BOUNDARY)
			syndrome ^= 1u << graph->edges[e].b;
	}
	return syndrome;
}

static int32_t weight_of(const struct graph *graph, uint32_t edge_set)
{
	int32_t weight = 0;

	for (uint32_t e = 0; e < graph->edge_count; e++)
		weight += (edge_set >> e & 1) * graph->edges[e].weight;
	return weight;
}

/* The correction of a syndrome, as a set of edges. */
static uint32_t decode(struct uf *uf, const struct graph *graph,
		       uint32_t syndrome)
{
	uint32_t defects[VERTICES_MOST], edges[EDGES_MOST];
	uint32_t defect_count = 0, edge_count, edge_set = 0;

	for (uint32_t v = 0; v < graph->vertex_count; v++) {
		if ((syndrome >> v & 1) != 0)
			defects[defect_count++] = v;
	}
	edge_count = uf_decode(uf, graph, defects, defect_count, edges);
	for (uint32_t i = 0; i < edge_count; i++) {
		assert_int_equal(0, edge_set >> edges[i] & 1);
		edge_set |= 1u << edges[i];
	}
	return edge_set;
}

static void add(struct graph *graph, uint32_t a, uint32_t b, int32_t weight)
{
	struct graph_edge edge = { .a = a, .b = b, .weight = weight };

	assert_int_equal(0, graph_add_edge(graph, &edge));
}

/* Vertices in a row, a boundary at both ends: a repetition code. */
static void make_row(struct graph *graph, uint32_t vertex_count)
{
	memset(graph, 0, sizeof(*graph));
	add(graph, 0, GRAPH_BOUNDARY, 7);
	for (uint32_t v = 0; v + 1 < vertex_count; v++)
		add(graph, v, v + 1, 7);
	add(graph, vertex_count - 1, GRAPH_BOUNDARY, 7);
	assert_int_equal(0, graph_finish(graph, vertex_count));
}

static void a_row_corrects_all_errors_under_half_its_distance(void **state)
{
	(void)state;
	for (uint32_t distance = 2; distance <= 8; distance++) {
		struct graph graph;
		struct uf uf;

		make_row(&graph, distance - 1);
		assert_int_equal(0, uf_init(&uf, graph.vertex_count,
					    graph.edge_count));
		for (uint32_t error = 0; error < 1u << distance; error++) {
			uint32_t found =
				decode(&uf, &graph, syndrome_of(&graph, error));

			assert_int_equal(syndrome_of(&graph, error),
					 syndrome_of(&graph, found));
			/* All edges flipped is the logical operator. */
			if (2 * (uint32_t)__builtin_popcount(error) < distance)
				assert_int_equal(error, found);
		}
		uf_fini(&uf);
		graph_release(&graph);
	}
}

static void make_random(struct graph *graph, uint32_t seed, int tree)
{
	uint32_t vertices = 3 + (uint32_t)(bits_mix(seed) % 6);

	memset(graph, 0, sizeof(*graph));
	for (uint32_t v = 1; v < vertices; v++)
		add(graph, (uint32_t)(bits_mix(seed * 64 + v) % v), v,
		    1 + (int32_t)(bits_mix(seed * 64 + v + 9) % 9));
	for (uint32_t i = 0;
	     !tree && graph->edge_count < EDGES_MOST && i < 1 + seed % 5; i++) {
		uint32_t a = (uint32_t)(bits_mix(seed * 64 + 20 + i) % vertices);
		uint32_t b = (uint32_t)(bits_mix(seed * 64 + 40 + i) % vertices);

		add(graph, a, a == b ? GRAPH_BOUNDARY : b,
		    1 + (int32_t)(bits_mix(seed * 64 + 50 + i) % 9));
	}
	assert_int_equal(0, graph_finish(graph, vertices));
}

static void on_a_tree_the_only_correction_is_found(void **state)
{
	(void)state;
	for (uint32_t seed = 0; seed < 200; seed++) {
		struct graph graph;
		struct uf uf;

		make_random(&graph, seed, 1);
		assert_int_equal(0, uf_init(&uf, graph.vertex_count,
					    graph.edge_count));
		for (uint32_t error = 0; error < 1u << graph.edge_count; error++)
			assert_int_equal(error,
					 decode(&uf, &graph,
						syndrome_of(&graph, error)));
		uf_fini(&uf);
		graph_release(&graph);
	}
}

/* Brute force: the lightest set of edges with each syndrome. */
static void find_lightest(const struct graph *graph, int32_t *lightest)
{
	for (uint32_t s = 0; s < 1u << VERTICES_MOST; s++)
		lightest[s] = INT32_MAX;
	for (uint32_t set = 0; set < 1u << graph->edge_count; set++) {
		uint32_t syndrome = syndrome_of(graph, set);
		int32_t weight = weight_of(graph, set);

		if (weight < lightest[syndrome])
			lightest[syndrome] = weight;
	}
}

static void every_syndrome_that_has_a_correction_gets_one(void **state)
{
	int32_t lightest[1u << VERTICES_MOST];
	uint64_t syndromes = 0, optimal = 0;

	(void)state;
	for (uint32_t seed = 0; seed < 300; seed++) {
		struct graph graph;
		struct uf uf;

		make_random(&graph, seed, 0);
		find_lightest(&graph, lightest);
		assert_int_equal(0, uf_init(&uf, graph.vertex_count,
					    graph.edge_count));
		for (uint32_t s = 0; s < 1u << graph.vertex_count; s++) {
			uint32_t found = decode(&uf, &graph, s);

			/* Decoding again starts from a clean state. */
			assert_int_equal(found, decode(&uf, &graph, s));
			if (lightest[s] == INT32_MAX)
				continue;
			assert_int_equal(s, syndrome_of(&graph, found));
			syndromes++;
			optimal += weight_of(&graph, found) == lightest[s];
		}
		uf_fini(&uf);
		graph_release(&graph);
	}
	/* Union-find is no minimum-weight decoder, but near to one. */
	assert_true(optimal * 100 >= syndromes * 75);
	assert_true(optimal < syndromes);
}

static void of_two_ways_the_likelier_is_taken(void **state)
{
	struct graph graph = { 0 };
	struct uf uf;

	(void)state;
	add(&graph, 0, 1, graph_weight(0.001));
	add(&graph, 0, GRAPH_BOUNDARY, graph_weight(0.1));
	add(&graph, 1, GRAPH_BOUNDARY, graph_weight(0.1));
	assert_int_equal(0, graph_finish(&graph, 2));
	assert_int_equal(0, uf_init(&uf, 2, 3));
	assert_int_equal(6, decode(&uf, &graph, 3));
	graph.edges[0].weight = graph_weight(0.2);
	assert_int_equal(1, decode(&uf, &graph, 3));
	uf_fini(&uf);
	graph_release(&graph);
}

static void a_weight_is_never_zero(void **state)
{
	(void)state;
	assert_int_equal(1, graph_weight(0.5));
	assert_int_equal(116, graph_weight(0.003));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_row_corrects_all_errors_under_half_its_distance),
		cmocka_unit_test(on_a_tree_the_only_correction_is_found),
		cmocka_unit_test(every_syndrome_that_has_a_correction_gets_one),
		cmocka_unit_test(of_two_ways_the_likelier_is_taken),
		cmocka_unit_test(a_weight_is_never_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
