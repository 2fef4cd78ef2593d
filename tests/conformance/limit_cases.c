/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory, descriptors and threads that are not to be had: errors, no signal. */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "tests/conformance/suite.h"

static int small_works(struct qot_rank *rank, qo_context_t context,
		       qo_team_t team)
{
	const struct qo_edge edge = { rank->rank, rank->rank, 0, 8, 2, 0 };
	qo_request_t request;
	qo_mesh_t mesh;

	QOT_CHECK(rank, qo_mesh_create(team, &edge, 1, &mesh) == 0);
	QOT_CHECK(rank,
		  qo_mesh_post(mesh, 0, NULL, 0, QO_NO_DEADLINE, &request) == 0);
	QOC_PASS(qoc_wait_done(request, qoc_in_ms(5000)));
	QOT_CHECK(rank, qo_mesh_release(request) == 0);
	return qoc_mesh_destroy(rank, context, mesh);
}

/*
 * The last rank wants more shared memory than there is: all get an error that
 * says how much was needed, nobody is killed, and less works.
 */
static int huge_mesh(struct qot_rank *rank)
{
	struct qo_edge edge = { rank->rank, rank->rank, 0, 64, 2, 0 };
	qo_context_t context;
	qo_mesh_t mesh;
	qo_team_t team;
	void *address;
	qo_mem_t mem;

	QOC_PASS(qoc_join(rank, NULL, &context, &team));
	if (rank->rank == rank->count - 1) {
		edge.slot_bytes = QO_EDGE_SLOT_BYTES_MAX;
		edge.depth = QO_EDGE_DEPTH_MAX;
	}
	QOT_CHECK(rank, qo_mesh_create(team, &edge, 1, &mesh) == -ENOSPC);
	QOT_CHECK(rank, strstr(qo_error_detail(), "68719") != NULL);
	QOT_CHECK(rank, rank->count == 1 ||
				strstr(qo_error_detail(), "available") != NULL);
	QOC_PASS(small_works(rank, context, team));
	QOT_CHECK(rank, qo_mem_alloc(context, SIZE_MAX / 4, &address, &mem) ==
				-ENOSPC);
	QOT_CHECK(rank, qo_mem_alloc(context, 1 << 20, &address, &mem) == 0);
	memset(address, 1, 1 << 20);
	QOT_CHECK(rank, qo_mem_release(mem) == 0);
	return qoc_leave(rank, context, team);
}

static void limit_set(int which, rlim_t soft)
{
	struct rlimit limit;

	getrlimit(which, &limit);
	limit.rlim_cur = soft;
	setrlimit(which, &limit);
}

static void limit_lift(int which)
{
	struct rlimit limit;

	getrlimit(which, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(which, &limit);
}

/* With ever more descriptors: an error with a text, or it works. */
static int few_descriptors(struct qot_rank *rank)
{
	struct qo_init_params params = QO_INIT_PARAMS_INIT;
	uint32_t failures = 0;
	qo_context_t context;
	qo_team_t team;

	params.settings = qoc_env(rank)->settings;
	for (rlim_t count = 3; count < 40; count++) {
		int error;

		limit_set(RLIMIT_NOFILE, count);
		error = qo_init(&params, &context);
		limit_lift(RLIMIT_NOFILE);
		if (error == 0) {
			QOT_CHECK(rank, qo_fini(context) == 0);
			break;
		}
		failures++;
		QOT_CHECK(rank, qo_error_detail()[0] != '\0');
	}
	QOT_CHECK(rank, failures > 0 && failures < 36);
	/* It works again. */
	QOC_PASS(qoc_join(rank, NULL, &context, &team));
	return qoc_leave(rank, context, team);
}

/* One rank of the team runs out: an error on each, in time, and a way out. */
static int one_runs_out(struct qot_rank *rank)
{
	static const char *const brief[] = { "QO_CONNECT_TIMEOUT=2s", NULL };
	qo_context_t context;
	qo_mesh_t mesh;
	qo_team_t team;
	struct qo_edge edges[2] = { { 0, 1, 0, 4096, 8, 0 },
				    { 1, 0, 0, 4096, 8, 0 } };

	QOC_PASS(qoc_join(rank, brief, &context, &team));
	if (rank->rank == 1)
		limit_set(RLIMIT_NOFILE, 3);
	QOT_CHECK(rank, qo_mesh_create(team, edges, 2, &mesh) != 0);
	QOT_CHECK(rank, qo_error_detail()[0] != '\0');
	limit_lift(RLIMIT_NOFILE);
	qot_meet_progress(rank, context);
	QOC_PASS(qoc_leave(rank, context, team));
	qot_meet(rank);
	QOC_PASS(qoc_join(rank, NULL, &context, &team));
	QOC_PASS(small_works(rank, context, team));
	return qoc_leave(rank, context, team);
}

/* 64 KB of locked memory, as service managers set: nothing needs more. */
static int locked_memory(struct qot_rank *rank)
{
	qo_context_t context;
	qo_team_t team;

	limit_set(RLIMIT_MEMLOCK, 65536);
	QOC_PASS(qoc_join(rank, NULL, &context, &team));
	QOC_PASS(small_works(rank, context, team));
	return qoc_leave(rank, context, team);
}

/* Destroying one operation does not wait for another one. */
static int destroy_beside_pending(struct qot_rank *rank)
{
	qo_context_t context;
	qo_request_t request;
	qo_team_t team;
	qo_op_t done, other;

	QOC_PASS(qoc_join(rank, NULL, &context, &team));
	QOT_CHECK(rank, qo_barrier_init(team, &done) == 0);
	QOT_CHECK(rank, qo_barrier_init(team, &other) == 0);
	QOC_PASS(qot_run_op(done));
	if (rank->rank == 1)
		qot_meet_progress(rank, context);
	QOT_CHECK(rank, qo_post(other, &request) == 0);
	if (rank->rank == 0) {
		int64_t since = qoc_now();

		QOT_CHECK(rank, qo_op_destroy(done) == 0);
		QOT_CHECK(rank, qoc_now() - since < INT64_C(1000000000));
		qot_meet_progress(rank, context);
	}
	QOC_PASS(qoc_wait_done(request, QO_NO_DEADLINE));
	QOT_CHECK(rank, rank->rank == 0 || qo_op_destroy(done) == 0);
	QOT_CHECK(rank, qo_op_destroy(other) == 0);
	return qoc_leave(rank, context, team);
}

const struct qoc_case qoc_limit_cases[] = {
	{ "huge_mesh", 1, 3, huge_mesh, NULL, 0 },
	{ "few_descriptors", 1, 2, few_descriptors, NULL, 0 },
	{ "one_runs_out", 2, 2, one_runs_out, NULL, 0 },
	{ "locked_memory", 1, 2, locked_memory, NULL, 0 },
	{ "destroy_beside_pending", 2, 2, destroy_beside_pending, NULL, 0 },
	{ NULL, 0, 0, NULL, NULL, 0 },
};
