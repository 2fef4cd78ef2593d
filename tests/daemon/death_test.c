/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank dies at each step of its dealings with the daemon: who needs it hears
 * so within a second, others go on, and the daemon has nothing of it left.
 */
#define _GNU_SOURCE /* usleep */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libqoffload/base/fail_point.h"
#include "tests/daemon/stand.h"

#define VICTIM 1
#define LIMIT_NS INT64_C(1000000000)
#define MANY 50000
#define TURNS 4

/* Words that the ranks share. */
enum { ALIVE_NS, OVER, VICTIM_PID };

static const char *const staged[] = { "QO_COLL_ALLREDUCE=ring",
				      "QO_COLL_BCAST=chain",
				      "QO_FINI_TIMEOUT=2s", NULL };

struct plan {
	const char *way;
	const char *point; /* NULL: killed from outside, at some moment */
	uint32_t counts;   /* the first so many times are tried in turn */
	uint32_t count;	   /* this one */
};

struct things {
	qo_context_t context;
	qo_team_t team, part;
	qo_op_t reduce, bcast, apart;
	struct qoc_room room;
	uint64_t *values; /* MANY to reduce, MANY to send, one apart */
	int broken;	  /* the victim is missing already */
};

/* By the victim, before each call that it may die in. */
static void alive(const struct qot_rank *rank)
{
	if (rank->rank == VICTIM)
		qod_word_set(rank, ALIVE_NS, (uint64_t)qoc_now());
}

/* A failure is the victim's, and came in time.  Returns 0 when so. */
static int blamed(struct qot_rank *rank, int error, int32_t who)
{
	int64_t since = (int64_t)qod_word(rank, ALIVE_NS);

	if (error != -ECONNRESET || who != VICTIM) {
		fprintf(stderr, "rank %u: %s of rank %d (%s)\n", rank->rank,
			qo_error_string(error), who, qo_error_detail());
		return 1;
	}
	QOT_CHECK(rank, since != 0 && qoc_now() - since < LIMIT_NS);
	return 0;
}

/* A call that the victim's death may fail; its text must name the victim. */
static int outcome(struct qot_rank *rank, struct things *things, int error)
{
	if (error == 0)
		return 0;
	things->broken = 1;
	return blamed(rank, error,
		      strstr(qo_error_detail(), "rank 1") != NULL ? VICTIM : 99);
}

static int things_make(struct qot_rank *rank, struct things *things)
{
	memset(things, 0, sizeof(*things));
	QOC_PASS(qoc_join(rank, staged, &things->context, &things->team));
	QOC_PASS(qoc_room_take(rank, things->context, (2 * MANY + 1) * 8,
			       &things->room));
	things->values = things->room.address;
	QOT_CHECK(rank, qo_team_split(things->team, rank->rank == VICTIM, 0,
				      &things->part) == 0);
	QOT_CHECK(rank, qo_bcast_init(things->part, things->values + 2 * MANY,
				      1, QO_UINT64, 0, &things->apart) == 0);
	alive(rank);
	QOC_PASS(outcome(rank, things,
			 qo_allreduce_init(things->team, QO_IN_PLACE,
					   things->values, MANY, QO_UINT64,
					   QO_SUM, &things->reduce)));
	if (things->broken)
		return 0;
	alive(rank);
	return outcome(rank, things,
		       qo_bcast_init(things->team, things->values + MANY, 1,
				     QO_UINT64, 0, &things->bcast));
}

static int request_end(struct qot_rank *rank, struct things *things,
		       qo_request_t request)
{
	struct qo_status status = { 0 };

	alive(rank);
	QOT_CHECK(rank, qo_wait(request, qoc_in_ms(5000), &status) == 0);
	if (status.state == QO_DONE)
		return 0;
	things->broken = 1;
	return blamed(rank, status.error, status.rank);
}

/* Both operations at once, and then their ends. */
static int turn_run(struct qot_rank *rank, struct things *things)
{
	qo_op_t ops[2] = { things->reduce, things->bcast };
	qo_request_t requests[2];
	int posted = 0;

	for (; posted < 2 && !things->broken; posted++) {
		alive(rank);
		QOC_PASS(outcome(rank, things,
				 qo_post(ops[posted], &requests[posted])));
		if (things->broken)
			break;
	}
	for (int i = 0; i < posted; i++)
		QOC_PASS(request_end(rank, things, requests[i]));
	return 0;
}

