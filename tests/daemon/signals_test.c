/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signals to the daemon: stopped and continued it loses nothing; told to end
 * it finishes what is under way, and takes nothing more.
 */
#define _GNU_SOURCE /* usleep */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/data.h"
#include "tests/daemon/stand.h"

#define MANY 20000

static const char *const staged[] = { "QO_COLL_ALLREDUCE=ring",
				      "QO_COLL_BCAST=chain", NULL };

/* Sums over the ranks, one after the other, all checked. */
static int busy_rank(struct qot_rank *rank)
{
	const pid_t *daemon = qoc_env(rank)->param;
	struct qoc_room room;
	qo_context_t context;
	uint64_t *values;
	qo_team_t team;
	qo_op_t op;

	QOC_PASS(qoc_join(rank, staged, &context, &team));
	QOC_PASS(qoc_room_take(rank, context, MANY * 8, &room));
	values = room.address;
	QOT_CHECK(rank, qo_allreduce_init(team, QO_IN_PLACE, values, MANY,
					  QO_UINT64, QO_SUM, &op) == 0);
	for (uint64_t turn = 0; turn < 40; turn++) {
		qo_request_t request;

		for (uint64_t i = 0; i < MANY; i++)
			values[i] = turn + i + rank->rank;
		QOT_CHECK(rank, qo_post(op, &request) == 0);
		if (rank->rank == 0 && turn % 4 == 0) {
			QOC_PASS(qot_freeze(*daemon));
			usleep((useconds_t)(qoc_seed(turn, 1, 1) % 8000));
			QOC_PASS(qot_thaw(*daemon));
		}
		QOC_PASS(qoc_wait_done(request, qoc_in_ms(10000)));
		for (uint64_t i = 0; i < MANY; i++)
			QOT_CHECK(rank, values[i] == 3 * (turn + i) + 3);
	}
	QOT_CHECK(rank, qo_op_destroy(op) == 0);
	qoc_room_free(&room);
	return qoc_leave(rank, context, team);
}

static int stop_and_continue(const void *param)
{
	struct qod_stand stand;
	int failed;

	if (qod_open(&stand, NULL, NULL) != 0)
		return 1;
	qod_set_way(&stand, param);
	failed = qod_run(&stand, 3, busy_rank, &stand.daemon.pid, 0);
	return failed + qod_close(&stand);
}

/* A client that comes while the daemon is stopped waits for it, and joins. */
static int late_rank(struct qot_rank *rank)
{
	const pid_t *daemon = qoc_env(rank)->param;
	qo_context_t context;
	uint64_t value = rank->rank == 0;
	qo_team_t team;
	pid_t child = 0;
	qo_op_t op;

	if (rank->rank == 0) {
		QOC_PASS(qot_freeze(*daemon));
		child = fork();
		if (child == 0) {
			usleep(150000);
			_exit(qot_thaw(*daemon));
		}
	}
	qot_meet(rank);
	QOC_PASS(qoc_join(rank, staged, &context, &team));
	QOT_CHECK(rank, qo_bcast_init(team, &value, 1, QO_UINT64, 0, &op) == 0);
	QOC_PASS(qot_run_op(op));
	QOT_CHECK(rank, value == 1);
	QOT_CHECK(rank, qo_op_destroy(op) == 0);
	if (child != 0)
		waitpid(child, NULL, 0);
	return qoc_leave(rank, context, team);
}

static int attach_while_stopped(const void *param)
{
	struct qod_stand stand;
	int failed;

	(void)param;
	if (qod_open(&stand, NULL, NULL) != 0)
		return 1;
	failed = qod_run(&stand, 2, late_rank, &stand.daemon.pid, 0);
	return failed + qod_close(&stand);
}

