/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random operations between ranks that are threads of one process, which is
 * what ThreadSanitizer can judge.  Every rank posts in an order of its own,
 * and a second thread of it tests the same requests all the time.
 * The same again with ranks that are processes.
 * Usage: op_ranks_stress [SEED [EPOCHS]]
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/daemon.h"
#include "tests/support/ranks.h"

#define RANKS 3
#define OPS 6
#define POSTS 8
#define COUNT_MAX 6000
#define LIMIT_S 250

enum kind { ALLTOALL, ALLGATHER, ALLREDUCE, BCAST, BARRIER, KINDS };

struct job {
	uint64_t seed;
	uint64_t epochs;
	const char *const *settings;
};

/* One operation of one rank. */
struct entry {
	enum kind kind;
	uint32_t root;
	uint64_t count;
	uint64_t *send, *recv;
	qo_op_t op;
	uint64_t handle; /* atomic: of the request, for the tester */
};

struct side {
	struct qot_rank *rank;
	struct entry entries[OPS];
	uint32_t paused;  /* asked for */
	uint32_t resting; /* the tester is */
	uint32_t stop;
	uint64_t looks;
	uint32_t wrong;
};

static uint64_t mix(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t x = a * UINT64_C(0x9e3779b97f4a7c15) + b * 1000003 + c;

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	return x ^ x >> 29;
}

static void entry_plan(struct entry *entry, uint64_t draw)
{
	static const uint64_t counts[] = { 0, 1, 5, 64, 700, COUNT_MAX };

	entry->kind = (enum kind)(draw % KINDS);
	entry->count = counts[draw / KINDS % 6];
	entry->root = (uint32_t)(draw >> 40) % RANKS;
}

static int entry_open(struct side *side, struct entry *entry, qo_team_t team)
{
	uint64_t count = entry->count;
	uint64_t *send = entry->send, *recv = entry->recv;

	switch (entry->kind) {
	case ALLTOALL:
		return qo_alltoall_init(team, send, recv, count, QO_UINT64,
					&entry->op);
	case ALLGATHER:
		return qo_allgather_init(team, send, recv, count, QO_UINT64,
					 &entry->op);
	case ALLREDUCE:
		return qo_allreduce_init(team, send, recv, count, QO_UINT64,
					 QO_XOR, &entry->op);
	case BCAST:
		return qo_bcast_init(
			team, side->rank->rank == entry->root ? send : recv,
			count, QO_UINT64, entry->root, &entry->op);
	default:
		return qo_barrier_init(team, &entry->op);
	}
}

static uint64_t value(uint64_t tag, uint32_t from, uint64_t at)
{
	return mix(tag, from, at);
}

static void entry_fill(struct side *side, struct entry *entry, uint64_t tag)
{
	uint64_t blocks = entry->kind == ALLTOALL ? RANKS : 1;

	for (uint64_t i = 0; i < blocks * entry->count; i++)
		entry->send[i] = value(tag, side->rank->rank, i);
}

static uint64_t expected(const struct side *side, const struct entry *entry,
			 uint64_t tag, uint64_t i)
{
	uint32_t block = entry->count == 0 ? 0 : (uint32_t)(i / entry->count);
	uint64_t x = 0;

	switch (entry->kind) {
	case ALLTOALL:
		return value(tag, block,
			     side->rank->rank * entry->count + i % entry->count);
	case ALLGATHER:
		return value(tag, block, i % entry->count);
	case BCAST:
		return value(tag, entry->root, i);
	default:
		for (uint32_t from = 0; from < RANKS; from++)
			x ^= value(tag, from, i);
		return x;
	}
}

static int entry_check(struct side *side, const struct entry *entry,
		       uint64_t tag)
{
	uint64_t blocks = 1;

	if (entry->kind == BARRIER ||
	    (entry->kind == BCAST && side->rank->rank == entry->root))
		return 0;
	if (entry->kind == ALLTOALL || entry->kind == ALLGATHER)
		blocks = RANKS;
	for (uint64_t i = 0; i < blocks * entry->count; i++)
		QOT_CHECK(side->rank,
			  entry->recv[i] == expected(side, entry, tag, i));
	return 0;
}

