/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many generations of clients, half of them killed: descriptors, mappings and
 * memory of the daemon stay as they were, and so does the file system.
 */
#define _GNU_SOURCE /* usleep */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/daemon/stand.h"

#define RANKS 2
#define WARM 20
#define GENERATIONS 150 /* of two ranks */
#define GENERATIONS_LONG 1000
/* What an allocator may keep. */
#define SLACK_KIB 1024
#define SLACK_MAPS 4
#define BYTES (UINT64_C(256) << 10)

/* Regions, operations, a request under way; then it ends somehow. */
static int generation_rank(struct qot_rank *rank)
{
	static const char *const chain[] = { "QO_COLL_BCAST=chain", NULL };
	uint32_t number = *(const uint32_t *)qoc_env(rank)->param;
	uint64_t other = 1;
	qo_context_t context;
	qo_request_t request;
	uint64_t *values;
	qo_team_t team;
	void *address;
	qo_mem_t mem;
	qo_op_t ops[2];

	QOC_PASS(qoc_join(rank, chain, &context, &team));
	QOT_CHECK(rank, qo_mem_alloc(context, BYTES, &address, &mem) == 0);
	values = address;
	values[0] = rank->rank == 0 ? number : 0;
	QOT_CHECK(rank, qo_bcast_init(team, values, BYTES / 8, QO_UINT64, 0,
				      &ops[0]) == 0);
	QOT_CHECK(rank,
		  qo_bcast_init(team, &other, 1, QO_UINT64, 1, &ops[1]) == 0);
	QOC_PASS(qot_run_op(ops[0]));
	QOT_CHECK(rank, values[0] == number);
	/* One rank's part of it is never posted. */
	if (rank->rank == 0)
		QOT_CHECK(rank, qo_post(ops[1], &request) == 0);
	if (number % 4 == 3)
		_exit(0); /* without a word */
	if (number % 2 == 1) {
		kill(getpid(), SIGKILL);
		pause();
	}
	qot_meet(rank);
	if (rank->rank == 1)
		QOT_CHECK(rank, qo_post(ops[1], &request) == 0);
	QOC_PASS(qoc_wait_done(request, qoc_in_ms(5000)));
	qot_meet(rank);
	QOT_CHECK(rank, qo_op_destroy(ops[0]) == 0);
	QOT_CHECK(rank, qo_op_destroy(ops[1]) == 0);
	QOT_CHECK(rank, qo_mem_release(mem) == 0);
	return qoc_leave(rank, context, team);
}

static int use_grew(const struct qot_use *before, const struct qot_use *after)
{
	if (after->fds <= before->fds &&
	    after->maps <= before->maps + SLACK_MAPS &&
	    after->rss_kib <= before->rss_kib + SLACK_KIB &&
	    after->locked_kib <= before->locked_kib)
		return 0;
	fprintf(stderr,
		"descriptors %u -> %u, mappings %u -> %u, resident %llu -> "
		"%llu KiB, locked %llu -> %llu KiB\n",
		before->fds, after->fds, before->maps, after->maps,
		(unsigned long long)before->rss_kib,
		(unsigned long long)after->rss_kib,
		(unsigned long long)before->locked_kib,
		(unsigned long long)after->locked_kib);
	return 1;
}

static int generations(const void *param)
{
	uint32_t count = qod_long() ? GENERATIONS_LONG : GENERATIONS;
	int entries = qot_shm_entries();
	struct qot_use before = { 0 }, after;
	struct qod_stand stand;
	int failed = 0;

	(void)param;
	if (qod_open(&stand, NULL, NULL) != 0)
		return 1;
	for (uint32_t i = 0; i < WARM + count && failed == 0; i++) {
		uint64_t mortals = i % 4 == 1 ? 3 : 0;

		failed = qod_run(&stand, RANKS, generation_rank, &i, mortals);
		if (i + 1 != WARM && i + 1 != WARM + count)
			continue;
		failed += qot_daemon_settles(&stand.daemon, 0, 5000);
		failed += qot_use_read(stand.daemon.pid,
				       i + 1 == WARM ? &before : &after);
	}
	if (failed == 0)
		failed = use_grew(&before, &after);
	failed += qod_close(&stand);
	if (qot_shm_entries() > entries) {
		fprintf(stderr, "something is left in /dev/shm\n");
		failed++;
	}
	return failed;
}

