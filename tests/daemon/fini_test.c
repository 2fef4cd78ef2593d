/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks that end early, badly, or not at all: others get what they need, the
 * end is bounded, and the daemon has nothing left.  And ranks that fork.
 */
#define _GNU_SOURCE /* popen */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/data.h"
#include "tests/daemon/stand.h"

#define RANKS 4
#define MANY 60000

static const char *const chain[] = { "QO_COLL_BCAST=chain",
				     "QO_FINI_TIMEOUT=1s", NULL };
static const char *const tree[] = { "QO_COLL_BCAST=binomial",
				    "QO_FINI_TIMEOUT=1s", NULL };

static int serve(const void *way, qot_rank_fn fn, uint32_t ranks,
		 const void *param)
{
	struct qod_stand stand;
	int failed;

	if (qod_open(&stand, NULL, NULL) != 0)
		return 1;
	if (way != NULL)
		qod_set_way(&stand, way);
	failed = qod_run(&stand, ranks, fn, param, 0);
	return failed + qod_close(&stand);
}

/*
 * Each rank leaves as soon as its own part is done, while those behind it in
 * the chain or the tree have not begun.
 */
static int leaving_rank(struct qot_rank *rank)
{
	const char *const *algorithm = qoc_env(rank)->param;

	for (uint64_t turn = 0; turn < 8; turn++) {
		uint32_t root = (uint32_t)(turn % RANKS);
		uint64_t count = turn % 2 == 0 ? 5 : MANY;
		struct qoc_room room;
		qo_context_t context;
		uint64_t *values;
		qo_team_t team;
		qo_op_t op;

		QOC_PASS(qoc_join(rank, algorithm, &context, &team));
		QOC_PASS(qoc_room_take(rank, context, count * 8, &room));
		values = room.address;
		QOT_CHECK(rank, qo_bcast_init(team, values, count, QO_UINT64,
					      root, &op) == 0);
		if (rank->rank == root)
			values[count - 1] = turn + 7;
		else if (rank->rank == (root + 3) % RANKS)
			qoc_sleep_ms(30);
		QOC_PASS(qot_run_op(op));
		QOT_CHECK(rank, values[count - 1] == turn + 7);
		QOT_CHECK(rank, qo_op_destroy(op) == 0);
		qoc_room_free(&room);
		QOC_PASS(qoc_leave(rank, context, team));
	}
	return 0;
}

static int leave_chain(const void *param)
{
	return serve(param, leaving_rank, RANKS, chain);
}

static int leave_tree(const void *param)
{
	return serve(param, leaving_rank, RANKS, tree);
}

/*
 * Rank 1 ends with a request under way: it is told, in bounded time; who needs
 * its part hears that it has finalised.
 */
static int left_over_rank(struct qot_rank *rank)
{
	static const char *const brief[] = { "QO_COLL_BCAST=chain",
					     "QO_FINI_TIMEOUT=200ms", NULL };
	uint64_t value = 0;
	qo_context_t context;
	qo_request_t request;
	qo_team_t team;
	int64_t since;
	qo_op_t op;

	QOC_PASS(qoc_join(rank, brief, &context, &team));
	QOT_CHECK(rank, qo_bcast_init(team, &value, 1, QO_UINT64, 0, &op) == 0);
	if (rank->rank == 0)
		qot_meet(rank);
	if (rank->rank != 0)
		QOT_CHECK(rank, qo_post(op, &request) == 0);
	if (rank->rank == 1) {
		since = qoc_now();
		QOT_CHECK(rank, qo_fini(context) == -EBUSY);
		QOT_CHECK(rank, qoc_now() - since < INT64_C(2000000000));
		qot_meet(rank);
		return 0;
	}
	if (rank->rank == 2) {
		/* It waits for rank 1, and rank 1 is gone. */
		QOC_PASS(qod_ends(rank, request, 5000, -EPIPE, 1));
		qot_meet(rank);
	} else {
		struct qo_status status = { 0 };
		int error = qo_post(op, &request);

		/* It misses nothing of rank 1: it may be done, or be told. */
		if (error == 0)
			QOT_CHECK(rank, qo_wait(request, qoc_in_ms(5000),
						&status) == 0);
		error = error == 0 ? status.error : error;
		QOT_CHECK(rank, error == 0 || error == -EPIPE);
	}
	QOT_CHECK(rank, qo_op_destroy(op) == 0);
	return qoc_leave(rank, context, team);
}

static int left_over(const void *param)
{
	return serve(param, left_over_rank, 3, NULL);
}

/* exit() with everything open; the daemon sees a client that is lost. */
static int exiting_rank(struct qot_rank *rank)
{
	uint64_t value = 0;
	qo_context_t context;
	qo_request_t request;
	qo_team_t team;
	qo_op_t op;

	QOC_PASS(qoc_join(rank, chain, &context, &team));
	QOT_CHECK(rank, qo_bcast_init(team, &value, 1, QO_UINT64, 1, &op) == 0);
	if (rank->rank == 1) {
		/* Nobody hears of a request that was never posted. */
		qot_meet(rank);
		exit(0);
	}
	QOT_CHECK(rank, qo_post(op, &request) == 0);
	qot_meet(rank);
	QOC_PASS(qod_ends(rank, request, 1000, -ECONNRESET, 1));
	QOT_CHECK(rank, qo_op_destroy(op) == 0);
	return qoc_leave(rank, context, team);
}

static int exit_without_fini(const void *param)
{
	return serve(param, exiting_rank, 3, NULL);
}

