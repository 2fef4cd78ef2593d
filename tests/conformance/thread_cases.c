/* SPDX-License-Identifier: BSD-3-Clause */
/* Several threads of a rank: tests of one request, posts by turns. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "tests/conformance/data.h"
#include "tests/conformance/suite.h"

#define TESTERS 8
#define TURNS 500

struct testers {
	qo_request_t request;
	uint32_t start; /* the round that is to be tested */
	uint32_t stop;
	uint64_t ranks; /* the result is so many times the round */
	uint64_t value; /* what the request brings */
	uint32_t wrong;
	uint32_t ended; /* testers that saw the end of this round */
};

/* Each sees the end, and the result behind it. */
static void *tester_main(void *arg)
{
	struct testers *testers = arg;
	uint32_t round = 0;

	for (;;) {
		struct qo_status status;
		uint32_t start;

		do {
			start = __atomic_load_n(&testers->start,
						__ATOMIC_ACQUIRE);
			if (__atomic_load_n(&testers->stop, __ATOMIC_ACQUIRE))
				return NULL;
			sched_yield();
		} while (start == round);
		round = start;
		do {
			if (qo_test(testers->request, &status) != 0) {
				__atomic_add_fetch(&testers->wrong, 1,
						   __ATOMIC_RELAXED);
				break;
			}
			if (status.state == QO_PENDING)
				sched_yield();
		} while (status.state == QO_PENDING);
		if (status.state != QO_DONE ||
		    testers->value != round * testers->ranks)
			__atomic_add_fetch(&testers->wrong, 1, __ATOMIC_RELAXED);
		__atomic_add_fetch(&testers->ended, 1, __ATOMIC_ACQ_REL);
	}
}

static int rounds_test(struct qot_rank *rank, qo_op_t op,
		       struct testers *testers)
{
	for (uint32_t round = 1; round <= 200; round++) {
		int64_t deadline = qoc_in_ms(10000);

		testers->value = round;
		testers->ended = 0;
		QOT_CHECK(rank, qo_post(op, &testers->request) == 0);
		__atomic_store_n(&testers->start, round, __ATOMIC_RELEASE);
		while (__atomic_load_n(&testers->ended, __ATOMIC_ACQUIRE) !=
		       TESTERS) {
			QOT_CHECK(rank, qoc_now() < deadline);
			sched_yield();
		}
		QOT_CHECK(rank, testers->wrong == 0);
	}
	return 0;
}

/* Eight threads test one request: all see it end, with the same result. */
static int many_testers(struct qot_rank *rank)
{
	static struct testers testers;
	pthread_t threads[TESTERS];
	qo_context_t context;
	qo_team_t team;
	qo_op_t op;
	int failed;

	testers.ranks = rank->count;
	QOC_PASS(qoc_join(rank, NULL, &context, &team));
	QOT_CHECK(rank, qo_allreduce_init(team, QO_IN_PLACE, &testers.value, 1,
					  QO_UINT64, QO_SUM, &op) == 0);
	for (int i = 0; i < TESTERS; i++)
		QOT_CHECK(rank, pthread_create(&threads[i], NULL, tester_main,
					       &testers) == 0);
	failed = rounds_test(rank, op, &testers);
	__atomic_store_n(&testers.stop, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < TESTERS; i++)
		pthread_join(threads[i], NULL);
	if (failed)
		return 1;
	qot_meet_progress(rank, context);
	QOT_CHECK(rank, qo_op_destroy(op) == 0);
	return qoc_leave(rank, context, team);
}

struct turns {
	struct qot_rank *rank;
	pthread_mutex_t mutex;
	qo_op_t op;
	qo_mesh_t mesh;
	qo_context_t context;
	uint64_t values[40];
	uint64_t turn;
	uint32_t failed;
};

static int reduce_turn(struct turns *turns)
{
	struct qot_rank *rank = turns->rank;
	uint64_t turn = turns->turn;

	for (uint64_t i = 0; i < 40; i++)
		turns->values[i] = turn + i;
	QOC_PASS(qot_run_op(turns->op));
	for (uint64_t i = 0; i < 40; i++)
		QOT_CHECK(rank, turns->values[i] == rank->count * (turn + i));
	return 0;
}

/* From each to the next: a sum over the payload travels in it. */
static int mesh_turn(struct turns *turns)
{
	struct qot_rank *rank = turns->rank;
	uint64_t data[9], seen[9], sum = 0;
	struct qo_seam seam = { 0, sizeof(data), data };
	int64_t deadline = qoc_in_ms(10000);
	qo_request_t request;
	struct qo_view view;
	int error;

	qoc_fill(data, QO_UINT64, 8, qoc_seed(rank->rank, turns->turn, 3));
	for (int i = 0; i < 8; i++)
		sum += data[i];
	data[8] = sum;
	while ((error = qo_mesh_post(turns->mesh, turns->turn, &seam, 1,
				     QO_NO_DEADLINE, &request)) == -EAGAIN) {
		QOT_CHECK(rank, qoc_now() < deadline);
		qo_progress(turns->context);
		sched_yield();
	}
	QOT_CHECK(rank, error == 0);
	QOC_PASS(qoc_wait_done(request, deadline));
	QOT_CHECK(rank, qo_mesh_arrived(request, QO_ANY_EDGE, &view) == 0);
	QOT_CHECK(rank, view.bytes == sizeof(seen));
	memcpy(seen, view.data, sizeof(seen));
	for (int i = 0; i < 8; i++)
		seen[8] -= seen[i];
	QOT_CHECK(rank, seen[8] == 0);
	QOT_CHECK(rank, qo_mesh_release(request) == 0);
	return 0;
}

