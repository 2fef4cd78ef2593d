/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of requests: stale, exhausted, left over, one of several. */
#include <errno.h>
#include <string.h>

#include "tests/conformance/suite.h"

#define SLOTS 16

static int stale(struct qot_rank *rank)
{
	const qo_request_t never = { QO_REQUEST_NULL_ID };
	const qo_request_t wild[] = { { 1 },
				      { UINT64_MAX },
				      { UINT64_C(0xff00000000) },
				      { UINT64_C(0x100ffffff) } };
	struct qo_status status = { 77, 77, 77, 77 };
	qo_context_t context;
	qo_request_t first, second;
	qo_team_t team;
	size_t index;
	qo_op_t op;

	QOT_CHECK(rank, qo_test(never, &status) == -EBADF);
	QOC_PASS(qoc_join(rank, NULL, &context, &team));
	QOT_CHECK(rank, qo_test(never, &status) == -EBADF);
	QOT_CHECK(rank, qo_wait(never, QO_NO_DEADLINE, &status) == -EBADF);
	QOT_CHECK(rank, qo_wait_any(&never, 1, QO_NO_DEADLINE, &index,
				    &status) == -ENOENT);
	for (size_t i = 0; i < sizeof(wild) / sizeof(wild[0]); i++)
		QOT_CHECK(rank, qo_test(wild[i], &status) == -EBADF);
	QOT_CHECK(rank, status.state == 77); /* written on success only */
	QOT_CHECK(rank, qo_barrier_init(team, &op) == 0);
	QOT_CHECK(rank, qo_post(op, &first) == 0);
	QOC_PASS(qoc_wait_done(first, QO_NO_DEADLINE));
	/* A finished one stays readable until the next post. */
	QOC_PASS(qoc_wait_done(first, QO_NO_DEADLINE));
	QOT_CHECK(rank, qo_test(first, &status) == 0);
	QOT_CHECK(rank, status.state == QO_DONE && status.error == 0 &&
				status.rank == QO_RANK_NONE &&
				status.flags == 0);
	QOT_CHECK(rank, qo_post(op, &second) == 0);
	QOT_CHECK(rank, qo_test(first, &status) == -EBADF);
	QOT_CHECK(rank, qo_wait(first, QO_NO_DEADLINE, &status) == -EBADF);
	QOC_PASS(qoc_wait_done(second, QO_NO_DEADLINE));
	QOT_CHECK(rank, qo_op_destroy(op) == 0);
	QOT_CHECK(rank, qo_test(second, &status) == -EBADF);
	QOC_PASS(qoc_leave(rank, context, team));
	QOT_CHECK(rank, qo_test(second, &status) == -EBADF);
	return 0;
}

/* All slots taken is -EAGAIN on every rank, and works again afterwards. */
static int exhausted(struct qot_rank *rank)
{
	static const char *const few[] = { "QO_REQUEST_COUNT=16", NULL };
	const struct qo_edge edge = { rank->rank, rank->rank, 0, 8, 4, 0 };
	struct qo_agent_info info = QO_AGENT_INFO_INIT;
	qo_context_t context;
	qo_op_t ops[SLOTS], more;
	qo_mesh_t mesh;
	qo_team_t team;

	QOC_PASS(qoc_join(rank, few, &context, &team));
	for (int turn = 0; turn < 3; turn++) {
		for (int i = 0; i < SLOTS; i++)
			QOT_CHECK(rank, qo_barrier_init(team, &ops[i]) == 0);
		for (int i = 0; i < 5; i++)
			QOT_CHECK(rank, qo_barrier_init(team, &more) == -EAGAIN);
		QOT_CHECK(rank,
			  qo_mesh_create(team, &edge, 1, &mesh) == -EAGAIN);
		QOT_CHECK(rank, qo_agent_query(context, &info) == 0);
		QOT_CHECK(rank, info.request_slots_used == SLOTS &&
					info.request_slots == SLOTS);
		for (int i = 0; i < SLOTS; i++) {
			QOC_PASS(qot_run_op(ops[i]));
			QOT_CHECK(rank, qo_op_destroy(ops[i]) == 0);
		}
		QOT_CHECK(rank, qo_agent_query(context, &info) == 0);
		QOT_CHECK(rank, info.request_slots_used == 0);
	}
	return qoc_leave(rank, context, team);
}

