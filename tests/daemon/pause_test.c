/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client stands still at each step of its dealings with the daemon, with
 * whatever it holds just then: others go on, and when it continues, so does
 * all that it was in.
 */
#define _GNU_SOURCE /* usleep */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libqoffload/base/fail_point.h"
#include "tests/daemon/stand.h"

#define MANY 20000
#define TURNS 5
#define LIMIT_NS INT64_C(1000000000)
/* Exchanges of the others while it stands still. */
#define MEANWHILE 30

static const char *const staged[] = { "QO_COLL_ALLREDUCE=ring",
				      "QO_COLL_BCAST=chain", NULL };

/* Words that all share. */
enum { PAUSED_PID, OVER, LAST };

struct plan {
	const char *way;
	const char *point; /* NULL: at any moment */
};

static int sums_run(struct qot_rank *rank, qo_op_t op, uint64_t *values)
{
	for (uint64_t turn = 0; turn < TURNS; turn++) {
		for (uint64_t i = 0; i < MANY; i++)
			values[i] = turn + i + rank->rank;
		QOC_PASS(qot_run_op(op));
		for (uint64_t i = 0; i < MANY; i++)
			QOT_CHECK(rank, values[i] == 2 * (turn + i) + 1);
	}
	return 0;
}

/* Of the pair one is paused.  At any moment: they go on until it was. */
static int paused_rank(struct qot_rank *rank)
{
	const struct plan *plan = qoc_env(rank)->param;
	struct qoc_room room;
	qo_context_t context;
	qo_team_t team;
	char text[64];
	qo_op_t op;

	if (rank->rank == 1)
		qod_word_set(rank, PAUSED_PID, (uint64_t)getpid());
	if (rank->rank == 1 && plan->point != NULL) {
		snprintf(text, sizeof(text), "%s:1:stop", plan->point);
		setenv("QO_TEST_FAIL_POINT", text, 1);
	}
	QOC_PASS(qoc_join(rank, staged, &context, &team));
	QOC_PASS(qoc_room_take(rank, context, MANY * 8, &room));
	QOT_CHECK(rank, qo_allreduce_init(team, QO_IN_PLACE, room.address, MANY,
					  QO_UINT64, QO_SUM, &op) == 0);
	for (uint64_t last = 0; last == 0;) {
		QOC_PASS(sums_run(rank, op, room.address));
		/* One decides for both, or they would part. */
		if (rank->rank == 0)
			qod_word_set(rank, LAST,
				     plan->point != NULL ||
					     qod_word(rank, OVER) != 0);
		qot_meet(rank);
		last = qod_word(rank, LAST);
		qot_meet(rank);
	}
	QOT_CHECK(rank, qo_op_destroy(op) == 0);
	qoc_room_free(&room);
	return qoc_leave(rank, context, team);
}

/* Waits for the stop at its point, or stops it at this moment. */
static int pause_begin(struct qot_rank *rank, uint64_t turn)
{
	const struct plan *plan = qoc_env(rank)->param;

	QOC_PASS(qod_word_await(rank, PAUSED_PID, 1));
	if (plan->point != NULL)
		return qot_await_frozen((pid_t)qod_word(rank, PAUSED_PID));
	usleep((useconds_t)(5000 + turn * 7919 % 20000));
	return qot_freeze((pid_t)qod_word(rank, PAUSED_PID));
}

static int exchanges_run(struct qot_rank *rank, qo_op_t op, uint64_t *value)
{
	for (uint64_t i = 1; i <= MEANWHILE; i++) {
		int64_t since = qoc_now();

		*value = rank->rank == 0 ? i : 0;
		QOC_PASS(qot_run_op(op));
		QOT_CHECK(rank, *value == i);
		QOT_CHECK(rank, qoc_now() - since < LIMIT_NS);
	}
	return 0;
}

/* The other pair: exchanges while the paused one stands still. */
static int watching_rank(struct qot_rank *rank)
{
	const struct plan *plan = qoc_env(rank)->param;
	uint64_t pauses = plan->point != NULL ? 1 : qod_long() ? 100 : 8;
	qo_context_t context;
	uint64_t value = 0;
	qo_team_t team;
	qo_op_t op;

	QOC_PASS(qoc_join(rank, staged, &context, &team));
	QOT_CHECK(rank, qo_bcast_init(team, &value, 1, QO_UINT64, 0, &op) == 0);
	for (uint64_t turn = 0; turn < pauses; turn++) {
		if (rank->rank == 0)
			QOC_PASS(pause_begin(rank, turn));
		qot_meet(rank);
		QOC_PASS(exchanges_run(rank, op, &value));
		qot_meet(rank);
		if (rank->rank == 0)
			QOC_PASS(qot_thaw((pid_t)qod_word(rank, PAUSED_PID)));
	}
	qod_word_set(rank, OVER, 1);
	QOT_CHECK(rank, qo_op_destroy(op) == 0);
	return qoc_leave(rank, context, team);
}

static int paused(const void *param)
{
	const struct plan *plan = param;
	struct qod_stand stand;
	int failed, status = 0;
	pid_t pid;

	if (qod_open(&stand, NULL, NULL) != 0)
		return 1;
	qod_set_way(&stand, plan->way);
	qod_share(&stand);
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		_exit(qod_run(&stand, 2, watching_rank, plan, 0) != 0);
	failed = qod_run(&stand, 2, paused_rank, plan, 0);
	waitpid(pid, &status, 0);
	return failed + (status != 0) + qod_close(&stand);
}

#ifdef QO_DEBUG_HOOKS
#define POINTS 1
#else
#define POINTS 0
#endif

static const struct plan plans[] = {
	{ "map", "attach_connected" },
	{ "map", "attach_hello_sent" },
	{ "map", "attach_welcomed" },
	{ "map", "op_add_sent" },
	{ "stage", "op_added" },
	{ "map", "post_claimed" },
	{ "cross", "post_claimed" },
	{ "stage", "post_published" },
	{ "cross", "post_published" },
	{ "map", "read_completed" },
	{ "stage", "read_completed" },
	{ "cross", "released" },
	{ "cross", "bye_sent" },
	{ "map", NULL },
	{ "cross", NULL },
	{ "stage", NULL },
};

static const struct qod_test tests[] = {
#if POINTS
	{ "attach_connected", paused, &plans[0] },
	{ "attach_hello_sent", paused, &plans[1] },
	{ "attach_welcomed", paused, &plans[2] },
	{ "op_add_sent", paused, &plans[3] },
	{ "op_added", paused, &plans[4] },
	{ "post_claimed_map", paused, &plans[5] },
	{ "post_claimed_cross", paused, &plans[6] },
	{ "post_published_stage", paused, &plans[7] },
	{ "post_published_cross", paused, &plans[8] },
	{ "read_completed_map", paused, &plans[9] },
	{ "read_completed_stage", paused, &plans[10] },
	{ "released", paused, &plans[11] },
	{ "bye_sent", paused, &plans[12] },
#endif
	{ "anywhere_map", paused, &plans[13] },
	{ "anywhere_cross", paused, &plans[14] },
	{ "anywhere_stage", paused, &plans[15] },
	{ NULL, NULL, NULL },
};

int main(int argc, char **argv)
{
	if (!POINTS)
		printf("skip fail points: not compiled in "
		       "(--enable-debug-hooks)\n");
	return qod_main(argc, argv, tests, 120);
}