static void *turns_main(void *arg)
{
	struct turns *turns = arg;

	for (;;) {
		int over;

		pthread_mutex_lock(&turns->mutex);
		over = turns->turn == TURNS || turns->failed != 0;
		if (!over) {
			turns->failed |= reduce_turn(turns) != 0 ||
					 mesh_turn(turns) != 0;
			turns->turn++;
		}
		pthread_mutex_unlock(&turns->mutex);
		if (over)
			return NULL;
		sched_yield();
	}
}

/* "Serialised" is not "single": three threads take turns under a mutex. */
static int posts_by_turns(struct qot_rank *rank)
{
	static struct turns turns = { .mutex = PTHREAD_MUTEX_INITIALIZER };
	struct qo_edge edges[2] = {
		{ rank->rank, (rank->rank + 1) % rank->count, 0, 72, 4, 0 },
		{ (rank->rank + rank->count - 1) % rank->count, rank->rank, 0,
		  72, 4, 0 },
	};
	pthread_t threads[3];
	qo_team_t team;

	turns.rank = rank;
	QOC_PASS(qoc_join(rank, NULL, &turns.context, &team));
	QOT_CHECK(rank, qo_mesh_create(team, edges, rank->count == 1 ? 1 : 2,
				       &turns.mesh) == 0);
	QOT_CHECK(rank, qo_allreduce_init(team, QO_IN_PLACE, turns.values, 40,
					  QO_UINT64, QO_SUM, &turns.op) == 0);
	for (int i = 0; i < 3; i++)
		QOT_CHECK(rank, pthread_create(&threads[i], NULL, turns_main,
					       &turns) == 0);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	QOT_CHECK(rank, turns.failed == 0 && turns.turn == TURNS);
	qot_meet_progress(rank, turns.context);
	QOT_CHECK(rank, qo_op_destroy(turns.op) == 0);
	QOC_PASS(qoc_mesh_destroy(rank, turns.context, turns.mesh));
	return qoc_leave(rank, turns.context, team);
}

/* One thread waits for one request while others wait for and test others. */
struct waiter {
	struct qot_rank *rank;
	qo_team_t team;
	uint64_t value;
	int failed;
};

static int waiter_run(struct waiter *waiter)
{
	struct qot_rank *rank = waiter->rank;
	qo_op_t op;

	QOT_CHECK(rank,
		  qo_allreduce_init(waiter->team, QO_IN_PLACE, &waiter->value,
				    1, QO_UINT64, QO_SUM, &op) == 0);
	for (uint64_t i = 0; i < 300; i++) {
		waiter->value = i;
		QOC_PASS(qot_run_op(op));
		QOT_CHECK(rank, waiter->value == i * rank->count);
	}
	QOT_CHECK(rank, qo_op_destroy(op) == 0);
	return 0;
}

static void *waiter_main(void *arg)
{
	struct waiter *waiter = arg;

	waiter->failed = waiter_run(waiter);
	return NULL;
}

/* Four threads, each with a team of its own: no cross-talk (D2). */
static int teams_of_threads(struct qot_rank *rank)
{
	struct waiter waiters[4];
	pthread_t threads[4];
	qo_context_t context;
	qo_team_t team;

	QOC_PASS(qoc_join(rank, NULL, &context, &team));
	for (int i = 0; i < 4; i++) {
		waiters[i] = (struct waiter){ .rank = rank };
		QOT_CHECK(rank,
			  qo_team_split(team, 0, 0, &waiters[i].team) == 0);
	}
	for (int i = 0; i < 4; i++)
		QOT_CHECK(rank, pthread_create(&threads[i], NULL, waiter_main,
					       &waiters[i]) == 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		QOT_CHECK(rank, waiters[i].failed == 0);
	}
	for (int i = 0; i < 4; i++)
		QOT_CHECK(rank, qo_team_destroy(waiters[i].team) == 0);
	return qoc_leave(rank, context, team);
}

const struct qoc_case qoc_thread_cases[] = {
	{ "many_testers", 1, 2, many_testers, NULL, 0 },
	{ "posts_by_turns", 1, 3, posts_by_turns, NULL, 0 },
	{ "teams_of_threads", 2, 3, teams_of_threads, NULL, 0 },
	{ NULL, 0, 0, NULL, NULL, 0 },
};
