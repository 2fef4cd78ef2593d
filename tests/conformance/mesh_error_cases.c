/* SPDX-License-Identifier: BSD-3-Clause */
/* What a mesh refuses, alone and between ranks; and rounds that are late. */
#include <errno.h>
#include <string.h>

#include "tests/conformance/suite.h"

/* One wrong edge is an error here, and so is each that breaks a limit. */
static int bad_edges(struct qot_rank *rank)
{
	static const struct qo_edge bad[] = {
		{ 0, 9, 0, 8, 2, 0 },
		{ 9, 0, 0, 8, 2, 0 },
		{ 0, 0, 0, 8, 0, 0 },
		{ 0, 0, 0, 8, 3, 0 },
		{ 0, 0, 0, 8, 128, 0 },
		{ 0, 0, 0, 8, 2, 1 },
		{ 0, 0, 0, QO_EDGE_SLOT_BYTES_MAX + 1, 1, 0 },
	};
	const struct qo_edge twice[] = { { 0, 0, 3, 8, 2, 0 },
					 { 0, 0, 3, 8, 2, 0 } };
	qo_context_t context;
	qo_mesh_t mesh;
	qo_team_t team;

	QOC_PASS(qoc_join(rank, NULL, &context, &team));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		QOT_CHECK(rank,
			  qo_mesh_create(team, &bad[i], 1, &mesh) == -EINVAL);
		QOT_CHECK(rank, qo_error_detail()[0] != '\0');
	}
	QOT_CHECK(rank,
		  rank->rank != 0 || rank->count != 1 ||
			  qo_mesh_create(team, twice, 2, &mesh) == -EINVAL);
	return qoc_leave(rank, context, team);
}

static int bad_posts(struct qot_rank *rank, qo_mesh_t mesh)
{
	uint8_t data[16] = { 0 };
	const struct qo_seam good = { 0, 8, data };
	const struct qo_seam beyond = { 7, 8, data };
	const struct qo_seam longer = { 0, 9, data };
	const struct qo_seam null = { 0, 8, NULL };
	const struct qo_seam twice[] = { { 0, 8, data }, { 0, 8, data } };
	qo_request_t request = { 0 };

	QOT_CHECK(rank, qo_mesh_post(mesh, 1, &good, 1, QO_NO_DEADLINE,
				     &request) == -EINVAL);
	QOT_CHECK(rank, qo_mesh_post(mesh, 0, &beyond, 1, QO_NO_DEADLINE,
				     &request) == -EINVAL);
	QOT_CHECK(rank, qo_mesh_post(mesh, 0, &longer, 1, QO_NO_DEADLINE,
				     &request) == -EMSGSIZE);
	QOT_CHECK(rank, qo_mesh_post(mesh, 0, &null, 1, QO_NO_DEADLINE,
				     &request) == -EINVAL);
	QOT_CHECK(rank, qo_mesh_post(mesh, 0, twice, 2, QO_NO_DEADLINE,
				     &request) == -EINVAL);
	QOT_CHECK(rank, request.id == QO_REQUEST_NULL_ID);
	return 0;
}

/* A self edge on each rank: posts fail and succeed without a peer. */
static int bad_rounds(struct qot_rank *rank)
{
	const struct qo_edge edge = { rank->rank, rank->rank, 0, 8, 2, 0 };
	uint64_t value = 1;
	const struct qo_seam good = { 0, 8, &value };
	qo_context_t context;
	qo_request_t first, second, third;
	struct qo_view view;
	qo_mesh_t mesh;
	qo_team_t team;

	QOC_PASS(qoc_join(rank, NULL, &context, &team));
	QOT_CHECK(rank, qo_mesh_create(team, &edge, 1, &mesh) == 0);
	QOC_PASS(bad_posts(rank, mesh));
	QOT_CHECK(rank,
		  qo_mesh_post(mesh, 0, &good, 1, QO_NO_DEADLINE, &first) == 0);
	QOT_CHECK(rank, qo_mesh_post(mesh, 0, &good, 1, QO_NO_DEADLINE,
				     &second) == -EINVAL);
	QOT_CHECK(rank,
		  qo_mesh_post(mesh, 1, &good, 1, QO_NO_DEADLINE, &second) == 0);
	QOT_CHECK(rank, qo_mesh_post(mesh, 2, &good, 1, QO_NO_DEADLINE,
				     &third) == -EAGAIN);
	QOC_PASS(qoc_wait_done(first, qoc_in_ms(5000)));
	QOT_CHECK(rank, qo_mesh_arrived(first, 1, &view) == -EINVAL);
	QOT_CHECK(rank, qo_mesh_arrived(first, 0, &view) == 0);
	QOT_CHECK(rank, qo_mesh_release(first) == 0);
	QOT_CHECK(rank, qo_mesh_arrived(first, 0, &view) == -EBADF);
	QOT_CHECK(rank,
		  qo_mesh_post(mesh, 2, &good, 1, QO_NO_DEADLINE, &third) == 0);
	/* Its slot is that of the first. */
	QOT_CHECK(rank, qo_mesh_release(first) == -EBADF);
	QOC_PASS(qoc_mesh_destroy(rank, context, mesh));
	QOT_CHECK(rank, qo_mesh_arrived(third, 0, &view) == -EBADF);
	return qoc_leave(rank, context, team);
}

