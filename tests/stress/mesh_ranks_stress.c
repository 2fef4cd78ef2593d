/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random rounds over a random mesh between ranks that are threads of one
 * process.  A second thread of each rank tests and waits for its rounds;
 * rounds are released in random order.
 * The same again with ranks that are processes.
 * Usage: mesh_ranks_stress [SEED [ROUNDS]]
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/ranks.h"

#define RANKS 3
#define EDGES 12
#define DEPTH 4
#define SLOT_BYTES 600
#define LIMIT_S 250

struct job {
	uint64_t seed;
	uint64_t rounds;
	const char *const *settings;
	struct qo_edge edges[EDGES];
};

struct side {
	struct qot_rank *rank;
	const struct job *job;
	qo_context_t context;
	qo_mesh_t mesh;
	uint64_t handles[DEPTH]; /* atomic: of the rounds under way, or 0 */
	uint32_t stop;
	uint32_t wrong;
};

static uint64_t mix(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t x = a * UINT64_C(0x9e3779b97f4a7c15) + b * 1000003 + c;

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	return x ^ x >> 29;
}

static uint32_t seam_bytes(const struct job *job, uint32_t edge, uint64_t round)
{
	return (uint32_t)(mix(job->seed, edge, round) %
			  (job->edges[edge].slot_bytes + 1));
}

static void seam_fill(const struct job *job, uint32_t edge, uint64_t round,
		      uint8_t *data)
{
	uint32_t bytes = seam_bytes(job, edge, round);

	for (uint32_t i = 0; i < bytes; i++)
		data[i] = (uint8_t)mix(edge, round, i);
}

static int round_post(struct side *side, uint64_t round,
		      qo_request_t *request_out)
{
	const struct job *job = side->job;
	uint8_t data[EDGES][SLOT_BYTES];
	struct qo_seam seams[EDGES];
	size_t count = 0;

	for (uint32_t i = 0; i < EDGES; i++) {
		if (job->edges[i].source != side->rank->rank)
			continue;
		seam_fill(job, i, round, data[i]);
		seams[count++] = (struct qo_seam){ i, seam_bytes(job, i, round),
						   data[i] };
	}
	return qo_mesh_post(side->mesh, round, seams, count, QO_NO_DEADLINE,
			    request_out);
}

static int round_check(struct side *side, uint64_t round, qo_request_t request)
{
	uint8_t want[SLOT_BYTES];
	struct qo_view view;
	int error;

	while ((error = qo_mesh_arrived(request, QO_ANY_EDGE, &view)) == 0) {
		seam_fill(side->job, view.edge, round, want);
		QOT_CHECK(side->rank, view.round == round);
		QOT_CHECK(side->rank,
			  view.bytes == seam_bytes(side->job, view.edge, round));
		QOT_CHECK(side->rank, memcmp(view.data, want, view.bytes) == 0);
	}
	QOT_CHECK(side->rank, error == -ENOENT);
	return 0;
}

/* Some go stale just then: -EBADF, and nothing else. */
static void *tester_main(void *arg)
{
	struct side *side = arg;
	uint64_t n = 0;

	while (__atomic_load_n(&side->stop, __ATOMIC_ACQUIRE) == 0) {
		struct qo_status status = { 0 };
		qo_request_t request = { __atomic_load_n(
			&side->handles[n++ % DEPTH], __ATOMIC_ACQUIRE) };
		int error;

		sched_yield();
		if (request.id == QO_REQUEST_NULL_ID)
			continue;
		if (n % 8 == 0)
			error = qo_wait(request, 1, &status);
		else
			error = qo_test(request, &status);
		if ((error != 0 && error != -EBADF && error != -ETIMEDOUT) ||
		    status.state == QO_FAILED)
			side->wrong++;
	}
	return NULL;
}

