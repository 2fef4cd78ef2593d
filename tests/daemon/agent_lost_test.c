/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The daemon dies: what it had under way fails with "agent lost" within a
 * second, what needs no agent goes on, and a rank can end, and begin anew.
 */
#define _GNU_SOURCE /* usleep */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "libqoffload/base/fail_point.h"
#include "tests/conformance/data.h"
#include "tests/daemon/stand.h"

#define LIMIT_NS INT64_C(1000000000)
#define MANY 50000
#define TURNS 1000

static const char *const staged[] = { "QO_COLL_ALLREDUCE=ring",
				      "QO_COLL_BCAST=chain",
				      "QO_COLL_ALLGATHER=flat",
				      "QO_FINI_TIMEOUT=2s", NULL };

enum { KILLED_NS };

struct things {
	qo_context_t context;
	qo_team_t team;
	qo_op_t reduce, bcast, direct;
	qo_mesh_t mesh;
	struct qoc_room room;
	uint64_t *values; /* MANY to reduce, then small ones */
	int lost;
};

static int is_lost(struct qot_rank *rank, struct things *things, int error)
{
	things->lost = 1;
	if (error == -ECONNABORTED)
		return 0;
	fprintf(stderr, "rank %u: %s (%s), not agent lost\n", rank->rank,
		qo_error_string(error), qo_error_detail());
	return 1;
}

/* What needs no agent is made first: the daemon may die in the next line. */
static int things_make(struct qot_rank *rank, struct things *things)
{
	const struct qo_edge edge = {
		rank->rank, (rank->rank + 1) % rank->count, 0, 8, 2, 0
	};
	struct qo_edge edges[2] = { edge, edge };
	int error;

	memset(things, 0, sizeof(*things));
	edges[1].source = (rank->rank + rank->count - 1) % rank->count;
	edges[1].destination = rank->rank;
	QOC_PASS(qoc_join(rank, staged, &things->context, &things->team));
	QOC_PASS(qoc_room_take(rank, things->context, (MANY + 64) * 8,
			       &things->room));
	things->values = things->room.address;
	QOT_CHECK(rank,
		  qo_mesh_create(things->team, edges, 2, &things->mesh) == 0);
	QOT_CHECK(rank, qo_allgather_init(things->team, QO_IN_PLACE,
					  things->values + MANY, 1, QO_UINT64,
					  &things->direct) == 0);
	/* All have these, before anything can go wrong. */
	qot_meet(rank);
	error = qo_allreduce_init(things->team, QO_IN_PLACE, things->values,
				  MANY, QO_UINT64, QO_SUM, &things->reduce);
	if (error != 0)
		return is_lost(rank, things, error);
	error = qo_bcast_init(things->team, things->values + MANY + 32, 1,
			      QO_UINT64, 0, &things->bcast);
	return error == 0 ? 0 : is_lost(rank, things, error);
}

static int end_of(struct qot_rank *rank, struct things *things,
		  qo_request_t request)
{
	struct qo_status status = { 0 };
	char text[128];

	QOT_CHECK(rank, qo_wait(request, qoc_in_ms(5000), &status) == 0);
	if (status.state == QO_DONE)
		return 0;
	QOT_CHECK(rank, status.rank == QO_RANK_NONE);
	QOT_CHECK(rank, qo_status_describe(&status, text, sizeof(text)) == 0);
	QOT_CHECK(rank, strstr(text, "agent lost") != NULL);
	/* It stays so. */
	QOT_CHECK(rank, qo_test(request, &status) == 0);
	QOT_CHECK(rank, status.state == QO_FAILED);
	return is_lost(rank, things, status.error);
}

static int turn_run(struct qot_rank *rank, struct things *things)
{
	qo_op_t ops[2] = { things->reduce, things->bcast };
	qo_request_t requests[2];
	int posted, error = 0;

	for (posted = 0; posted < 2; posted++) {
		error = qo_post(ops[posted], &requests[posted]);
		if (error != 0)
			break;
	}
	if (error != 0)
		QOC_PASS(is_lost(rank, things, error));
	for (int i = 0; i < posted; i++)
		QOC_PASS(end_of(rank, things, requests[i]));
	return 0;
}

