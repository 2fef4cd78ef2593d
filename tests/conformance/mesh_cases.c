/* SPDX-License-Identifier: BSD-3-Clause */
/* Rounds over meshes of several shapes; credits; order of release. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "tests/conformance/data.h"
#include "tests/conformance/suite.h"

#define EDGES_MAX 64
#define SLOT_MAX 5000
#define WAIT_MS 15000

struct graph {
	struct qo_edge edges[EDGES_MAX];
	uint32_t count;
};

static void edge_add(struct graph *graph, uint32_t source, uint32_t destination,
		     uint32_t slot_bytes, uint32_t depth)
{
	graph->edges[graph->count] =
		(struct qo_edge){ source,     destination, graph->count,
				  slot_bytes, depth,	   0 };
	graph->count++;
}

/* Self edges, pairs with two edges, empty and large slots, all depths. */
static void graph_full(struct graph *graph, uint32_t ranks)
{
	graph->count = 0;
	for (uint32_t i = 0; i < ranks; i++) {
		edge_add(graph, i, (i + 1) % ranks, 64, 4);
		edge_add(graph, i, i, 7, 2);
	}
	edge_add(graph, 0, ranks - 1, 1, 1);
	edge_add(graph, 0, ranks - 1, SLOT_MAX, 8);
	edge_add(graph, ranks - 1, 0, 0, 2);
}

/* The last rank has no edge, the one before only gives, rank 0 only takes. */
static void graph_star(struct graph *graph, uint32_t ranks)
{
	graph->count = 0;
	for (uint32_t i = 1; i + 1 < ranks; i++)
		edge_add(graph, i, 0, 40, 4);
}

/* How long the seam of an edge is in a round: sizes below a word too. */
static uint32_t seam_bytes(const struct qo_edge *edge, uint64_t round)
{
	if (edge->slot_bytes == 0 || round % 5 == 4)
		return 0;
	return (uint32_t)(qoc_seed(edge->tag, round, 1) % (edge->slot_bytes + 1));
}

static int round_post(qo_mesh_t mesh, const struct graph *graph, uint32_t me,
		      uint64_t round, qo_request_t *request_out)
{
	static uint8_t data[EDGES_MAX][SLOT_MAX + 1];
	struct qo_seam seams[EDGES_MAX];
	uint32_t count = 0;
	int error;

	/* Backwards, at odd addresses; every fifth round lists no edge. */
	for (uint32_t i = graph->count; i-- != 0 && round % 5 != 4;) {
		uint32_t bytes = seam_bytes(&graph->edges[i], round);

		if (graph->edges[i].source != me)
			continue;
		qoc_fill(&data[i][1], QO_UINT8, bytes, qoc_seed(i, round, 2));
		seams[count++] =
			(struct qo_seam){ i, bytes,
					  bytes == 0 ? NULL : &data[i][1] };
	}
	error = qo_mesh_post(mesh, round, seams, count, QO_NO_DEADLINE,
			     request_out);
	if (error == 0)
		memset(data, 0xdd, sizeof(data)); /* it was copied */
	return error;
}

static int view_check(const struct graph *graph, const struct qo_view *view,
		      uint64_t round)
{
	static uint8_t want[SLOT_MAX];
	uint32_t bytes = seam_bytes(&graph->edges[view->edge], round);

	qoc_fill(want, QO_UINT8, bytes, qoc_seed(view->edge, round, 2));
	if (view->round == round && view->bytes == bytes &&
	    ((uintptr_t)view->data & 15) == 0 &&
	    memcmp(view->data, want, bytes) == 0)
		return 0;
	fprintf(stderr, "edge %u round %llu: round %llu, %u bytes of %u\n",
		view->edge, (unsigned long long)round,
		(unsigned long long)view->round, view->bytes, bytes);
	return 1;
}

static uint32_t degree_in(const struct graph *graph, uint32_t me)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < graph->count; i++)
		count += graph->edges[i].destination == me;
	return count;
}

/* Any edge, as they come, before the round is complete. */
static int views_any(struct qot_rank *rank, const struct graph *graph,
		     qo_request_t request, uint64_t round)
{
	int64_t deadline = qoc_in_ms(WAIT_MS);
	uint64_t seen = 0;
	struct qo_view view;

	for (;;) {
		int error = qo_mesh_arrived(request, QO_ANY_EDGE, &view);

		if (error == -ENOENT)
			break;
		if (error == -EAGAIN) {
			QOT_CHECK(rank, qoc_now() < deadline);
			sched_yield();
			continue;
		}
		QOT_CHECK(rank, error == 0);
		QOT_CHECK(rank, (seen >> view.edge & 1) == 0);
		seen |= UINT64_C(1) << view.edge;
		QOC_PASS(view_check(graph, &view, round));
	}
	QOT_CHECK(rank, (uint32_t)__builtin_popcountll(seen) ==
				degree_in(graph, rank->rank));
	return qoc_wait_done(request, qoc_in_ms(WAIT_MS));
}