/* Up to DEPTH rounds under way, then waits for them and releases them. */
static int batch_run(struct side *side, uint64_t first, uint32_t count)
{
	qo_request_t requests[DEPTH];
	struct qo_status status;
	uint32_t start = (uint32_t)mix(first, side->rank->rank, 9) % count;

	for (uint32_t i = 0; i < count; i++) {
		int error;

		while ((error = round_post(side, first + i, &requests[i])) ==
		       -EAGAIN) {
			qo_progress(side->context);
			sched_yield();
		}
		QOT_CHECK(side->rank, error == 0);
		__atomic_store_n(&side->handles[i], requests[i].id,
				 __ATOMIC_RELEASE);
	}
	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = (start + i) % count;

		QOT_CHECK(side->rank,
			  qo_wait(requests[at], QO_NO_DEADLINE, &status) == 0);
		QOT_CHECK(side->rank, status.state == QO_DONE);
		if (round_check(side, first + at, requests[at]) != 0)
			return 1;
		__atomic_store_n(&side->handles[at], QO_REQUEST_NULL_ID,
				 __ATOMIC_RELEASE);
		QOT_CHECK(side->rank, qo_mesh_release(requests[at]) == 0);
	}
	return 0;
}

static int rounds_run(struct side *side)
{
	uint64_t round = 0;

	while (round < side->job->rounds) {
		uint32_t count =
			1 + (uint32_t)mix(round, side->rank->rank, 3) % DEPTH;

		if (round + count > side->job->rounds)
			count = (uint32_t)(side->job->rounds - round);
		if (batch_run(side, round, count) != 0)
			return 1;
		round += count;
	}
	return 0;
}

static int rank_main(struct qot_rank *rank)
{
	struct side side = { .rank = rank, .job = rank->arg };
	pthread_t tester;
	qo_team_t team;

	QOT_CHECK(rank,
		  qot_join(rank, side.job->settings, &side.context, &team) == 0);
	QOT_CHECK(rank,
		  qo_mesh_create(team, side.job->edges, EDGES, &side.mesh) == 0);
	QOT_CHECK(rank, pthread_create(&tester, NULL, tester_main, &side) == 0);
	if (rounds_run(&side) != 0)
		exit(1); /* the others wait for this one */
	__atomic_store_n(&side.stop, 1, __ATOMIC_RELEASE);
	pthread_join(tester, NULL);
	QOT_CHECK(rank, side.wrong == 0);
	qot_meet_progress(rank, side.context);
	while (qo_mesh_destroy(side.mesh) == -EBUSY)
		qo_progress(side.context);
	QOT_CHECK(rank, qo_team_destroy(team) == 0);
	QOT_CHECK(rank, qo_fini(side.context) == 0);
	return 0;
}

int main(int argc, char **argv)
{
	static const char *const inlined[] = { "QO_AGENT=inline", NULL };
	static const char *const threaded[] = { "QO_AGENT=thread",
						"QO_AGENT_SPIN_NS=1us",
						"QO_WAIT_SPIN_NS=1us",
						"QO_WAIT_YIELD_NS=1us", NULL };
	static const char *const *const modes[] = { inlined, threaded };
	struct job job = { .seed = 1, .rounds = 30000 };
	int failed = 0;

	if (argc > 1)
		job.seed = strtoull(argv[1], NULL, 0);
	if (argc > 2)
		job.rounds = strtoull(argv[2], NULL, 0);
	printf("seed %llu rounds %llu\n", (unsigned long long)job.seed,
	       (unsigned long long)job.rounds);
	fflush(stdout);
	for (uint32_t i = 0; i < EDGES; i++) {
		uint64_t draw = mix(job.seed, i, 11);

		job.edges[i] = (struct qo_edge){ (uint32_t)draw % RANKS,
						 (uint32_t)(draw >> 20) % RANKS,
						 i,
						 (uint32_t)(draw >> 40) %
							 (SLOT_BYTES + 1),
						 DEPTH,
						 0 };
	}
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		qot_limit(LIMIT_S, modes[i][0]);
		job.settings = modes[i];
		failed += qot_run_threads(RANKS, rank_main, &job);
		failed += qot_run_processes(RANKS, rank_main, &job);
	}
	return failed != 0;
}
