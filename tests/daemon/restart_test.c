/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The daemon is killed and started again at once, over and over; what a client
 * is told then, and when there is none at all.
 */
#define _GNU_SOURCE /* mkdtemp */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/daemon/stand.h"

#define TIMES 25 /* of each kind of name */
#define TIMES_LONG 200
#define KEEPER 2

static const char *const chain[] = { "QO_COLL_BCAST=chain", NULL };

/* Daemons started; then of all turns: ranks in the middle, ranks done. */
enum { STARTED, READY, DONE };

struct plan {
	uint64_t times;
	const char *name; /* where the daemon listens */
};

/* At the next look, or at once when its thread has seen it already. */
static int post_fails(struct qot_rank *rank, qo_op_t op)
{
	qo_request_t request;
	int error = qo_post(op, &request);

	if (error == 0)
		return qod_ends(rank, request, 1000, -ECONNABORTED,
				QO_RANK_NONE);
	QOT_CHECK(rank, error == -ECONNABORTED);
	return 0;
}

/* A client of this turn's daemon, to the end of it. */
static int client_turn(struct qot_rank *rank, uint64_t turn)
{
	uint64_t value = rank->rank == 0 ? turn : 0, never = 0;
	qo_context_t context;
	qo_request_t request;
	qo_op_t op, pending;
	qo_team_t team;

	QOC_PASS(qoc_join(rank, chain, &context, &team));
	QOT_CHECK(rank, qo_bcast_init(team, &value, 1, QO_UINT64, 0, &op) == 0);
	QOT_CHECK(rank,
		  qo_bcast_init(team, &never, 1, QO_UINT64, 0, &pending) == 0);
	QOC_PASS(qot_run_op(op));
	QOT_CHECK(rank, value == turn);
	if (rank->rank == 1)
		QOT_CHECK(rank, qo_post(pending, &request) == 0);
	qod_word_add(rank, READY);
	QOC_PASS(qod_word_await(rank, STARTED, 2 * turn));
	if (rank->rank == 1)
		QOC_PASS(qod_ends(rank, request, 1000, -ECONNABORTED,
				  QO_RANK_NONE));
	QOC_PASS(post_fails(rank, pending));
	QOC_PASS(post_fails(rank, op));
	QOT_CHECK(rank, qo_op_destroy(op) == 0);
	QOT_CHECK(rank, qo_op_destroy(pending) == 0);
	return qoc_leave(rank, context, team);
}

/* Kills it, and starts the next one on the same name at once. */
static int restart(struct qot_daemon *daemon, const char *name)
{
	qot_daemon_kill(daemon);
	return qot_daemon_start(daemon, name, NULL, NULL);
}

/* Two daemons in each turn: one dies with ranks attached, one without. */
static int keep(struct qot_rank *rank, const struct plan *plan)
{
	struct qot_daemon daemon;

	QOC_PASS(qot_daemon_start(&daemon, plan->name, NULL, NULL));
	for (uint64_t turn = 1; turn <= plan->times; turn++) {
		qod_word_set(rank, STARTED, 2 * turn - 1);
		QOC_PASS(qod_word_await(rank, READY, 2 * turn));
		QOC_PASS(restart(&daemon, plan->name));
		qod_word_set(rank, STARTED, 2 * turn);
		QOC_PASS(qod_word_await(rank, DONE, 2 * turn));
		QOC_PASS(qot_daemon_settles(&daemon, 0, 2000));
		QOC_PASS(restart(&daemon, plan->name));
	}
	QOC_PASS(qot_daemon_check(&daemon));
	return qot_daemon_stop(&daemon, 5000);
}

static int restarting_rank(struct qot_rank *rank)
{
	const struct plan *plan = qoc_env(rank)->param;
	struct qot_rank pair = *rank;

	if (rank->rank == KEEPER)
		return keep(rank, plan);
	pair.count = 2;
	for (uint64_t turn = 1; turn <= plan->times; turn++) {
		QOC_PASS(qod_word_await(rank, STARTED, 2 * turn - 1));
		QOC_PASS(client_turn(&pair, turn));
		qod_word_add(rank, DONE);
	}
	return 0;
}