static int views_named(struct qot_rank *rank, const struct graph *graph,
		       qo_request_t request, uint64_t round)
{
	struct qo_view view;

	QOC_PASS(qoc_wait_done(request, qoc_in_ms(WAIT_MS)));
	for (uint32_t i = 0; i < graph->count; i++) {
		if (graph->edges[i].destination != rank->rank)
			continue;
		/* As often as wanted. */
		for (int n = 0; n < 2; n++) {
			QOT_CHECK(rank, qo_mesh_arrived(request, i, &view) == 0);
			QOT_CHECK(rank, view.edge == i);
			QOC_PASS(view_check(graph, &view, round));
		}
	}
	return 0;
}

static int post_soon(struct qot_rank *rank, qo_mesh_t mesh,
		     const struct graph *graph, qo_context_t context,
		     uint64_t round, qo_request_t *request_out)
{
	int64_t deadline = qoc_in_ms(WAIT_MS);
	int error;

	while ((error = round_post(mesh, graph, rank->rank, round,
				   request_out)) == -EAGAIN) {
		QOT_CHECK(rank, qoc_now() < deadline);
		qo_progress(context);
		sched_yield();
	}
	QOT_CHECK(rank, error == 0);
	return 0;
}

static int rounds_run(struct qot_rank *rank, const struct graph *graph,
		      uint64_t rounds)
{
	qo_context_t context;
	qo_mesh_t mesh;
	qo_team_t team;

	QOC_PASS(qoc_join(rank, NULL, &context, &team));
	QOT_CHECK(rank,
		  qo_mesh_create(team, graph->edges, graph->count, &mesh) == 0);
	for (uint64_t round = 0; round < rounds; round++) {
		struct qo_status status;
		qo_request_t request;

		QOC_PASS(post_soon(rank, mesh, graph, context, round, &request));
		QOC_PASS(round % 2 == 0
				 ? views_any(rank, graph, request, round)
				 : views_named(rank, graph, request, round));
		QOT_CHECK(rank, qo_mesh_release(request) == 0);
		QOT_CHECK(rank, qo_test(request, &status) == -EBADF);
		QOT_CHECK(rank, qo_mesh_release(request) == -EBADF);
	}
	QOC_PASS(qoc_mesh_destroy(rank, context, mesh));
	return qoc_leave(rank, context, team);
}

static int full_mesh(struct qot_rank *rank)
{
	static struct graph graph;

	graph_full(&graph, rank->count);
	return rounds_run(rank, &graph, qoc_env(rank)->faulty ? 40 : 300);
}

static int star_mesh(struct qot_rank *rank)
{
	static struct graph graph;

	graph_star(&graph, rank->count);
	return rounds_run(rank, &graph, qoc_env(rank)->faulty ? 40 : 100);
}

/* Many at a time, most of them shorter than a word or a line. */
static int many_seams(struct qot_rank *rank)
{
	static const uint32_t sizes[] = { 0, 1, 3, 8, 63, 64, 300, 2000 };
	static struct graph graph;

	graph.count = 0;
	for (uint32_t i = 0; i < 40; i++)
		edge_add(&graph, i % 2, 1 - i % 2, sizes[i / 2 % 8], 8);
	return rounds_run(rank, &graph, 2500);
}

/* Not knowing of the others' edges, and a rank without any. */
static int isolated_rank(struct qot_rank *rank)
{
	const struct qo_edge edge = { 0, 1, 0, 8, 2, 0 };
	uint64_t value = 42;
	struct qo_seam seam = { 0, sizeof(value), &value };
	int is_end = rank->rank < 2;
	struct qo_status status = { 0 };
	qo_context_t context;
	qo_request_t request;
	struct qo_view view;
	qo_mesh_t mesh;
	qo_team_t team;

	QOC_PASS(qoc_join(rank, NULL, &context, &team));
	QOT_CHECK(rank, qo_mesh_create(team, is_end ? &edge : NULL,
				       (size_t)is_end, &mesh) == 0);
	QOT_CHECK(rank, qo_mesh_post(mesh, 0, &seam, rank->rank == 0,
				     QO_NO_DEADLINE, &request) == 0);
	if (rank->rank != 1) {
		/* Nothing comes in: complete at once. */
		QOT_CHECK(rank, qo_test(request, &status) == 0);
		QOT_CHECK(rank, status.state == QO_DONE);
		QOT_CHECK(rank, qo_mesh_arrived(request, QO_ANY_EDGE, &view) ==
					-ENOENT);
	} else {
		QOC_PASS(qoc_wait_done(request, qoc_in_ms(WAIT_MS)));
		QOT_CHECK(rank, qo_mesh_arrived(request, 0, &view) == 0);
		QOT_CHECK(rank,
			  view.bytes == 8 && memcmp(view.data, &value, 8) == 0);
	}
	QOT_CHECK(rank, qo_mesh_release(request) == 0);
	QOC_PASS(qoc_mesh_destroy(rank, context, mesh));
	return qoc_leave(rank, context, team);
}

