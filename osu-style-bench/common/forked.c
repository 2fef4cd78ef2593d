/* SPDX-License-Identifier: BSD-3-Clause */
#include "forked.h"
#include "report.h"
#include "shared.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RANKS_MAX 16
#define PART_BYTES 16384 /* most that a rank can give to an allgather */
#define NAP_NS 100000

/*
 * Parts alternate by round: a rank can only be one round ahead, since it
 * needs the others' parts to go on.
 */
struct bench_board {
	_Atomic uint64_t arrived[RANKS_MAX]; /* rounds that a rank has given */
	unsigned char parts[2][RANKS_MAX][PART_BYTES];
	pthread_barrier_t gate; /* of all; only on the first board */
};

static void nap(void)
{
	const struct timespec time = { 0, NAP_NS };

	nanosleep(&time, NULL);
}

static void part_give(struct bench_forked *f, const void *data, size_t bytes)
{
	f->round++;
	if (bytes > 0)
		memcpy(f->board->parts[f->round % 2][f->rank], data, bytes);
	atomic_store_explicit(&f->board->arrived[f->rank], f->round,
			      memory_order_release);
}

static bool all_arrived(const struct bench_forked *f)
{
	for (uint32_t i = 0; i < f->count; i++)
		if (atomic_load_explicit(&f->board->arrived[i],
					 memory_order_acquire) < f->round)
			return false;
	return true;
}

static int oob_allgather(const void *send, void *recv, size_t bytes, void *arg,
			 void **request_out)
{
	struct bench_forked *f = arg;

	if (bytes > PART_BYTES)
		return -EMSGSIZE;
	f->recv = recv;
	f->bytes = bytes;
	part_give(f, send, bytes);
	*request_out = f;
	return 0;
}

static int oob_test(void *request, void *arg)
{
	struct bench_forked *f = arg;

	(void)request;
	if (!all_arrived(f)) {
		nap();
		return -EAGAIN;
	}
	for (uint32_t i = 0; i < f->count; i++)
		memcpy((unsigned char *)f->recv + i * f->bytes,
		       f->board->parts[f->round % 2][i], f->bytes);
	return 0;
}

static void gate_create(pthread_barrier_t *gate, uint32_t count)
{
	pthread_barrierattr_t attributes;

	pthread_barrierattr_init(&attributes);
	pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	if (pthread_barrier_init(gate, &attributes, count) != 0)
		bench_die("no barrier for %u processes", count);
	pthread_barrierattr_destroy(&attributes);
}

void bench_forked_init(struct bench_forked *forked, uint32_t count)
{
	/* One board for all, and one for each group. */
	struct bench_board *board =
		bench_shared_create((1 + RANKS_MAX) * sizeof(*board));

	if (count == 0 || count > RANKS_MAX)
		bench_die("%u ranks; 1 to %d are possible", count, RANKS_MAX);
	gate_create(&board->gate, count);
	*forked = (struct bench_forked){ .count = count, .board = board };
	for (uint32_t i = 1; i < count; i++) {
		pid_t child = fork();

		if (child < 0)
			bench_die("fork: %s", strerror(errno));
		if (child == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			forked->rank = i;
			break;
		}
	}
}

void bench_forked_group(const struct bench_forked *all, uint32_t count,
			struct bench_forked *group_out)
{
	*group_out = (struct bench_forked){
		.rank = all->rank % count,
		.count = count,
		.board = all->board + 1 + all->rank / count,
	};
}

qo_team_t bench_forked_team(struct bench_forked *forked, qo_context_t context)
{
	const struct qo_oob oob = {
		.size = sizeof(oob),
		.rank = forked->rank,
		.count = forked->count,
		.arg = forked,
		.allgather = oob_allgather,
		.test = oob_test,
	};
	qo_team_t team;
	int rc = qo_team_create(context, &oob, &team);

	if (rc != 0)
		bench_die("qo_team_create: %s: %s", qo_error_string(rc),
			  qo_error_detail());
	return team;
}

void bench_forked_barrier(struct bench_forked *forked)
{
	part_give(forked, NULL, 0);
	while (!all_arrived(forked))
		nap();
}

void bench_forked_gate(const struct bench_forked *forked)
{
	pthread_barrier_wait(&forked->board->gate);
}

int bench_forked_fini(struct bench_forked *forked, int status)
{
	int worst = status;

	if (forked->rank != 0)
		exit(status);
	for (uint32_t i = 1; i < forked->count; i++) {
		int ended = 0;

		if (wait(&ended) < 0 || !WIFEXITED(ended) ||
		    WEXITSTATUS(ended) != 0)
			worst = 1;
	}
	return worst;
}