/* Every slot under way at once, never tested until all are posted. */
static int all_under_way(struct qot_rank *rank)
{
	enum { OPS = 499 }; /* a prime: each order has all */
	struct qoc_room room;
	uint64_t *values;
	qo_request_t requests[OPS];
	qo_op_t ops[OPS];
	qo_context_t context;
	qo_team_t team;

	QOC_PASS(qoc_join(rank, NULL, &context, &team));
	QOC_PASS(qoc_room_take(rank, context, OPS * sizeof(*values), &room));
	values = room.address;
	for (uint64_t i = 0; i < OPS; i++) {
		QOT_CHECK(rank,
			  qo_allreduce_init(team, QO_IN_PLACE, &values[i], 1,
					    QO_UINT64, QO_SUM, &ops[i]) == 0);
	}
	for (uint64_t turn = 0; turn < 5; turn++) {
		for (uint64_t i = 0; i < OPS; i++) {
			/* Each rank in an order of its own. */
			uint64_t at = (i * (2 * rank->rank + 1)) % OPS;

			values[at] = at + turn;
			QOT_CHECK(rank, qo_post(ops[at], &requests[at]) == 0);
		}
		for (uint64_t i = 0; i < OPS; i++) {
			QOC_PASS(qoc_wait_done(requests[i], QO_NO_DEADLINE));
			QOT_CHECK(rank, values[i] == rank->count * (i + turn));
		}
	}
	for (uint64_t i = 0; i < OPS; i++)
		QOT_CHECK(rank, qo_op_destroy(ops[i]) == 0);
	qoc_room_free(&room);
	return qoc_leave(rank, context, team);
}

/* A request that its peer starts later: busy, pending, timed out, done. */
static int pending(struct qot_rank *rank)
{
	struct qo_status status = { 77, 0, 0, 0 };
	qo_context_t context;
	qo_request_t request, again = { 5 };
	int64_t deadline;
	qo_team_t team;
	qo_op_t op;

	QOC_PASS(qoc_join(rank, NULL, &context, &team));
	QOT_CHECK(rank, qo_barrier_init(team, &op) == 0);
	if (rank->rank == 1)
		qoc_sleep_ms(500);
	QOT_CHECK(rank, qo_post(op, &request) == 0);
	if (rank->rank == 0) {
		QOT_CHECK(rank, qo_test(request, &status) == 0);
		QOT_CHECK(rank, status.state == QO_PENDING);
		QOT_CHECK(rank, qo_post(op, &again) == -EBUSY && again.id == 5);
		QOT_CHECK(rank, qo_op_destroy(op) == -EBUSY);
		deadline = qoc_in_ms(20);
		status.state = 77;
		QOT_CHECK(rank,
			  qo_wait(request, deadline, &status) == -ETIMEDOUT);
		QOT_CHECK(rank, status.state == 77);
		QOT_CHECK(rank, qoc_now() >= deadline);
		QOT_CHECK(rank, qoc_now() < deadline + 300000000);
	}
	QOC_PASS(qoc_wait_done(request, QO_NO_DEADLINE));
	QOT_CHECK(rank, qo_op_destroy(op) == 0);
	return qoc_leave(rank, context, team);
}

/* The lowest of those that are done; null ones are passed over. */
static int wait_any(struct qot_rank *rank)
{
	qo_request_t requests[4] = { { 0 }, { 0 }, { 0 }, { 0 } };
	struct qo_status status;
	qo_context_t context;
	size_t index = 9;
	qo_team_t team;
	qo_op_t ops[3];

	QOC_PASS(qoc_join(rank, NULL, &context, &team));
	for (int i = 0; i < 3; i++)
		QOT_CHECK(rank, qo_barrier_init(team, &ops[i]) == 0);
	for (int i = 0; i < 3; i++) {
		if (rank->rank == 0 || i == 1)
			QOT_CHECK(rank, qo_post(ops[i], &requests[i + 1]) == 0);
	}
	if (rank->rank == 0) {
		QOT_CHECK(rank, qo_wait_any(requests, 4, QO_NO_DEADLINE, &index,
					    &status) == 0);
		QOT_CHECK(rank, index == 2 && status.state == QO_DONE);
		requests[2].id = QO_REQUEST_NULL_ID;
		QOT_CHECK(rank, qo_wait_any(requests, 4, qoc_in_ms(10), &index,
					    &status) == -ETIMEDOUT);
	}
	/* Rank 0 must not wait before this. */
	qot_meet_progress(rank, context);
	for (int i = 0; i < 3; i++) {
		if (rank->rank != 0 && i != 1)
			QOT_CHECK(rank, qo_post(ops[i], &requests[i + 1]) == 0);
	}
	for (int i = 1; i < 4; i++) {
		if (requests[i].id != QO_REQUEST_NULL_ID)
			QOC_PASS(qoc_wait_done(requests[i], QO_NO_DEADLINE));
	}
	QOT_CHECK(rank, qo_wait_any(requests, 4, QO_NO_DEADLINE, &index,
				    &status) == 0);
	QOT_CHECK(rank, index == 1);
	qot_meet_progress(rank, context);
	for (int i = 0; i < 3; i++)
		QOT_CHECK(rank, qo_op_destroy(ops[i]) == 0);
	QOT_CHECK(rank, qo_wait_any(requests, 4, QO_NO_DEADLINE, &index,
				    &status) == -EBADF);
	return qoc_leave(rank, context, team);
}