/* What is not complete can't be released; it comes late, and says so. */
static int late_round(struct qot_rank *rank)
{
	const struct qo_edge edges[] = { { 0, 1, 0, 8, 2, 0 },
					 { 1, 0, 0, 8, 2, 0 } };
	struct qo_status status = { 0 };
	struct qo_view view;
	qo_context_t context;
	qo_request_t request;
	qo_mesh_t mesh;
	qo_team_t team;
	int64_t deadline;

	QOC_PASS(qoc_join(rank, NULL, &context, &team));
	QOT_CHECK(rank, qo_mesh_create(team, edges, 2, &mesh) == 0);
	if (rank->rank == 1)
		qoc_sleep_ms(150);
	deadline = rank->rank == 0 ? qoc_in_ms(30) : qoc_in_ms(10000);
	QOT_CHECK(rank, qo_mesh_post(mesh, 0, NULL, 0, deadline, &request) == 0);
	if (rank->rank == 0) {
		QOT_CHECK(rank, qo_mesh_arrived(request, QO_ANY_EDGE, &view) ==
					-EAGAIN);
		QOT_CHECK(rank, qo_mesh_release(request) == -EBUSY);
		QOT_CHECK(rank,
			  qo_wait(request, deadline, &status) == -ETIMEDOUT);
		QOT_CHECK(rank, qoc_now() >= deadline);
		/* One that has passed looks once. */
		QOT_CHECK(rank, qo_wait(request, 1, &status) == -ETIMEDOUT);
	}
	QOT_CHECK(rank, qo_wait(request, QO_NO_DEADLINE, &status) == 0);
	QOT_CHECK(rank, status.state == QO_DONE && status.error == 0);
	QOT_CHECK(rank, status.flags == (rank->rank == 0 ? QO_STATUS_LATE : 0));
	QOT_CHECK(rank, qo_mesh_release(request) == 0);
	qot_meet_progress(rank, context);
	QOC_PASS(qoc_mesh_destroy(rank, context, mesh));
	return qoc_leave(rank, context, team);
}

/* An error on every rank, those in the middle too, naming the edge. */
static int ends_differ(struct qot_rank *rank)
{
	uint32_t last = rank->count - 1;
	struct qo_edge edge = { 0, last, 3, 8, 2, 0 };
	char name[32];
	qo_context_t context;
	qo_mesh_t mesh;
	qo_team_t team;

	snprintf(name, sizeof(name), "edge 0 -> %u tag 3", last);
	QOC_PASS(qoc_join(rank, NULL, &context, &team));
	edge.slot_bytes = rank->rank == 0 ? 8 : 16;
	QOT_CHECK(rank, qo_mesh_create(team, &edge, 1, &mesh) == -EPROTO);
	QOT_CHECK(rank, strstr(qo_error_detail(), name) != NULL);
	edge.slot_bytes = 8;
	edge.depth = rank->rank == 0 ? 2 : 4;
	QOT_CHECK(rank, qo_mesh_create(team, &edge, 1, &mesh) == -EPROTO);
	QOT_CHECK(rank, strstr(qo_error_detail(), name) != NULL);
	edge.depth = 2;
	QOT_CHECK(rank, qo_mesh_create(team, &edge, rank->rank == 0, &mesh) ==
				-EPROTO);
	QOT_CHECK(rank, strstr(qo_error_detail(), name) != NULL);
	QOT_CHECK(rank, qo_mesh_create(team, &edge, rank->rank == last,
				       &mesh) == -EPROTO);
	QOT_CHECK(rank, strstr(qo_error_detail(), name) != NULL);
	QOT_CHECK(rank, qo_mesh_create(team, &edge, 1, &mesh) == 0);
	QOC_PASS(qoc_mesh_destroy(rank, context, mesh));
	return qoc_leave(rank, context, team);
}

const struct qoc_case qoc_mesh_error_cases[] = {
	{ "bad_edges", 1, 3, bad_edges, NULL, 0 },
	{ "bad_rounds", 1, 2, bad_rounds, NULL, 0 },
	{ "late_round", 2, 2, late_round, NULL, 0 },
	{ "ends_differ", 2, 4, ends_differ, NULL, 0 },
	{ NULL, 0, 0, NULL, NULL, 0 },
};