/* Tests whatever handle it finds; some go stale just then. */
static void *tester_main(void *arg)
{
	struct side *side = arg;
	uint64_t n = 0;

	while (__atomic_load_n(&side->stop, __ATOMIC_ACQUIRE) == 0) {
		struct entry *entry = &side->entries[n++ % OPS];
		struct qo_status status;
		qo_request_t request;
		int error;

		if (__atomic_load_n(&side->paused, __ATOMIC_ACQUIRE)) {
			__atomic_store_n(&side->resting, 1, __ATOMIC_RELEASE);
			sched_yield();
			continue;
		}
		__atomic_store_n(&side->resting, 0, __ATOMIC_RELAXED);
		request.id = __atomic_load_n(&entry->handle, __ATOMIC_ACQUIRE);
		if (request.id == QO_REQUEST_NULL_ID)
			continue;
		error = qo_test(request, &status);
		if (error != -EBADF && (error != 0 || status.state == QO_FAILED))
			side->wrong++;
		side->looks++;
		if (n % 16 == 0)
			sched_yield();
	}
	return NULL;
}

/* Nobody may use an operation while it is destroyed. */
static void tester_pause(struct side *side)
{
	__atomic_store_n(&side->resting, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&side->paused, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&side->resting, __ATOMIC_ACQUIRE) == 0)
		sched_yield();
}

static int entries_round(struct side *side, uint64_t tag)
{
	uint32_t first = (uint32_t)mix(tag, side->rank->rank, 5) % OPS;
	qo_request_t requests[OPS];
	struct qo_status status;

	for (uint32_t i = 0; i < OPS; i++) {
		uint32_t at = (first + i) % OPS;
		struct entry *entry = &side->entries[at];

		__atomic_store_n(&entry->handle, QO_REQUEST_NULL_ID,
				 __ATOMIC_RELEASE);
		entry_fill(side, entry, tag + at);
		QOT_CHECK(side->rank, qo_post(entry->op, &requests[at]) == 0);
		__atomic_store_n(&entry->handle, requests[at].id,
				 __ATOMIC_RELEASE);
	}
	for (uint32_t at = 0; at < OPS; at++) {
		QOT_CHECK(side->rank,
			  qo_wait(requests[at], QO_NO_DEADLINE, &status) == 0);
		QOT_CHECK(side->rank, status.state == QO_DONE);
		if (entry_check(side, &side->entries[at], tag + at) != 0)
			return 1;
	}
	return 0;
}

static int epoch_run(struct side *side, const struct job *job, qo_team_t team,
		     uint64_t epoch)
{
	for (uint32_t i = 0; i < OPS; i++) {
		struct entry *entry = &side->entries[i];

		entry_plan(entry, mix(job->seed, epoch, i));
		QOT_CHECK(side->rank, entry_open(side, entry, team) == 0);
	}
	__atomic_store_n(&side->paused, 0, __ATOMIC_RELEASE);
	for (uint64_t post = 0; post < POSTS; post++) {
		if (entries_round(side, mix(job->seed, epoch, post)) != 0)
			return 1;
	}
	tester_pause(side);
	for (uint32_t i = 0; i < OPS; i++)
		QOT_CHECK(side->rank, qo_op_destroy(side->entries[i].op) == 0);
	return 0;
}

static int epochs_run(struct side *side, const struct job *job, qo_team_t team)
{
	for (uint64_t epoch = 0; epoch < job->epochs; epoch++) {
		qo_team_t part = NULL;

		QOT_CHECK(side->rank, qo_team_split(team, 0, 0, &part) == 0);
		if (epoch_run(side, job, epoch % 2 == 0 ? part : team, epoch))
			return 1;
		QOT_CHECK(side->rank, qo_team_destroy(part) == 0);
	}
	return 0;
}