/*
 * One rank leaves as soon as its own part is done, again and again: the others
 * still get the right result.
 */
static int early_leaver(struct qot_rank *rank)
{
	static const char *const stages[] = { "QO_COLL_BARRIER=dissemination",
					      NULL };

	for (uint32_t turn = 0; turn < 10; turn++) {
		uint64_t value = turn;
		qo_context_t context;
		qo_team_t team;
		qo_op_t op, barrier;

		QOC_PASS(qoc_join(rank, stages, &context, &team));
		QOT_CHECK(rank, qo_barrier_init(team, &barrier) == 0);
		QOC_PASS(qot_run_op(barrier));
		QOT_CHECK(rank, qo_bcast_init(team, &value, 1, QO_UINT64,
					      turn % rank->count, &op) == 0);
		if (rank->rank != turn % rank->count)
			value = 0;
		if (rank->rank == rank->count - 1)
			qoc_sleep_ms(2);
		QOC_PASS(qot_run_op(op));
		QOT_CHECK(rank, value == turn);
		QOT_CHECK(rank, qo_op_destroy(op) == 0);
		if (turn % 2 == 1)
			QOC_PASS(qot_run_op(barrier));
		QOT_CHECK(rank, qo_op_destroy(barrier) == 0);
		QOC_PASS(qoc_leave(rank, context, team));
	}
	return 0;
}

/* What is left over at fini is told, and freed nevertheless. */
static int left_over(struct qot_rank *rank)
{
	static const char *const brief[] = { "QO_FINI_TIMEOUT=100ms", NULL };
	const struct qo_edge edge = { rank->rank, rank->rank, 0, 8, 4, 0 };
	struct qo_status status;
	qo_context_t context;
	qo_request_t request;
	int64_t since;
	qo_mesh_t mesh;
	qo_team_t team;
	qo_op_t op;

	QOC_PASS(qoc_join(rank, brief, &context, &team));
	QOT_CHECK(rank, qo_barrier_init(team, &op) == 0);
	QOT_CHECK(rank, qo_mesh_create(team, &edge, 1, &mesh) == 0);
	QOT_CHECK(rank, qo_post(op, &request) == 0);
	QOC_PASS(qoc_wait_done(request, QO_NO_DEADLINE));
	qot_meet_progress(rank, context);
	since = qoc_now();
	QOT_CHECK(rank, qo_fini(context) == -EBUSY);
	QOT_CHECK(rank, qoc_now() - since < INT64_C(2000000000));
	QOT_CHECK(rank, qo_test(request, &status) == -EBADF);
	return 0;
}

const struct qoc_case qoc_request_cases[] = {
	{ "stale_requests", 1, 2, stale, NULL, 0 },
	{ "slots_exhausted", 1, 3, exhausted, NULL, 0 },
	{ "all_under_way", 1, 3, all_under_way, NULL, 0 },
	{ "pending_request", 2, 2, pending, NULL, 0 },
	{ "wait_any", 2, 3, wait_any, NULL, 0 },
	{ "early_leaver", 2, 5, early_leaver, NULL, 0 },
	{ "left_over", 1, 2, left_over, NULL, 0 },
	{ NULL, 0, 0, NULL, NULL, 0 },
};
