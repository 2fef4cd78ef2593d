/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks of one team with different agents: another daemon, a thread, the
 * caller itself.  No daemon has all of them, so each rank's own side carries
 * it out, with the same results; a team within one daemon is still that one's.
 */
#include <string.h>

#include "tests/conformance/data.h"
#include "tests/daemon/stand.h"

#define RANKS 4
#define COUNT 3000
#define TURNS 20

struct plan {
	const char *others;	    /* QO_AGENT of ranks 1 and 3 */
	struct qot_daemon *another; /* or the daemon that they use, if any */
};

static const char *const staged[3] = { "QO_COLL_ALLREDUCE=ring",
				       "QO_COLL_BCAST=chain",
				       "QO_COLL_ALLGATHER=ring" };

static int is_far(qo_op_t op)
{
	static char text[16384];

	return qo_op_describe(op, text, sizeof(text)) == 0 &&
	       strstr(text, "agent process") != NULL;
}

/* Values that only this team has. */
static void values_fill(uint64_t *values, const struct qo_team_info *info,
			uint64_t turn, uint64_t mine, uint64_t times)
{
	for (uint64_t i = 0; i < COUNT; i++)
		values[i] = times * (qoc_seed(info->id, turn, i) >> 8) + mine;
}

static int sums_run(struct qot_rank *rank, qo_team_t team, int far)
{
	static uint64_t values[COUNT], want[COUNT];
	struct qo_team_info info = QO_TEAM_INFO_INIT;
	qo_op_t op;

	QOT_CHECK(rank, qo_team_query(team, &info) == 0);
	QOT_CHECK(rank, qo_allreduce_init(team, QO_IN_PLACE, values, COUNT,
					  QO_UINT64, QO_SUM, &op) == 0);
	QOT_CHECK(rank, is_far(op) == far);
	for (uint64_t turn = 0; turn < TURNS; turn++) {
		values_fill(values, &info, turn, info.rank, 1);
		values_fill(want, &info, turn,
			    info.count * (info.count - 1) / 2, info.count);
		QOC_PASS(qot_run_op(op));
		QOT_CHECK(rank, memcmp(values, want, sizeof(want)) == 0);
	}
	QOT_CHECK(rank, qo_op_destroy(op) == 0);
	return 0;
}

/* Ranks 0 and 2 have the first daemon, 1 and 3 what the plan says. */
static int mixed_rank(struct qot_rank *rank)
{
	const struct plan *plan = qoc_env(rank)->param;
	const char *settings[8] = { staged[0], staged[1], staged[2] };
	char agent[64];
	int second = rank->rank % 2 == 1;
	qo_context_t context;
	qo_team_t team, part;

	snprintf(agent, sizeof(agent), "QO_AGENT=%s", plan->others);
	if (second)
		settings[3] = agent;
	if (second && plan->another != NULL)
		settings[4] = plan->another->setting;
	QOC_PASS(qoc_join(rank, settings, &context, &team));
	QOC_PASS(sums_run(rank, team, 0));
	QOT_CHECK(rank, qo_team_split(team, second, 0, &part) == 0);
	QOC_PASS(sums_run(rank, part, !second || plan->another != NULL));
	/* And the whole team again. */
	QOC_PASS(sums_run(rank, team, 0));
	qot_meet_progress(rank, context);
	QOT_CHECK(rank, qo_team_destroy(part) == 0);
	return qoc_leave(rank, context, team);
}

static int with_kind(const void *param)
{
	struct plan plan = { param, NULL };
	struct qod_stand stand;
	int failed;

	if (qod_open(&stand, NULL, NULL) != 0)
		return 1;
	failed = qod_run(&stand, RANKS, mixed_rank, &plan, 0);
	return failed + qod_close(&stand);
}

static int two_daemons(const void *param)
{
	struct qod_stand stand, other;
	struct plan plan = { "process", &other.daemon };
	int failed;

	(void)param;
	if (qod_open(&stand, NULL, NULL) != 0 ||
	    qod_open(&other, NULL, NULL) != 0)
		return 1;
	failed = qod_run(&stand, RANKS, mixed_rank, &plan, 0);
	return failed + qod_close(&stand) + qod_close(&other);
}

#define STORM_RANKS 24
#define STORM_TURNS 20

/* In and out, all at once (G8). */
static int storm_rank(struct qot_rank *rank)
{
	struct qo_agent_info info = QO_AGENT_INFO_INIT;
	struct qo_init_params params = QO_INIT_PARAMS_INIT;

	params.settings = qoc_env(rank)->settings;
	qot_meet(rank);
	for (int turn = 0; turn < STORM_TURNS; turn++) {
		int64_t since = qoc_now();
		qo_context_t context;

		QOT_CHECK(rank, qo_init(&params, &context) == 0);
		QOT_CHECK(rank, qo_agent_query(context, &info) == 0);
		QOT_CHECK(rank, info.kind == QO_AGENT_PROCESS);
		QOT_CHECK(rank, qo_fini(context) == 0);
		QOT_CHECK(rank, qoc_now() - since < INT64_C(5000000000));
	}
	return 0;
}

static int storm(const void *param)
{
	struct qoi_layout_attach_status_total total = { 0 };
	struct qod_stand stand;
	int failed;

	(void)param;
	if (qod_open(&stand, NULL, NULL) != 0)
		return 1;
	failed = qod_run(&stand, STORM_RANKS, storm_rank, NULL, 0);
	failed += qot_daemon_total(&stand.daemon, &total);
	failed += total.clients_ever != STORM_RANKS * STORM_TURNS;
	failed += total.clients_lost != 0;
	return failed + qod_close(&stand);
}

static const struct qod_test tests[] = {
	{ "two_daemons", two_daemons, NULL },
	{ "with_threads", with_kind, "thread" },
	{ "with_inline", with_kind, "inline" },
	{ "storm", storm, NULL },
	{ NULL, NULL, NULL },
};

int main(int argc, char **argv)
{
	return qod_main(argc, argv, tests, 120);
}