static int things_free(struct qot_rank *rank, struct things *things)
{
	alive(rank);
	if (things->bcast != NULL)
		QOT_CHECK(rank, qo_op_destroy(things->bcast) == 0);
	alive(rank);
	if (things->reduce != NULL)
		QOT_CHECK(rank, qo_op_destroy(things->reduce) == 0);
	QOT_CHECK(rank, qo_op_destroy(things->apart) == 0);
	QOT_CHECK(rank, qo_team_destroy(things->part) == 0);
	qoc_room_free(&things->room);
	alive(rank);
	return qoc_leave(rank, things->context, things->team);
}

/* Where the victim dies before the last turn, the others can't miss it. */
static int must_hurt(const struct plan *plan)
{
	return plan->point != NULL && strcmp(plan->point, "released") != 0 &&
	       strcmp(plan->point, "bye_sent") != 0;
}

static int dying_rank(struct qot_rank *rank)
{
	const struct plan *plan = qoc_env(rank)->param;
	struct things things;
	char point[64];

	if (rank->rank == VICTIM && plan->point != NULL) {
		snprintf(point, sizeof(point), "%s:%u", plan->point,
			 plan->count);
		setenv("QO_TEST_FAIL_POINT", point, 1);
	}
	QOC_PASS(things_make(rank, &things));
	for (int i = 0; i < TURNS && !things.broken; i++)
		QOC_PASS(turn_run(rank, &things));
	QOT_CHECK(rank, things.broken || !must_hurt(plan));
	/* Those who live, among themselves. */
	for (int i = 0; i < 20; i++)
		QOC_PASS(qot_run_op(things.apart));
	return things_free(rank, &things);
}

/* Every count of a point, on one daemon. */
static int QOD_HOOKED at_point(const void *param)
{
	struct plan plan = *(const struct plan *)param;
	struct qod_stand stand;
	int failed = 0;

	if (qod_open(&stand, NULL, NULL) != 0)
		return 1;
	qod_set_way(&stand, plan.way);
	for (plan.count = 1; plan.count <= plan.counts; plan.count++) {
		failed += qod_run(&stand, 3, dying_rank, &plan, 1 << VICTIM);
		failed += qot_daemon_settles(&stand.daemon, 0, 2000);
	}
	return failed + qod_close(&stand);
}

/* Rank 0 kills the victim while all are in the middle of it. */
static int shot_rank(struct qot_rank *rank)
{
	const struct plan *plan = qoc_env(rank)->param;
	int64_t until = INT64_MAX;
	struct things things;

	QOC_PASS(things_make(rank, &things));
	if (rank->rank == VICTIM)
		qod_word_set(rank, VICTIM_PID, (uint64_t)getpid());
	qot_meet(rank);
	if (rank->rank == 0)
		until = qoc_now() + 1000000 + plan->count * 700000;
	while (!things.broken) {
		if (qoc_now() > until) {
			qod_word_set(rank, ALIVE_NS, (uint64_t)qoc_now());
			kill((pid_t)qod_word(rank, VICTIM_PID), SIGKILL);
			until = INT64_MAX;
		}
		QOC_PASS(turn_run(rank, &things));
	}
	for (int i = 0; i < 20; i++)
		QOC_PASS(qot_run_op(things.apart));
	return things_free(rank, &things);
}

static int shot(const void *param)
{
	struct plan plan = *(const struct plan *)param;
	struct qod_stand stand;
	int failed = 0;

	if (qod_open(&stand, NULL, NULL) != 0)
		return 1;
	qod_set_way(&stand, plan.way);
	plan.counts = qod_long() ? 10 * plan.counts : plan.counts;
	for (plan.count = 1; plan.count <= plan.counts; plan.count++)
		failed += qod_run(&stand, 3, shot_rank, &plan, 1 << VICTIM);
	return failed + qod_close(&stand);
}