static int rank_main(struct qot_rank *rank)
{
	const struct job *job = rank->arg;
	struct side *side = calloc(1, sizeof(*side));
	pthread_t tester;
	qo_context_t context;
	qo_team_t team;
	int failed;

	side->rank = rank;
	side->paused = 1;
	for (uint32_t i = 0; i < OPS; i++) {
		side->entries[i].send = calloc(RANKS * COUNT_MAX, 8);
		side->entries[i].recv = calloc(RANKS * COUNT_MAX, 8);
	}
	QOT_CHECK(rank, qot_join(rank, job->settings, &context, &team) == 0);
	QOT_CHECK(rank, pthread_create(&tester, NULL, tester_main, side) == 0);
	failed = epochs_run(side, job, team);
	if (failed) /* the others wait for this one */
		exit(1);
	__atomic_store_n(&side->stop, 1, __ATOMIC_RELEASE);
	pthread_join(tester, NULL);
	QOT_CHECK(rank, side->wrong == 0 && side->looks != 0);
	qot_meet_progress(rank, context);
	QOT_CHECK(rank, qo_team_destroy(team) == 0);
	QOT_CHECK(rank, qo_fini(context) == 0);
	for (uint32_t i = 0; i < OPS; i++) {
		free(side->entries[i].send);
		free(side->entries[i].recv);
	}
	free(side);
	return 0;
}

/* The same through a daemon: this side of it is what is judged then. */
static int run_daemon(struct job *job)
{
	struct qot_daemon daemon = { 0 };
	const char *staged[] = { "QO_AGENT=process", "QO_AGENT_DIRECT=off",
				 "QO_AGENT_MEMORY=stage", NULL, NULL };
	const char *mixed[] = { "QO_AGENT=process", "QO_WAIT_SPIN_NS=1us",
				"QO_AGENT_LANES=1", NULL, NULL };
	int failed = 0;

	if (qot_daemon_start(&daemon, NULL, NULL, NULL) != 0)
		return 1;
	staged[3] = daemon.setting;
	mixed[3] = daemon.setting;
	job->settings = staged;
	failed += qot_run_threads(RANKS, rank_main, job);
	job->settings = mixed;
	failed += qot_run_threads(RANKS, rank_main, job);
	failed += qot_run_processes(RANKS, rank_main, job);
	failed += qot_daemon_check(&daemon) != 0;
	return failed + (qot_daemon_stop(&daemon, 5000) != 0);
}

int main(int argc, char **argv)
{
	static const char *const inlined[] = { "QO_AGENT=inline",
					       "QO_SHM_GET=off", NULL };
	static const char *const threaded[] = { "QO_AGENT=thread",
						"QO_SHM_GET=off",
						"QO_AGENT_SPIN_NS=1us",
						"QO_WAIT_SPIN_NS=1us", NULL };
	static const char *const stages[] = { "QO_AGENT=thread",
					      "QO_COLL_ALLREDUCE=ring",
					      "QO_COLL_ALLTOALL=pairwise",
					      "QO_COLL_BCAST=chain",
					      "QO_COLL_BARRIER=dissemination",
					      "QO_AGENT_IDLE=block",
					      NULL };
	static const char *const *const modes[] = { inlined, threaded, stages };
	struct job job = { .seed = 1, .epochs = 80 };
	int failed = 0;

	if (argc > 1)
		job.seed = strtoull(argv[1], NULL, 0);
	if (argc > 2)
		job.epochs = strtoull(argv[2], NULL, 0);
	printf("seed %llu epochs %llu\n", (unsigned long long)job.seed,
	       (unsigned long long)job.epochs);
	fflush(stdout);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		qot_limit(LIMIT_S, modes[i][0]);
		job.settings = modes[i];
		failed += qot_run_threads(RANKS, rank_main, &job);
		failed += qot_run_processes(RANKS, rank_main, &job);
	}
	qot_limit(LIMIT_S, "daemon");
	failed += run_daemon(&job);
	return failed != 0;
}