/* No daemon is in the way of a seam or of a flat exchange. */
static int direct_works(struct qot_rank *rank, struct things *things)
{
	uint64_t *gathered = things->values + MANY;

	for (uint64_t round = 0; round < 20; round++) {
		struct qo_seam seam = { 0, 8, &round };
		qo_request_t request;

		gathered[rank->rank] = round + rank->rank;
		QOC_PASS(qot_run_op(things->direct));
		for (uint64_t i = 0; i < rank->count; i++)
			QOT_CHECK(rank, gathered[i] == round + i);
		QOT_CHECK(rank, qo_mesh_post(things->mesh, round, &seam, 1,
					     QO_NO_DEADLINE, &request) == 0);
		QOC_PASS(qoc_wait_done(request, qoc_in_ms(5000)));
		QOT_CHECK(rank, qo_mesh_release(request) == 0);
	}
	return 0;
}

static int things_free(struct qot_rank *rank, struct things *things)
{
	int64_t since;

	if (things->bcast != NULL)
		QOT_CHECK(rank, qo_op_destroy(things->bcast) == 0);
	if (things->reduce != NULL)
		QOT_CHECK(rank, qo_op_destroy(things->reduce) == 0);
	qot_meet(rank);
	QOT_CHECK(rank, qo_op_destroy(things->direct) == 0);
	QOC_PASS(qoc_mesh_destroy(rank, things->context, things->mesh));
	qoc_room_free(&things->room);
	since = qoc_now();
	QOC_PASS(qoc_leave(rank, things->context, things->team));
	QOT_CHECK(rank, qoc_now() - since < LIMIT_NS);
	return 0;
}

/* Works until the agent is lost; rank 0 may be the one who sees to that. */
static int losing_rank(struct qot_rank *rank)
{
	const pid_t *shoot = qoc_env(rank)->param;
	int64_t until = INT64_MAX;
	struct things things;

	QOC_PASS(things_make(rank, &things));
	if (rank->rank == 0 && shoot != NULL)
		until = qoc_now() + 500000 +
			(int64_t)(qoc_seed((uint64_t)*shoot, 1, 2) % 8000000);
	for (int i = 0; i < TURNS && !things.lost; i++) {
		if (qoc_now() > until) {
			qod_word_set(rank, KILLED_NS, (uint64_t)qoc_now());
			kill(*shoot, SIGKILL);
			until = INT64_MAX;
		}
		QOC_PASS(turn_run(rank, &things));
	}
	QOT_CHECK(rank, things.lost);
	if (shoot != NULL)
		QOT_CHECK(rank, qoc_now() - (int64_t)qod_word(rank, KILLED_NS) <
					LIMIT_NS);
	/* And a later one, at once. */
	if (things.bcast != NULL)
		QOC_PASS(turn_run(rank, &things));
	qot_meet(rank);
	QOC_PASS(direct_works(rank, &things));
	return things_free(rank, &things);
}

/* The daemon ends at a step of its own. */
static int QOD_HOOKED at_point(const void *param)
{
	static const char *const ways[] = { "map", "cross", "stage" };
	static const uint32_t counts[] = { 1, 2, 6 };
	const char *point = param;
	struct qod_stand stand;
	char text[64];
	int failed = 0;

	for (int i = 0; i < 3; i++) {
		snprintf(text, sizeof(text), "%s:%u", point, counts[i]);
		if (qod_open(&stand, NULL, text) != 0)
			return 1;
		qod_set_way(&stand, ways[i]);
		if (qod_run(&stand, 3, losing_rank, NULL, 0) != 0) {
			fprintf(stderr, "at %s, %s\n", text, ways[i]);
			failed++;
		}
		failed += qot_daemon_await_death(&stand.daemon, 2000);
	}
	return failed;
}