/* A client that attaches and meets its end there, or is stopped, then killed. */
static int lone_die(struct qot_rank *rank, const char *point, const char *action)
{
	struct qo_init_params params = QO_INIT_PARAMS_INIT;
	qo_context_t context;
	int status = 0;
	char text[64];
	pid_t pid;

	snprintf(text, sizeof(text), "%s:1:%s", point, action);
	params.settings = qoc_env(rank)->settings;
	pid = fork();
	if (pid == 0) {
		setenv("QO_TEST_FAIL_POINT", text, 1);
		_exit(qo_init(&params, &context) == 0 ? 0 : 1);
	}
	if (strcmp(action, "stop") == 0) {
		QOT_CHECK(rank, waitpid(pid, &status, WUNTRACED) == pid);
		QOT_CHECK(rank, WIFSTOPPED(status));
		usleep(2000);
		kill(pid, SIGKILL);
	}
	QOT_CHECK(rank, waitpid(pid, &status, 0) == pid);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return 0;
	fprintf(stderr, "%s was not reached: %#x\n", text, (unsigned)status);
	return 1;
}

static int lone_deaths(struct qot_rank *rank)
{
	static const char *const points[] = { "attach_connected",
					      "attach_hello_sent",
					      "attach_welcomed" };

	for (uint32_t i = 0; i < 15; i++)
		QOC_PASS(lone_die(rank, points[i % 3],
				  i % 2 == 0 ? "kill" : "stop"));
	qod_word_set(rank, OVER, 1);
	return 0;
}

/* Ranks 0 and 1 exchange all the while; none of it takes a second. */
static int beside_attach(struct qot_rank *rank)
{
	struct qot_rank pair = *rank;
	qo_context_t context;
	uint64_t value = 3;
	qo_team_t team;
	qo_op_t op;

	if (rank->rank == 2)
		return lone_deaths(rank);
	pair.count = 2;
	QOC_PASS(qoc_join(&pair, staged, &context, &team));
	QOT_CHECK(rank, qo_bcast_init(team, &value, 1, QO_UINT64, 0, &op) == 0);
	/* The value tells both when it is over. */
	do {
		int64_t since = qoc_now();

		if (rank->rank == 0)
			value = qod_word(rank, OVER);
		QOC_PASS(qot_run_op(op));
		QOT_CHECK(rank, qoc_now() - since < LIMIT_NS);
	} while (value == 0);
	QOT_CHECK(rank, qo_op_destroy(op) == 0);
	return qoc_leave(&pair, context, team);
}

static int QOD_HOOKED in_attach(const void *param)
{
	struct qod_stand stand;

	(void)param;
	if (qod_open(&stand, NULL, NULL) != 0)
		return 1;
	return qod_run(&stand, 3, beside_attach, NULL, 0) + qod_close(&stand);
}

#ifdef QO_DEBUG_HOOKS
#define POINTS 1
#else
#define POINTS 0
#endif

static const struct plan plans[] = {
	{ "cross", "op_add_sent", 2, 0 },
	{ "map", "op_added", 2, 0 },
	{ "stage", "post_claimed", 4, 0 },
	{ "map", "post_claimed", 3, 0 },
	{ "stage", "post_published", 4, 0 },
	{ "cross", "post_published", 5, 0 },
	{ "map", "post_published", 3, 0 },
	{ "stage", "read_completed", 4, 0 },
	{ "cross", "read_completed", 3, 0 },
	{ "map", "released", 2, 0 },
	{ "cross", "bye_sent", 1, 0 },
	{ "map", NULL, 8, 0 },
	{ "cross", NULL, 8, 0 },
	{ "stage", NULL, 8, 0 },
};

static const struct qod_test tests[] = {
#if POINTS
	{ "in_attach", in_attach, NULL },
	{ "op_add_sent", at_point, &plans[0] },
	{ "op_added", at_point, &plans[1] },
	{ "post_claimed_stage", at_point, &plans[2] },
	{ "post_claimed_map", at_point, &plans[3] },
	{ "post_published_stage", at_point, &plans[4] },
	{ "post_published_cross", at_point, &plans[5] },
	{ "post_published_map", at_point, &plans[6] },
	{ "read_completed_stage", at_point, &plans[7] },
	{ "read_completed_cross", at_point, &plans[8] },
	{ "released", at_point, &plans[9] },
	{ "bye_sent", at_point, &plans[10] },
#endif
	{ "shot_map", shot, &plans[11] },
	{ "shot_cross", shot, &plans[12] },
	{ "shot_stage", shot, &plans[13] },
	{ NULL, NULL, NULL },
};

int main(int argc, char **argv)
{
	if (!POINTS)
		printf("skip fail points: not compiled in "
		       "(--enable-debug-hooks)\n");
	return qod_main(argc, argv, tests, 120);
}
