/* SPDX-License-Identifier: BSD-3-Clause */
/* Teams: identity, split, many of them, several jobs at once, arguments. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/suite.h"

#define TEAM_COUNT 16
#define JOB_COUNT 8

static int sum_is(struct qot_rank *rank, qo_team_t team, uint64_t value,
		  uint64_t want)
{
	qo_op_t op;

	QOT_CHECK(rank, qo_allreduce_init(team, QO_IN_PLACE, &value, 1,
					  QO_UINT64, QO_SUM, &op) == 0);
	QOC_PASS(qot_run_op(op));
	QOT_CHECK(rank, value == want);
	QOT_CHECK(rank, qo_op_destroy(op) == 0);
	return 0;
}

static int32_t agent_kind(const struct qot_rank *rank)
{
	if (qoc_env(rank)->inlined)
		return QO_AGENT_INLINE;
	return qoc_env(rank)->far ? QO_AGENT_PROCESS : QO_AGENT_THREAD;
}

static int query(struct qot_rank *rank)
{
	struct qo_team_info info = QO_TEAM_INFO_INIT;
	struct qo_agent_info agent = QO_AGENT_INFO_INIT;
	qo_context_t context;
	qo_team_t team;
	qo_op_t op;

	QOC_PASS(qoc_join(rank, NULL, &context, &team));
	QOT_CHECK(rank, qo_team_query(team, &info) == 0);
	QOT_CHECK(rank, info.rank == rank->rank && info.count == rank->count);
	QOT_CHECK(rank, info.ranks_here == rank->count && info.id != 0);
	QOT_CHECK(rank, qo_agent_query(context, &agent) == 0);
	QOT_CHECK(rank, agent.kind == agent_kind(rank));
	QOT_CHECK(rank, agent.async_progress == !qoc_env(rank)->inlined);
	QOT_CHECK(rank, agent.request_slots_used == 0);
	QOT_CHECK(rank, agent.reason[0] != '\0');
	QOT_CHECK(rank, qo_barrier_init(team, &op) == 0);
	QOT_CHECK(rank, qo_agent_query(context, &agent) == 0);
	QOT_CHECK(rank, agent.request_slots_used == 1);
	QOT_CHECK(rank, qo_team_destroy(team) == -EBUSY);
	QOT_CHECK(rank, qo_op_destroy(op) == 0);
	info.size = 3;
	QOT_CHECK(rank, qo_team_query(team, &info) == -EINVAL);
	agent.size = 3;
	QOT_CHECK(rank, qo_agent_query(context, &agent) == -EINVAL);
	return qoc_leave(rank, context, team);
}

/* Odd and even ranks, in reverse order by key; one color is negative. */
static int split(struct qot_rank *rank)
{
	int color = (int)rank->rank % 2;
	uint32_t others = (rank->count + 1 - rank->rank % 2) / 2;
	struct qo_team_info info = QO_TEAM_INFO_INIT;
	struct qo_team_info whole = QO_TEAM_INFO_INIT;
	qo_context_t context;
	qo_team_t team, part, none;

	QOC_PASS(qoc_join(rank, NULL, &context, &team));
	QOT_CHECK(rank,
		  qo_team_split(team, color, -(int)rank->rank, &part) == 0);
	QOT_CHECK(rank, qo_team_query(team, &whole) == 0);
	QOT_CHECK(rank, qo_team_query(part, &info) == 0);
	QOT_CHECK(rank, info.count == others);
	QOT_CHECK(rank, info.rank == others - 1 - rank->rank / 2);
	QOT_CHECK(rank, info.id != whole.id);
	QOC_PASS(sum_is(rank, part, 1 + rank->rank,
			color == 0 ? (uint64_t)others * others
				   : (uint64_t)others * (others + 1)));
	/* Equal keys: by the rank in the old team. */
	QOT_CHECK(rank,
		  qo_team_split(team, rank->rank == 0 ? -1 : 7, 5, &none) == 0);
	QOT_CHECK(rank, (none == NULL) == (rank->rank == 0));
	if (none != NULL) {
		QOT_CHECK(rank, qo_team_query(none, &info) == 0);
		QOT_CHECK(rank, info.rank == rank->rank - 1);
		QOT_CHECK(rank, info.count == rank->count - 1);
		QOC_PASS(sum_is(rank, none, 1, rank->count - 1));
		QOT_CHECK(rank, qo_team_destroy(none) == 0);
	}
	/* The old one works on, and one part may go before the other. */
	QOC_PASS(sum_is(rank, team, 1, rank->count));
	QOT_CHECK(rank, qo_team_destroy(part) == 0);
	return qoc_leave(rank, context, team);
}

static int thread_count(void)
{
	DIR *dir = opendir("/proc/self/task");
	int count = 0;

	if (dir == NULL)
		return -1;
	while (readdir(dir) != NULL)
		count++;
	closedir(dir);
	return count - 2;
}