static int shot(const void *param)
{
	const char *way = param;
	struct qod_stand stand;
	int failed = 0;

	for (int i = 0; i < (qod_long() ? 50 : 4); i++) {
		if (qod_open(&stand, NULL, NULL) != 0)
			return 1;
		qod_set_way(&stand, way);
		failed += qod_run(&stand, 3, losing_rank, &stand.daemon.pid, 0);
		failed += qot_daemon_await_death(&stand.daemon, 2000);
	}
	return failed;
}

#define ATTACH_NS INT64_C(3000000000)

/* It dies or stands still while a client attaches: an error, in time. */
static int attaching_rank(struct qot_rank *rank)
{
	static const char *const brief[] = { "QO_AGENT_TIMEOUT=1s", NULL };
	static const char *const by_itself[] = { "QO_AGENT=auto",
						 "QO_AGENT_TIMEOUT=1s", NULL };
	struct qo_agent_info info = QO_AGENT_INFO_INIT;
	int64_t since = qoc_now();
	qo_context_t context;
	qo_team_t team;

	QOT_CHECK(rank, qoc_join(rank, brief, &context, &team) != 0);
	QOT_CHECK(rank, qo_error_detail()[0] != '\0');
	QOT_CHECK(rank, qoc_now() - since < ATTACH_NS);
	if (qoc_env(rank)->param != NULL)
		return 0;
	QOC_PASS(qoc_join(rank, by_itself, &context, &team));
	QOT_CHECK(rank, qo_agent_query(context, &info) == 0);
	QOT_CHECK(rank, info.kind == QO_AGENT_THREAD);
	return qoc_leave(rank, context, team);
}

static int QOD_HOOKED in_attach(const void *param)
{
	static const char *const points[] = { "daemon_accepted", "daemon_hello",
					      "daemon_welcome" };
	struct qod_stand stand;
	char stop[64];
	int failed = 0;

	(void)param;
	for (int i = 0; i < 3; i++) {
		if (qod_open(&stand, NULL, points[i]) != 0)
			return 1;
		failed += qod_run(&stand, 1, attaching_rank, NULL, 0);
		failed += qot_daemon_await_death(&stand.daemon, 2000);
		snprintf(stop, sizeof(stop), "%s:1:stop", points[i]);
		if (qod_open(&stand, NULL, stop) != 0)
			return 1;
		failed += qod_run(&stand, 1, attaching_rank, &stand, 0);
		qot_daemon_kill(&stand.daemon);
	}
	return failed;
}

/* A client that leaves does not care whether the daemon outlives that. */
static int leaving_rank(struct qot_rank *rank)
{
	qo_context_t context;
	qo_team_t team;

	QOC_PASS(qoc_join(rank, NULL, &context, &team));
	return qoc_leave(rank, context, team);
}

static int QOD_HOOKED in_farewell(const void *param)
{
	struct qod_stand stand;
	int failed;

	(void)param;
	if (qod_open(&stand, NULL, "daemon_session_end") != 0)
		return 1;
	failed = qod_run(&stand, 2, leaving_rank, NULL, 0);
	return failed + qot_daemon_await_death(&stand.daemon, 2000);
}

#ifdef QO_DEBUG_HOOKS
#define POINTS 1
#else
#define POINTS 0
#endif

static const struct qod_test tests[] = {
#if POINTS
	{ "in_attach", in_attach, NULL },
	{ "in_farewell", in_farewell, NULL },
	{ "half_added", at_point, "half_added" },
	{ "half_started", at_point, "half_started" },
	{ "half_moved", at_point, "half_moved" },
	{ "half_completed", at_point, "half_completed" },
#endif
	{ "shot_map", shot, "map" },
	{ "shot_cross", shot, "cross" },
	{ "shot_stage", shot, "stage" },
	{ NULL, NULL, NULL },
};

int main(int argc, char **argv)
{
	if (!POINTS)
		printf("skip fail points: not compiled in "
		       "(--enable-debug-hooks)\n");
	return qod_main(argc, argv, tests, 120);
}