/* The source stops after `depth` rounds, and goes on when they are released. */
static int credit_source(struct qot_rank *rank, qo_context_t context,
			 qo_mesh_t mesh, const struct graph *graph)
{
	qo_request_t request;

	for (uint64_t round = 0; round < 4; round++) {
		QOT_CHECK(rank,
			  round_post(mesh, graph, 0, round, &request) == 0);
		QOC_PASS(qoc_wait_done(request, qoc_in_ms(WAIT_MS)));
		QOT_CHECK(rank, qo_mesh_release(request) == 0);
	}
	for (int n = 0; n < 1000; n++) {
		QOT_CHECK(rank,
			  round_post(mesh, graph, 0, 4, &request) == -EAGAIN);
		qo_progress(context);
	}
	qot_meet_progress(rank, context);
	QOC_PASS(post_soon(rank, mesh, graph, context, 4, &request));
	QOC_PASS(post_soon(rank, mesh, graph, context, 5, &request));
	return 0;
}

/* Released in the order 1 2 0 3: no credit before round 0 is. */
static int credit_destination(struct qot_rank *rank, qo_context_t context,
			      qo_mesh_t mesh, const struct graph *graph)
{
	static const uint32_t order[] = { 1, 2, 0, 3 };
	qo_request_t requests[6];
	struct qo_view view;

	for (uint64_t round = 0; round < 4; round++) {
		QOT_CHECK(rank, round_post(mesh, graph, 1, round,
					   &requests[round]) == 0);
		QOC_PASS(qoc_wait_done(requests[round], qoc_in_ms(WAIT_MS)));
	}
	QOT_CHECK(rank, round_post(mesh, graph, 1, 4, &requests[4]) == -EAGAIN);
	qot_meet_progress(rank, context);
	for (uint32_t i = 0; i < 4; i++) {
		qo_request_t request = requests[order[i]];

		qoc_sleep_ms(i == 2 ? 20 : 1);
		QOT_CHECK(rank, qo_mesh_arrived(request, 0, &view) == 0);
		QOC_PASS(view_check(graph, &view, order[i]));
		QOT_CHECK(rank, qo_mesh_release(request) == 0);
	}
	for (uint64_t round = 4; round < 6; round++) {
		QOC_PASS(post_soon(rank, mesh, graph, context, round,
				   &requests[round]));
		QOC_PASS(views_named(rank, graph, requests[round], round));
	}
	return 0;
}

static int credits(struct qot_rank *rank)
{
	static struct graph graph;
	qo_context_t context;
	qo_mesh_t mesh;
	qo_team_t team;

	graph.count = 0;
	edge_add(&graph, 0, 1, 100, 4);
	QOC_PASS(qoc_join(rank, NULL, &context, &team));
	QOT_CHECK(rank,
		  qo_mesh_create(team, graph.edges, graph.count, &mesh) == 0);
	if (rank->rank == 0)
		QOC_PASS(credit_source(rank, context, mesh, &graph));
	else
		QOC_PASS(credit_destination(rank, context, mesh, &graph));
	qot_meet_progress(rank, context);
	QOC_PASS(qoc_mesh_destroy(rank, context, mesh));
	return qoc_leave(rank, context, team);
}

/* The source destroys its mesh at once: the seam arrives nevertheless. */
static int early_destroy(struct qot_rank *rank)
{
	static struct graph graph;
	qo_context_t context;
	qo_request_t request;
	qo_mesh_t mesh;
	qo_team_t team;

	graph.count = 0;
	edge_add(&graph, 0, 1, 100, 4);
	QOC_PASS(qoc_join(rank, NULL, &context, &team));
	QOT_CHECK(rank,
		  qo_mesh_create(team, graph.edges, graph.count, &mesh) == 0);
	if (rank->rank == 0) {
		QOT_CHECK(rank, round_post(mesh, &graph, 0, 0, &request) == 0);
		QOC_PASS(qoc_mesh_destroy(rank, context, mesh));
		qot_meet_progress(rank, context);
		return qoc_leave(rank, context, team);
	}
	qot_meet_progress(rank, context);
	QOT_CHECK(rank, round_post(mesh, &graph, 1, 0, &request) == 0);
	QOC_PASS(views_named(rank, &graph, request, 0));
	QOT_CHECK(rank, qo_mesh_release(request) == 0);
	QOC_PASS(qoc_mesh_destroy(rank, context, mesh));
	return qoc_leave(rank, context, team);
}

const struct qoc_case qoc_mesh_cases[] = {
	{ "full_mesh", 1, 5, full_mesh, NULL, 0 },
	{ "star_mesh", 3, 5, star_mesh, NULL, 0 },
	{ "many_seams", 2, 2, many_seams, NULL, 0 },
	{ "isolated_rank", 3, 3, isolated_rank, NULL, 0 },
	{ "credits", 2, 2, credits, NULL, 0 },
	{ "early_destroy", 2, 2, early_destroy, NULL, 0 },
	{ NULL, 0, 0, NULL, NULL, 0 },
};