/* What all have posted is finished; what comes after the signal fails. */
static int drained_rank(struct qot_rank *rank)
{
	const pid_t *daemon = qoc_env(rank)->param;
	uint64_t after = 0, *values;
	qo_op_t before_op, after_op;
	struct qoc_room room;
	qo_request_t request;
	qo_context_t context;
	qo_team_t team;
	int error;

	QOC_PASS(qoc_join(rank, staged, &context, &team));
	QOC_PASS(qoc_room_take(rank, context, 50 * MANY * 8, &room));
	values = room.address;
	QOT_CHECK(rank, qo_allreduce_init(team, QO_IN_PLACE, values, 50 * MANY,
					  QO_UINT64, QO_SUM, &before_op) == 0);
	QOT_CHECK(rank,
		  qo_bcast_init(team, &after, 1, QO_UINT64, 0, &after_op) == 0);
	values[50 * MANY - 1] = rank->rank + 1;
	QOT_CHECK(rank, qo_post(before_op, &request) == 0);
	qot_meet(rank);
	if (rank->rank == 0)
		kill(*daemon, SIGTERM);
	QOC_PASS(qoc_wait_done(request, qoc_in_ms(10000)));
	QOT_CHECK(rank, values[50 * MANY - 1] == 6);
	qot_meet(rank);
	error = qo_post(after_op, &request);
	if (error == 0)
		QOC_PASS(qod_ends(rank, request, 6000, -ECONNABORTED,
				  QO_RANK_NONE));
	else
		QOT_CHECK(rank, error == -ECONNABORTED);
	QOT_CHECK(rank, qo_op_destroy(before_op) == 0);
	QOT_CHECK(rank, qo_op_destroy(after_op) == 0);
	qoc_room_free(&room);
	return qoc_leave(rank, context, team);
}

static int drain(const void *param)
{
	struct qod_stand stand;
	int failed;

	if (qod_open(&stand, NULL, NULL) != 0)
		return 1;
	qod_set_way(&stand, param);
	failed = qod_run(&stand, 3, drained_rank, &stand.daemon.pid, 0);
	/* It was told already; told again it does the same. */
	return failed + qot_daemon_stop(&stand.daemon, 5000);
}

/* What never ends does not keep it: a rank has not posted its part. */
static int hopeless_rank(struct qot_rank *rank)
{
	const pid_t *daemon = qoc_env(rank)->param;
	uint64_t value = 0;
	qo_request_t request;
	qo_context_t context;
	qo_team_t team;
	qo_op_t op;

	QOC_PASS(qoc_join(rank, staged, &context, &team));
	QOT_CHECK(rank, qo_bcast_init(team, &value, 1, QO_UINT64, 0, &op) == 0);
	if (rank->rank == 1) {
		QOT_CHECK(rank, qo_post(op, &request) == 0);
		kill(*daemon, SIGTERM);
		QOC_PASS(qod_ends(rank, request, 4000, -ECONNABORTED,
				  QO_RANK_NONE));
	}
	qot_meet(rank);
	QOT_CHECK(rank, qo_op_destroy(op) == 0);
	return qoc_leave(rank, context, team);
}

static int drain_in_vain(const void *param)
{
	static const char *const brief[] = { "--drain=1", NULL };
	struct qod_stand stand;
	int failed;

	(void)param;
	if (qod_open(&stand, brief, NULL) != 0)
		return 1;
	failed = qod_run(&stand, 2, hopeless_rank, &stand.daemon.pid, 0);
	return failed + qot_daemon_stop(&stand.daemon, 3000);
}

static const struct qod_test tests[] = {
	{ "stop_and_continue_map", stop_and_continue, "map" },
	{ "stop_and_continue_cross", stop_and_continue, "cross" },
	{ "stop_and_continue_stage", stop_and_continue, "stage" },
	{ "attach_while_stopped", attach_while_stopped, NULL },
	{ "drain_cross", drain, "cross" },
	{ "drain_stage", drain, "stage" },
	{ "drain_in_vain", drain_in_vain, NULL },
	{ NULL, NULL, NULL },
};

int main(int argc, char **argv)
{
	return qod_main(argc, argv, tests, 120);
}