/* The child writes beside a buffer, is refused what is not its own, exits. */
static void child_run(qo_op_t op, uint64_t *beside)
{
	qo_request_t request;
	int error;

	memset(beside, 0xff, 8);
	error = qo_post(op, &request);
	if (error != -EPERM)
		_exit(11);
	exit(12);
}

static int forks_here(struct qot_rank *rank, qo_op_t op, uint64_t *beside)
{
	char line[8] = "";
	int status = 0;
	pid_t child;
	FILE *pipe = popen("echo true", "r");

	QOT_CHECK(rank, pipe != NULL);
	QOT_CHECK(rank, fgets(line, sizeof(line), pipe) != NULL);
	QOT_CHECK(rank, pclose(pipe) == 0);
	fflush(NULL);
	child = fork();
	if (child == 0)
		child_run(op, beside);
	QOT_CHECK(rank, child > 0 && waitpid(child, &status, 0) == child);
	QOT_CHECK(rank, WIFEXITED(status) && WEXITSTATUS(status) == 12);
	return 0;
}

/* Children between and during operations disturb nothing (I1). */
static int forking_rank(struct qot_rank *rank)
{
	uint64_t turns = qod_long() ? 100 : 25;
	struct qoc_room room;
	qo_context_t context;
	uint64_t *values;
	qo_team_t team;
	qo_op_t op;

	QOC_PASS(qoc_join(rank, chain, &context, &team));
	QOC_PASS(qoc_room_take(rank, context, (MANY + 8) * 8, &room));
	values = room.address;
	QOT_CHECK(rank,
		  qo_bcast_init(team, values, MANY, QO_UINT64, 0, &op) == 0);
	for (uint64_t turn = 1; turn <= turns; turn++) {
		qo_request_t request;

		if (rank->rank == 0)
			qoc_fill(values, QO_UINT64, MANY, turn);
		QOT_CHECK(rank, qo_post(op, &request) == 0);
		QOC_PASS(forks_here(rank, op, values + MANY));
		QOC_PASS(qoc_wait_done(request, qoc_in_ms(10000)));
		QOT_CHECK(rank, values[MANY - 1] == qoc_seed(turn, MANY - 1, 7));
	}
	QOT_CHECK(rank, qo_op_destroy(op) == 0);
	qoc_room_free(&room);
	return qoc_leave(rank, context, team);
}

static int forks(const void *param)
{
	return serve(param, forking_rank, 2, NULL);
}

/* A child may use the library anew, with a session of its own. */
static int child_of_its_own(struct qot_rank *rank)
{
	struct qo_init_params params = QO_INIT_PARAMS_INIT;
	qo_context_t context, own;
	qo_team_t team;
	int status = 0;
	pid_t child;

	params.settings = qoc_env(rank)->settings;
	QOC_PASS(qoc_join(rank, chain, &context, &team));
	fflush(NULL);
	child = fork();
	if (child == 0)
		_exit(qo_init(&params, &own) == 0 && qo_fini(own) == 0 ? 0 : 1);
	QOT_CHECK(rank, waitpid(child, &status, 0) == child && status == 0);
	return qoc_leave(rank, context, team);
}

static int child_init(const void *param)
{
	return serve(param, child_of_its_own, 2, NULL);
}

#define CHILDREN 400

/* Children that hold, for a while, whatever descriptors were open just then. */
static void *forker_main(void *arg)
{
	const uint32_t *stop = arg;

	for (int i = 0; i < CHILDREN; i++) {
		pid_t child;

		if (__atomic_load_n(stop, __ATOMIC_ACQUIRE))
			break;
		child = fork();
		if (child == 0) {
			usleep(30000);
			_exit(0);
		}
		usleep(500);
	}
	while (waitpid(-1, NULL, 0) > 0)
		;
	return NULL;
}

/* Connections come and go while children have copies of their sockets. */
static int forks_in_setup_rank(struct qot_rank *rank)
{
	uint32_t stop = 0;
	pthread_t forker;

	QOT_CHECK(rank, pthread_create(&forker, NULL, forker_main, &stop) == 0);
	for (uint64_t turn = 0; turn < 25; turn++) {
		uint64_t value = rank->rank == 0 ? turn : 0;
		qo_context_t context;
		qo_team_t team;
		qo_op_t op;

		QOC_PASS(qoc_join(rank, chain, &context, &team));
		QOT_CHECK(rank, qo_bcast_init(team, &value, 1, QO_UINT64, 0,
					      &op) == 0);
		QOC_PASS(qot_run_op(op));
		QOT_CHECK(rank, value == turn);
		QOT_CHECK(rank, qo_op_destroy(op) == 0);
		QOC_PASS(qoc_leave(rank, context, team));
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	pthread_join(forker, NULL);
	return 0;
}

static int forks_in_setup(const void *param)
{
	return serve(param, forks_in_setup_rank, 3, NULL);
}

static const struct qod_test tests[] = {
	{ "leave_chain_map", leave_chain, "map" },
	{ "leave_chain_stage", leave_chain, "stage" },
	{ "leave_chain_cross", leave_chain, "cross" },
	{ "leave_tree_map", leave_tree, "map" },
	{ "leave_tree_stage", leave_tree, "stage" },
	{ "leave_tree_cross", leave_tree, "cross" },
	{ "left_over", left_over, NULL },
	{ "exit_without_fini", exit_without_fini, NULL },
	{ "forks_map", forks, "map" },
	{ "forks_cross", forks, "cross" },
	{ "forks_stage", forks, "stage" },
	{ "child_init", child_init, NULL },
	{ "forks_in_setup", forks_in_setup, NULL },
	{ NULL, NULL, NULL },
};

int main(int argc, char **argv)
{
	return qod_main(argc, argv, tests, 120);
}
