/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Long lives: teams and operations made and destroyed by the thousand leave
 * the daemon as it was; several threads of a rank post at once.
 */
#define _GNU_SOURCE /* usleep */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "tests/daemon/stand.h"

#define SLACK_KIB 1024
#define SLACK_MAPS 4
#define THREADS 6
#define THREAD_TURNS 400

static const char *const through[] = { "QO_AGENT_DIRECT=off",
				       "QO_COLL_BCAST=chain", NULL };

/* Since the daemon is idle between two of these, what it has is at rest. */
static int use_at_rest(struct qot_rank *rank, struct qot_use *use_out)
{
	const struct qot_daemon *daemon = qoc_env(rank)->param;
	struct qoi_layout_attach_status_total total = { 0 };

	qot_meet(rank);
	if (rank->rank != 0) {
		qot_meet(rank);
		return 0;
	}
	for (int64_t end = qoc_in_ms(2000); qoc_now() < end; usleep(1000)) {
		QOC_PASS(qot_daemon_total(daemon, &total));
		if (total.groups == 0)
			break;
	}
	QOT_CHECK(rank, total.groups == 0);
	QOC_PASS(qot_use_read(daemon->pid, use_out));
	qot_meet(rank);
	return 0;
}

static int use_is_flat(struct qot_rank *rank, const struct qot_use *before,
		       const struct qot_use *after)
{
	if (rank->rank != 0)
		return 0;
	if (after->fds > before->fds || after->maps > before->maps + SLACK_MAPS ||
	    after->rss_kib > before->rss_kib + SLACK_KIB)
		fprintf(stderr,
			"descriptors %u -> %u, mappings %u -> %u, resident "
			"%llu -> %llu KiB\n",
			before->fds, after->fds, before->maps, after->maps,
			(unsigned long long)before->rss_kib,
			(unsigned long long)after->rss_kib);
	QOT_CHECK(rank, after->fds <= before->fds);
	QOT_CHECK(rank, after->maps <= before->maps + SLACK_MAPS);
	QOT_CHECK(rank, after->rss_kib <= before->rss_kib + SLACK_KIB);
	return 0;
}

/* Split, gather, destroy. */
static int team_turn(struct qot_rank *rank, qo_team_t team, uint64_t *values,
		     uint64_t turn)
{
	qo_team_t part;
	qo_op_t op;

	QOT_CHECK(rank, qo_team_split(team, 0, 0, &part) == 0);
	values[rank->rank] = turn + rank->rank;
	QOT_CHECK(rank, qo_allgather_init(part, QO_IN_PLACE, values, 1,
					  QO_UINT64, &op) == 0);
	QOC_PASS(qot_run_op(op));
	for (uint64_t i = 0; i < rank->count; i++)
		QOT_CHECK(rank, values[i] == turn + i);
	QOT_CHECK(rank, qo_op_destroy(op) == 0);
	QOT_CHECK(rank, qo_team_destroy(part) == 0);
	return 0;
}

static int op_turn(struct qot_rank *rank, qo_team_t team, uint64_t *values,
		   uint64_t turn)
{
	qo_op_t op;

	values[0] = rank->rank == 0 ? turn : 0;
	QOT_CHECK(rank, qo_bcast_init(team, values, 1, QO_UINT64, 0, &op) == 0);
	/* Most are never posted. */
	if (turn % 16 == 0) {
		QOC_PASS(qot_run_op(op));
		QOT_CHECK(rank, values[0] == turn);
	}
	QOT_CHECK(rank, qo_op_destroy(op) == 0);
	return 0;
}

static int living_rank(struct qot_rank *rank)
{
	uint64_t teams = qod_long() ? 2000 : 300;
	uint64_t ops = qod_long() ? 20000 : 3000;
	uint64_t warm = teams / 10;
	struct qot_use before = { 0 }, after = { 0 };
	struct qoc_room room;
	qo_context_t context;
	qo_team_t team;

	QOC_PASS(qoc_join(rank, through, &context, &team));
	QOC_PASS(qoc_room_take(rank, context, rank->count * 8, &room));
	for (uint64_t turn = 0; turn < teams; turn++) {
		if (turn == warm)
			QOC_PASS(use_at_rest(rank, &before));
		QOC_PASS(team_turn(rank, team, room.address, turn));
	}
	for (uint64_t turn = 0; turn < ops; turn++)
		QOC_PASS(op_turn(rank, team, room.address, turn));
	QOC_PASS(use_at_rest(rank, &after));
	QOC_PASS(use_is_flat(rank, &before, &after));
	qoc_room_free(&room);
	return qoc_leave(rank, context, team);
}

static int serve(const char *way, qot_rank_fn fn, uint32_t ranks)
{
	struct qod_stand stand;
	int failed;

	if (qod_open(&stand, NULL, NULL) != 0)
		return 1;
	qod_set_way(&stand, way);
	failed = qod_run(&stand, ranks, fn, &stand.daemon, 0);
	return failed + qod_close(&stand);
}

static int life(const void *param)
{
	return serve(param, living_rank, 2);
}