/* Used in turn and crosswise: no mix-up, and one agent serves them all. */
static int many_teams(struct qot_rank *rank)
{
	int threads = thread_count();
	struct qo_agent_info before = QO_AGENT_INFO_INIT;
	struct qo_agent_info after = QO_AGENT_INFO_INIT;
	qo_context_t context;
	qo_team_t teams[TEAM_COUNT];
	int64_t since;

	QOC_PASS(qoc_join(rank, NULL, &context, &teams[0]));
	for (uint32_t i = 1; i < TEAM_COUNT; i++)
		QOT_CHECK(rank, qo_team_split(teams[i - 1], 0, (int)rank->rank,
					      &teams[i]) == 0);
	for (uint64_t i = 0; i < TEAM_COUNT; i++)
		QOC_PASS(sum_is(rank, teams[TEAM_COUNT - 1 - i], i + 1,
				(i + 1) * rank->count));
	QOT_CHECK(rank, thread_count() == threads + !qoc_env(rank)->inlined);
	qot_meet_progress(rank, context);
	/* Idle: the agent costs less than 5 % of a core. */
	qoc_sleep_ms(20);
	since = qoc_now();
	QOT_CHECK(rank, qo_agent_query(context, &before) == 0);
	qoc_sleep_ms(400);
	QOT_CHECK(rank, qo_agent_query(context, &after) == 0);
	QOT_CHECK(rank, (int64_t)(after.cpu_ns - before.cpu_ns) * 20 <
				qoc_now() - since);
	QOC_PASS(sum_is(rank, teams[7], 1, rank->count));
	for (uint32_t i = 1; i < TEAM_COUNT; i++)
		QOT_CHECK(rank, qo_team_destroy(teams[i]) == 0);
	return qoc_leave(rank, context, teams[0]);
}

/* One rank of one of the jobs that all start at once. */
static int job_rank(struct qot_rank *rank)
{
	uint64_t job = *(const uint64_t *)qoc_env(rank)->param;
	qo_context_t context;
	qo_team_t team;

	QOC_PASS(qoc_join(rank, NULL, &context, &team));
	for (uint64_t i = 0; i < 50; i++)
		QOC_PASS(sum_is(rank, team, job + i, rank->count * (job + i)));
	return qoc_leave(rank, context, team);
}

/* Equal, empty and odd job names in the environment must not matter. */
static int many_jobs(struct qot_rank *rank)
{
	static const char *const names[] = { "0", "", "job", "0" };
	struct qoc_env env = *qoc_env(rank);
	pid_t pids[JOB_COUNT];
	int failed = 0;

	for (uint64_t i = 0; i < JOB_COUNT; i++) {
		pids[i] = fork();
		if (pids[i] != 0)
			continue;
		setenv("PMI_JOBID", names[i % 4], 1);
		setenv("SLURM_JOB_ID", names[i % 4], 1);
		setenv("PMIX_NAMESPACE", names[i % 4], 1);
		env.param = &i;
		_exit(qot_run_processes(2, job_rank, &env) != 0);
	}
	for (int i = 0; i < JOB_COUNT; i++) {
		int status;

		waitpid(pids[i], &status, 0);
		failed += status != 0;
	}
	QOT_CHECK(rank, failed == 0);
	return 0;
}

static int bad_arguments(struct qot_rank *rank)
{
	const char *const wrong[] = { "QO_AGENT=nobody", NULL };
	const char *const unknown[] = { "QO_NO_SUCH=1", NULL };
	const char *const nowhere[] = { "QO_PROVIDER=teleport", NULL };
	struct qo_init_params params = QO_INIT_PARAMS_INIT;
	struct qo_oob oob = qot_oob(rank);
	qo_context_t context;
	qo_team_t team, other = NULL;

	params.settings = wrong;
	QOT_CHECK(rank, qo_init(&params, &context) == -EINVAL);
	QOT_CHECK(rank, strstr(qo_error_detail(), "QO_AGENT") != NULL);
	params.settings = unknown;
	QOT_CHECK(rank, qo_init(&params, &context) == -EINVAL);
	params.settings = nowhere;
	QOT_CHECK(rank, qo_init(&params, &context) == -ENODEV);
	QOT_CHECK(rank, strstr(qo_error_detail(), "teleport") != NULL);
	QOC_PASS(qoc_join(rank, NULL, &context, &team));
	oob.size = 1;
	QOT_CHECK(rank, qo_team_create(context, &oob, &other) == -EINVAL);
	oob = qot_oob(rank);
	oob.rank = oob.count;
	QOT_CHECK(rank, qo_team_create(context, &oob, &other) == -EINVAL);
	oob = qot_oob(rank);
	oob.test = NULL;
	QOT_CHECK(rank, qo_team_create(context, &oob, &other) == -EINVAL);
	QOT_CHECK(rank, other == NULL);
	return qoc_leave(rank, context, team);
}

const struct qoc_case qoc_team_cases[] = {
	{ "team_query", 1, 3, query, NULL, 0 },
	{ "team_split", 3, 5, split, NULL, 0 },
	{ "many_teams", 1, 3, many_teams, NULL, 0 },
	{ "many_jobs", 1, 1, many_jobs, NULL, 0 },
	{ "bad_arguments", 1, 2, bad_arguments, NULL, 0 },
	{ NULL, 0, 0, NULL, NULL, 0 },
};
