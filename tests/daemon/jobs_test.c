/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several jobs of one user at once, with equal, empty and odd names: on one
 * daemon and on private ones, with observers all the while.
 */
#define _GNU_SOURCE /* usleep */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/data.h"
#include "tests/daemon/stand.h"

#define JOBS 8
#define RANKS 2
#define TURNS 60
#define COUNT 3000
#define OBSERVATIONS 200
/* One that was late, and finds all clients gone, waits for a while. */
#define END_MS 20000
/* Of several that start at once one gets the name; the others exit with 1. */
#define TAKEN 0x100

static const char *const staged[] = { "QO_COLL_ALLTOALL=pairwise",
				      "QO_COLL_BCAST=chain", NULL };

static const char *const names[JOBS] = { "0",	"0",   "",	     "",
					 "job", "job", "4294967296", "-1/../x" };

static const char *const launchers[3] = { "PMIX_NAMESPACE", "PMI_JOBID",
					  "SLURM_JOB_ID" };

/* Data that no other job has. */
static int job_rank(struct qot_rank *rank)
{
	uint64_t job = *(const uint64_t *)qoc_env(rank)->param;
	uint64_t *send, *recv;
	struct qoc_room room;
	qo_context_t context;
	qo_team_t team;
	qo_op_t op;

	QOC_PASS(qoc_join(rank, staged, &context, &team));
	QOC_PASS(qoc_room_take(rank, context, 2 * RANKS * COUNT * 8, &room));
	send = room.address;
	recv = send + RANKS * COUNT;
	QOT_CHECK(rank, qo_alltoall_init(team, send, recv, COUNT, QO_UINT64,
					 &op) == 0);
	for (uint64_t turn = 0; turn < TURNS; turn++) {
		for (uint64_t to = 0; to < RANKS; to++)
			qoc_fill(send + to * COUNT, QO_UINT64, COUNT,
				 qoc_seed(job, turn, rank->rank * RANKS + to));
		QOC_PASS(qot_run_op(op));
		for (uint64_t from = 0; from < RANKS; from++) {
			uint64_t *want = send;

			qoc_fill(want, QO_UINT64, COUNT,
				 qoc_seed(job, turn, from * RANKS + rank->rank));
			QOT_CHECK(rank, memcmp(recv + from * COUNT, want,
					       COUNT * 8) == 0);
		}
	}
	QOT_CHECK(rank, qo_op_destroy(op) == 0);
	qoc_room_free(&room);
	return qoc_leave(rank, context, team);
}

/* Forks the jobs, all at once; returns how many failed. */
static int jobs_run(struct qod_stand *stand)
{
	pid_t pids[JOBS];
	int failed = 0;

	fflush(NULL);
	for (uint64_t job = 0; job < JOBS; job++) {
		static const char *const ways[] = { "map", "cross", "stage" };
		struct qod_stand own = *stand;

		pids[job] = fork();
		if (pids[job] != 0)
			continue;
		/* Its settings lie in the copy. */
		for (uint32_t i = 0; i < own.setting_count; i++)
			own.env.settings[i] = own.texts[i];
		qod_set_way(&own, ways[job % 3]);
		/* As launchers do; the first that is set counts. */
		setenv(launchers[job % 3], names[job], 1);
		_exit(qod_run(&own, RANKS, job_rank, &job, 0) != 0);
	}
	for (int job = 0; job < JOBS; job++) {
		int status;

		waitpid(pids[job], &status, 0);
		failed += status != 0;
	}
	return failed;
}

/* Looks and looks; it must change nothing. */
static pid_t observer_start(const struct qot_daemon *daemon)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	for (int i = 0; i < OBSERVATIONS; i++) {
		struct qoi_layout_attach_status_total total;

		if (i % 20 == 0 && qot_daemon_check(daemon) != 0)
			_exit(1);
		if (qot_daemon_total(daemon, &total) != 0)
			_exit(1);
		if (total.clients > JOBS * RANKS)
			_exit(2);
	}
	_exit(0);
}

static int one_daemon(const void *param)
{
	struct qoi_layout_attach_status_total total = { 0 };
	struct qod_stand stand;
	int failed, status = 0;
	pid_t observer;

	(void)param;
	if (qod_open(&stand, NULL, NULL) != 0)
		return 1;
	fflush(NULL);
	observer = observer_start(&stand.daemon);
	failed = jobs_run(&stand);
	waitpid(observer, &status, 0);
	if (status != 0)
		fprintf(stderr, "the observer: wait status %#x\n",
			(unsigned)status);
	failed += qot_daemon_total(&stand.daemon, &total);
	if (total.clients_ever != JOBS * RANKS || total.errors != 0 ||
	    total.commands_bad != 0 || total.clients_lost != 0) {
		fprintf(stderr, "%llu clients, %u errors, %llu bad commands\n",
			(unsigned long long)total.clients_ever, total.errors,
			(unsigned long long)total.commands_bad);
		failed++;
	}
	return failed + (status != 0) + qod_close(&stand);
}

/* Each job's ranks start their own, or share that of an equal name. */
static int private_ones(const void *param)
{
	struct qod_stand stand = { 0 };
	char path[600];
	int failed;

	(void)param;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	qot_daemon_name(stand.daemon.name);
	qod_settings(&stand);
	qod_set(&stand, "QO_AGENT_PROGRAM",
		qot_program("libqoffload/tools/qo_agentd", path, sizeof(path)));
	failed = jobs_run(&stand);
	for (int ms = 0; ms < END_MS; ms++) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);

		if (pid < 0)
			return failed;
		if (pid == 0)
			usleep(1000);
		else
			failed += status != 0 && status != TAKEN;
	}
	fprintf(stderr, "a private daemon is still there\n");
	return failed + 1;
}

static const struct qod_test tests[] = {
	{ "one_daemon", one_daemon, NULL },
	{ "private_ones", private_ones, NULL },
	{ NULL, NULL, NULL },
};

int main(int argc, char **argv)
{
	return qod_main(argc, argv, tests, 120);
}