static int restarts_at(const char *name)
{
	struct plan plan = { qod_long() ? TIMES_LONG : TIMES, name };
	struct qod_stand stand = { 0 };

	snprintf(stand.daemon.name, sizeof(stand.daemon.name), "%s", name);
	qod_settings(&stand);
	return qod_run(&stand, 3, restarting_rank, &plan, 0);
}

static int restarts_abstract(const void *param)
{
	char name[QOI_ATTACH_NAME_BYTES];

	(void)param;
	qot_daemon_name(name);
	return restarts_at(name);
}

/* 0 when nothing is in the folder. */
static int folder_used(const char *path)
{
	struct dirent *entry;
	int used = 0;
	DIR *dir = opendir(path);

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0)
			continue;
		fprintf(stderr, "%s is left\n", entry->d_name);
		used = 1;
	}
	if (dir != NULL)
		closedir(dir);
	return used;
}

static int restarts_path(const void *param)
{
	char folder[] = "/tmp/qo-restart.XXXXXX";
	char name[QOI_ATTACH_NAME_BYTES];
	int failed;

	(void)param;
	if (mkdtemp(folder) == NULL)
		return 1;
	snprintf(name, sizeof(name), "%s/socket", folder);
	failed = restarts_at(name);
	failed += folder_used(folder);
	unlink(name);
	rmdir(folder);
	return failed;
}

/* Without a daemon: one clear error in bounded time, or a thread. */
static int none_rank(struct qot_rank *rank)
{
	struct qo_agent_info info = QO_AGENT_INFO_INIT;
	struct qo_init_params params = QO_INIT_PARAMS_INIT;
	static const char *const automatic[] = { "QO_AGENT=auto", NULL };
	int64_t since = qoc_now();
	qo_context_t context;
	qo_team_t team;
	int error;

	params.settings = qoc_env(rank)->settings;
	error = qo_init(&params, &context);
	QOT_CHECK(rank, error == -ENOENT);
	QOT_CHECK(rank, strstr(qo_error_detail(), "QO_AGENT_PROGRAM") != NULL);
	QOT_CHECK(rank, qoc_now() - since < INT64_C(6000000000));
	QOC_PASS(qoc_join(rank, automatic, &context, &team));
	QOT_CHECK(rank, qo_agent_query(context, &info) == 0);
	QOT_CHECK(rank, info.kind == QO_AGENT_THREAD);
	return qoc_leave(rank, context, team);
}

static int none(const void *param)
{
	struct qod_stand stand = { 0 };

	(void)param;
	qot_daemon_name(stand.daemon.name);
	qod_settings(&stand);
	return qod_run(&stand, 2, none_rank, NULL, 0);
}

/* The socket file of a dead daemon is none, too. */
static int none_but_a_file(const void *param)
{
	char folder[] = "/tmp/qo-restart.XXXXXX";
	char name[QOI_ATTACH_NAME_BYTES];
	struct qod_stand stand = { 0 };
	int failed;

	(void)param;
	if (mkdtemp(folder) == NULL)
		return 1;
	snprintf(name, sizeof(name), "%s/socket", folder);
	if (qot_daemon_start(&stand.daemon, name, NULL, NULL) != 0)
		return 1;
	qot_daemon_kill(&stand.daemon);
	failed = access(name, F_OK) != 0;
	qod_settings(&stand);
	failed += qod_run(&stand, 2, none_rank, NULL, 0);
	unlink(name);
	rmdir(folder);
	return failed;
}

/* Two daemons on one name: the second one refuses, the first one stays. */
static int taken(const void *param)
{
	struct qot_daemon second;
	struct qod_stand stand;
	int failed;

	(void)param;
	if (qod_open(&stand, NULL, NULL) != 0)
		return 1;
	failed = qot_daemon_start(&second, stand.daemon.name, NULL, NULL) == 0;
	qot_daemon_kill(&second);
	failed += qot_daemon_settles(&stand.daemon, 0, 1000);
	return failed + qod_close(&stand);
}

static const struct qod_test tests[] = {
	{ "restarts_abstract", restarts_abstract, NULL },
	{ "restarts_path", restarts_path, NULL },
	{ "none", none, NULL },
	{ "none_but_a_file", none_but_a_file, NULL },
	{ "taken", taken, NULL },
	{ NULL, NULL, NULL },
};

int main(int argc, char **argv)
{
	return qod_main(argc, argv, tests, 150);
}
