/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress without calls, tests that never block, signals. */
#define _GNU_SOURCE /* timer_create, SIGEV_SIGNAL */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/conformance/data.h"
#include "tests/conformance/suite.h"

#define LARGE (UINT64_C(1) << 17) /* of 8 bytes: 1 MiB */
#define SIGNALS 6

static int large_make(struct qot_rank *rank, qo_team_t team, uint64_t *values,
		      qo_op_t *op)
{
	for (uint64_t i = 0; i < LARGE; i++)
		values[i] = i;
	QOT_CHECK(rank, qo_allreduce_init(team, QO_IN_PLACE, values, LARGE,
					  QO_UINT64, QO_SUM, op) == 0);
	return 0;
}

/*
 * 1 MiB is reduced while no rank makes a call: after a sleep one look finds it
 * done.  The inline agent says that it can't, and can't.
 */
static int overlap(struct qot_rank *rank)
{
	struct qo_agent_info info = QO_AGENT_INFO_INIT;
	struct qoc_room room;
	uint64_t *values;
	int inlined = qoc_env(rank)->inlined;
	struct qo_status status = { 0 };
	qo_context_t context;
	qo_request_t request;
	qo_team_t team;
	qo_op_t op;
	int found;

	QOC_PASS(qoc_join(rank, NULL, &context, &team));
	QOT_CHECK(rank, qo_agent_query(context, &info) == 0);
	QOT_CHECK(rank, info.async_progress == !inlined);
	QOC_PASS(qoc_room_take(rank, context, LARGE * 8, &room));
	values = room.address;
	QOC_PASS(large_make(rank, team, values, &op));
	qot_meet_progress(rank, context);
	QOT_CHECK(rank, qo_post(op, &request) == 0);
	qoc_sleep_ms(400);
	/* This look must not be the one that does the work. */
	found = qo_wait(request, 1, &status);
	if (!inlined) {
		QOT_CHECK(rank, found == 0 && status.state == QO_DONE);
		QOT_CHECK(rank, values[LARGE - 1] == rank->count * (LARGE - 1));
	} else {
		QOT_CHECK(rank, rank->count == 1 || found == -ETIMEDOUT);
	}
	QOC_PASS(qoc_wait_done(request, QO_NO_DEADLINE));
	qot_meet_progress(rank, context);
	QOT_CHECK(rank, qo_op_destroy(op) == 0);
	qoc_room_free(&room);
	return qoc_leave(rank, context, team);
}

static int compare(const void *a, const void *b)
{
	const int64_t left = *(const int64_t *)a;
	const int64_t right = *(const int64_t *)b;

	return left < right ? -1 : left > right;
}

#define SAMPLES 20000

/*
 * While the peer sleeps a test says pending, at once: rank 0 posts eight
 * exchanges and tests them in turn.
 */
static int test_returns(struct qot_rank *rank)
{
	static int64_t took[SAMPLES];
	static uint64_t values[8];
	struct qo_status status;
	qo_request_t requests[8];
	qo_context_t context;
	qo_team_t team;
	qo_op_t ops[8];

	QOC_PASS(qoc_join(rank, NULL, &context, &team));
	for (int i = 0; i < 8; i++)
		QOT_CHECK(rank,
			  qo_allreduce_init(team, QO_IN_PLACE, &values[i], 1,
					    QO_UINT64, QO_SUM, &ops[i]) == 0);
	if (rank->rank == 1)
		qot_meet_progress(rank, context);
	for (int i = 0; i < 8; i++)
		QOT_CHECK(rank, qo_post(ops[i], &requests[i]) == 0);
	if (rank->rank == 0) {
		for (int i = 0; i < SAMPLES; i++) {
			int64_t since = qoc_now();

			QOT_CHECK(rank, qo_test(requests[i % 8], &status) == 0);
			took[i] = qoc_now() - since;
			QOT_CHECK(rank, status.state == QO_PENDING);
		}
		qsort(took, SAMPLES, sizeof(took[0]), compare);
		QOT_CHECK(rank, took[SAMPLES / 1000 * 999] < 50000);
		qot_meet_progress(rank, context);
	}
	for (int i = 0; i < 8; i++)
		QOC_PASS(qoc_wait_done(requests[i], QO_NO_DEADLINE));
	qot_meet_progress(rank, context);
	for (int i = 0; i < 8; i++)
		QOT_CHECK(rank, qo_op_destroy(ops[i]) == 0);
	return qoc_leave(rank, context, team);
}

/* After a pause, everybody asleep: how long the first message takes. */
static int first_after_idle(struct qot_rank *rank)
{
	static int64_t took[15];
	qo_context_t context;
	uint64_t value = 1;
	qo_team_t team;
	qo_op_t op;

	QOC_PASS(qoc_join(rank, NULL, &context, &team));
	QOT_CHECK(rank, qo_allreduce_init(team, QO_IN_PLACE, &value, 1,
					  QO_UINT64, QO_SUM, &op) == 0);
	for (int i = 0; i < 15; i++) {
		int64_t since;

		/* Rank 0 comes last: the others sleep in their wait. */
		qoc_sleep_ms(rank->rank == 0 ? 15 : 0);
		since = qoc_now();
		QOC_PASS(qot_run_op(op));
		took[i] = qoc_now() - since;
		qot_meet_progress(rank, context);
	}
	qsort(took, 15, sizeof(took[0]), compare);
	/* The median, with two cores for all: a wake-up, no time-out. */
	QOT_CHECK(rank, rank->rank != 0 || took[7] < 2000000);
	QOT_CHECK(rank, qo_op_destroy(op) == 0);
	return qoc_leave(rank, context, team);
}