/* Ranks that work until one of them, or the daemon, is gone. */
static int doomed_rank(struct qot_rank *rank)
{
	static const char *const chain[] = { "QO_COLL_ALLREDUCE=ring",
					     "QO_FINI_TIMEOUT=1s", NULL };
	static uint64_t values[20000];
	struct qo_status status = { 0 };
	qo_context_t context;
	qo_team_t team;
	qo_op_t op;

	QOC_PASS(qoc_join(rank, chain, &context, &team));
	QOT_CHECK(rank, qo_allreduce_init(team, QO_IN_PLACE, values, 20000,
					  QO_UINT64, QO_SUM, &op) == 0);
	qod_word_set(rank, rank->rank, (uint64_t)getpid());
	qot_meet(rank);
	while (status.error == 0) {
		qo_request_t request;

		if (qo_post(op, &request) != 0)
			break;
		QOT_CHECK(rank, qo_wait(request, qoc_in_ms(5000), &status) == 0);
	}
	return qo_op_destroy(op) != 0 || qoc_leave(rank, context, team);
}

/* From outside: kills one of four ranks, or the daemon, at some moment. */
static pid_t shooter_start(struct qod_stand *stand, uint32_t turn)
{
	uint32_t victim = turn % 5;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid != 0)
		return pid;
	for (int ms = 0; ms < 5000; ms++) {
		uint64_t pids[5] = { 0, 0, 0, 0, (uint64_t)stand->daemon.pid };

		for (int i = 0; i < 4; i++)
			pids[i] = __atomic_load_n(&stand->env.shared[i],
						  __ATOMIC_ACQUIRE);
		usleep(1000 + turn * 137 % 1000);
		if (pids[0] == 0 || pids[1] == 0 || pids[2] == 0 || pids[3] == 0)
			continue;
		_exit(kill((pid_t)pids[victim], SIGKILL) != 0);
	}
	_exit(1);
}

/* Abstract sockets, and others, of a name that holds `text`. */
static uint32_t sockets_named(const char *text)
{
	char line[512];
	uint32_t count = 0;
	FILE *file = fopen("/proc/net/unix", "r");

	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		count += strstr(line, text) != NULL;
	if (file != NULL)
		fclose(file);
	return count;
}

/* Field case G1: whoever is killed, nothing is left of the job. */
static int anybody(const void *param)
{
	uint32_t turns = qod_long() ? 100 : 15;
	int entries = qot_shm_entries();
	int failed = 0;

	(void)param;
	for (uint32_t turn = 0; turn < turns && failed == 0; turn++) {
		struct qod_stand stand;
		int status = 0;
		pid_t shooter;

		if (qod_open(&stand, NULL, NULL) != 0)
			return 1;
		qod_share(&stand);
		shooter = shooter_start(&stand, turn);
		failed = qod_run(&stand, 4, doomed_rank, NULL,
				 turn % 5 == 4 ? 0 : 1 << turn % 5);
		waitpid(shooter, &status, 0);
		failed += status != 0;
		qot_daemon_kill(&stand.daemon);
		failed += sockets_named(stand.daemon.name) != 0;
	}
	if (qot_shm_entries() > entries) {
		fprintf(stderr, "something is left in /dev/shm\n");
		failed++;
	}
	return failed;
}

static const struct qod_test tests[] = {
	{ "generations", generations, NULL },
	{ "anybody", anybody, NULL },
	{ NULL, NULL, NULL },
};

int main(int argc, char **argv)
{
	return qod_main(argc, argv, tests, 250);
}