/* One thread of a rank, with a team and operations of its own. */
struct worker {
	struct qot_rank *rank;
	qo_context_t context;
	qo_team_t team;
	uint64_t number;
	int failed;
};

static int worker_run(struct worker *worker)
{
	struct qot_rank *rank = worker->rank;
	struct qoc_room room;
	uint64_t *values;
	qo_op_t ops[2];

	QOC_PASS(qoc_room_take(rank, worker->context, 2 * 700 * 8, &room));
	values = room.address;
	for (int i = 0; i < 2; i++)
		QOT_CHECK(rank,
			  qo_allreduce_init(worker->team, QO_IN_PLACE,
					    values + i * 700, 700, QO_UINT64,
					    QO_SUM, &ops[i]) == 0);
	for (uint64_t turn = 0; turn < THREAD_TURNS; turn++) {
		qo_request_t requests[2];
		uint64_t mine = turn * THREADS + worker->number;

		values[0] = values[699] = mine;
		values[700] = values[1399] = mine + 1;
		for (int i = 0; i < 2; i++)
			QOT_CHECK(rank, qo_post(ops[i], &requests[i]) == 0);
		for (int i = 0; i < 2; i++)
			QOC_PASS(qoc_wait_done(requests[i], qoc_in_ms(10000)));
		QOT_CHECK(rank, values[0] == rank->count * mine);
		QOT_CHECK(rank, values[699] == values[0]);
		QOT_CHECK(rank, values[1399] == rank->count * (mine + 1));
	}
	for (int i = 0; i < 2; i++)
		QOT_CHECK(rank, qo_op_destroy(ops[i]) == 0);
	qoc_room_free(&room);
	return 0;
}

static void *worker_main(void *arg)
{
	struct worker *worker = arg;

	worker->failed = worker_run(worker);
	return NULL;
}

/* More threads than lanes, each with a team of its own: no cross-talk (D2). */
static int threaded_rank(struct qot_rank *rank)
{
	struct worker workers[THREADS];
	pthread_t threads[THREADS];
	qo_context_t context;
	qo_team_t team;

	QOC_PASS(qoc_join(rank, through, &context, &team));
	for (uint64_t i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ rank, context, NULL, i, 0 };
		QOT_CHECK(rank,
			  qo_team_split(team, 0, 0, &workers[i].team) == 0);
	}
	for (int i = 0; i < THREADS; i++)
		QOT_CHECK(rank, pthread_create(&threads[i], NULL, worker_main,
					       &workers[i]) == 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < THREADS; i++) {
		QOT_CHECK(rank, workers[i].failed == 0);
		QOT_CHECK(rank, qo_team_destroy(workers[i].team) == 0);
	}
	return qoc_leave(rank, context, team);
}

static int threads(const void *param)
{
	return serve(param, threaded_rank, 2);
}

/*
 * An object can't be taken from under a request (B6): busy while it is under
 * way, and stale, not a crash, once it is gone.
 */
static int busy_rank(struct qot_rank *rank)
{
	struct qo_status status;
	uint64_t value = 0;
	qo_context_t context;
	qo_request_t request;
	qo_team_t team;
	qo_op_t op;

	QOC_PASS(qoc_join(rank, through, &context, &team));
	QOT_CHECK(rank, qo_bcast_init(team, &value, 1, QO_UINT64, 0, &op) == 0);
	for (uint64_t turn = 1; turn <= 50; turn++) {
		if (rank->rank == 0) {
			value = turn;
			qot_meet(rank);
		}
		QOT_CHECK(rank, qo_post(op, &request) == 0);
		if (rank->rank == 1) {
			qo_request_t again;

			QOT_CHECK(rank, qo_test(request, &status) == 0);
			QOT_CHECK(rank, status.state == QO_PENDING);
			QOT_CHECK(rank, qo_post(op, &again) == -EBUSY);
			QOT_CHECK(rank, qo_op_destroy(op) == -EBUSY);
			QOT_CHECK(rank, qo_team_destroy(team) == -EBUSY);
			qot_meet(rank);
		}
		QOC_PASS(qoc_wait_done(request, qoc_in_ms(5000)));
		QOT_CHECK(rank, value == turn);
	}
	QOT_CHECK(rank, qo_op_destroy(op) == 0);
	QOT_CHECK(rank, qo_test(request, &status) == -EBADF);
	QOT_CHECK(rank, qo_wait(request, qoc_in_ms(10), &status) == -EBADF);
	return qoc_leave(rank, context, team);
}

static int busy(const void *param)
{
	return serve(param, busy_rank, 2);
}

static const struct qod_test tests[] = {
	{ "life_map", life, "map" },
	{ "life_cross", life, "cross" },
	{ "life_stage", life, "stage" },
	{ "threads_map", threads, "map" },
	{ "threads_cross", threads, "cross" },
	{ "threads_stage", threads, "stage" },
	{ "busy_cross", busy, "cross" },
	{ "busy_stage", busy, "stage" },
	{ NULL, NULL, NULL },
};

int main(int argc, char **argv)
{
	return qod_main(argc, argv, tests, 280);
}