static int handled;

static void on_signal(int number)
{
	(void)number;
	handled++;
}

static const int numbers[SIGNALS] = { SIGSEGV, SIGBUS,	SIGUSR1,
				      SIGUSR2, SIGCHLD, SIGTERM };

static int blocks_all(const char *status)
{
	const char *line = strstr(status, "SigBlk:");
	uint64_t mask, all = ~UINT64_C(0);

	if (line == NULL)
		return 0;
	mask = strtoull(line + 7, NULL, 16);
	/* Not to be blocked: KILL, STOP and libc's own two. */
	all &= ~(UINT64_C(1) << (SIGKILL - 1) | UINT64_C(1) << (SIGSTOP - 1) |
		 UINT64_C(3) << 31);
	return (mask & all) == all;
}

static int thread_blocks(struct qot_rank *rank, const char *thread)
{
	char path[300];
	char text[4096];
	size_t length;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%s/status", thread);
	file = fopen(path, "r");
	QOT_CHECK(rank, file != NULL);
	length = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[length] = '\0';
	QOT_CHECK(rank, blocks_all(text));
	return 0;
}

/* Whatever threads the library has, the one of an agent among them. */
static int agent_blocks(struct qot_rank *rank, qo_context_t context)
{
	struct qo_agent_info info = QO_AGENT_INFO_INIT;
	int64_t deadline = qoc_in_ms(5000);
	struct dirent *entry;
	uint32_t others = 0;
	DIR *dir;

	do {
		QOT_CHECK(rank, qoc_now() < deadline);
		QOT_CHECK(rank, qo_agent_query(context, &info) == 0);
	} while (info.thread_id < 0 && !qoc_env(rank)->far);
	dir = opendir("/proc/self/task");
	QOT_CHECK(rank, dir != NULL);
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.' || atoi(entry->d_name) == getpid())
			continue;
		QOC_PASS(thread_blocks(rank, entry->d_name));
		others++;
	}
	closedir(dir);
	QOT_CHECK(rank, others == 1);
	return 0;
}

/* A signal every millisecond: nothing is interrupted for the caller. */
static int storm(struct qot_rank *rank, qo_team_t team)
{
	static uint64_t values[LARGE];
	struct itimerspec every = { { 0, 1000000 }, { 0, 1000000 } };
	struct sigevent event = { 0 };
	timer_t timer;
	qo_op_t op;

	event.sigev_notify = SIGEV_SIGNAL;
	event.sigev_signo = SIGUSR1;
	QOT_CHECK(rank, timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
	QOT_CHECK(rank, timer_settime(timer, 0, &every, NULL) == 0);
	for (uint64_t turn = 0; turn < 15; turn++) {
		qo_team_t part;

		QOC_PASS(large_make(rank, team, values, &op));
		qoc_sleep_ms(rank->rank == 0 ? 8 : 0);
		QOC_PASS(qot_run_op(op));
		QOT_CHECK(rank, values[LARGE - 1] == rank->count * (LARGE - 1));
		QOT_CHECK(rank, qo_op_destroy(op) == 0);
		QOT_CHECK(rank, qo_team_split(team, 0, 0, &part) == 0);
		QOT_CHECK(rank, qo_team_destroy(part) == 0);
	}
	QOT_CHECK(rank, timer_delete(timer) == 0);
	QOT_CHECK(rank, handled > 10);
	return 0;
}

static int signals(struct qot_rank *rank)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct sigaction old[SIGNALS], now;
	sigset_t before, after;
	qo_context_t context;
	qo_team_t team;

	for (int i = 0; i < SIGNALS; i++)
		sigaction(numbers[i], &action, NULL);
	for (int i = 0; i < SIGNALS; i++)
		sigaction(numbers[i], NULL, &old[i]);
	/* The kernel fills in only as many bits as there are signals. */
	sigemptyset(&before);
	sigemptyset(&after);
	sigprocmask(SIG_SETMASK, NULL, &before);
	QOC_PASS(qoc_join(rank, NULL, &context, &team));
	sigprocmask(SIG_SETMASK, NULL, &after);
	QOT_CHECK(rank, memcmp(&before, &after, sizeof(before)) == 0);
	if (!qoc_env(rank)->inlined)
		QOC_PASS(agent_blocks(rank, context));
	QOC_PASS(storm(rank, team));
	for (int i = 0; i < SIGNALS; i++) {
		sigaction(numbers[i], NULL, &now);
		QOT_CHECK(rank, now.sa_handler == on_signal &&
					now.sa_flags == old[i].sa_flags);
	}
	return qoc_leave(rank, context, team);
}

const struct qoc_case qoc_progress_cases[] = {
	{ "overlap", 1, 4, overlap, NULL, 0 },
	{ "test_returns", 2, 2, test_returns, NULL, 0 },
	{ "first_after_idle", 2, 2, first_after_idle, NULL, 0 },
	{ "signals", 1, 3, signals, NULL, 0 },
	{ NULL, 0, 0, NULL, NULL, 0 },
};
