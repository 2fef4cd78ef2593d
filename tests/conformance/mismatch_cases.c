/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks that disagree on an operation: an error on every rank, in bounded
 * time, that names both sides; and the next operation works.
 */
#include <errno.h>
#include <string.h>

#include "tests/conformance/suite.h"

/* Far below the limit of a rank: an error must not come from that. */
#define BOUND_MS 5000

static int works(struct qot_rank *rank, qo_team_t team)
{
	uint64_t value = 1;
	qo_op_t op;

	QOT_CHECK(rank, qo_allreduce_init(team, QO_IN_PLACE, &value, 1,
					  QO_UINT64, QO_SUM, &op) == 0);
	QOC_PASS(qot_run_op(op));
	QOT_CHECK(rank, value == rank->count);
	QOT_CHECK(rank, qo_op_destroy(op) == 0);
	return 0;
}

/* Both descriptions are in the detail. */
static int told(struct qot_rank *rank, int error, const char *one,
		const char *other)
{
	const char *detail = qo_error_detail();

	QOT_CHECK(rank, error == -EPROTO);
	QOT_CHECK(rank, strstr(detail, one) != NULL);
	QOT_CHECK(rank, strstr(detail, other) != NULL);
	QOT_CHECK(rank, strstr(detail, "rank") != NULL);
	return 0;
}

static int differs(const struct qot_rank *rank)
{
	return rank->rank == rank->count - 1;
}

static int counts_differ(struct qot_rank *rank, qo_team_t team)
{
	static int32_t send[64], recv[64];
	uint64_t count = differs(rank) ? 6 : 5;
	qo_op_t op;

	QOC_PASS(told(rank,
		      qo_alltoall_init(team, send, recv, count, QO_INT32, &op),
		      "alltoall of 5", "alltoall of 6"));
	QOC_PASS(told(rank,
		      qo_allgather_init(team, send, recv, count, QO_INT32, &op),
		      "allgather of 5", "allgather of 6"));
	QOC_PASS(told(rank,
		      qo_allreduce_init(team, send, recv, count, QO_INT32,
					QO_SUM, &op),
		      "allreduce of 5", "allreduce of 6"));
	QOC_PASS(told(rank, qo_bcast_init(team, recv, count, QO_INT32, 0, &op),
		      "bcast of 5", "bcast of 6"));
	return 0;
}

static int orders_differ(struct qot_rank *rank, qo_team_t team)
{
	static int32_t send[64], recv[64];
	qo_op_t op;

	for (int turn = 0; turn < 2; turn++) {
		int error;

		if ((turn == 0) == differs(rank))
			error = qo_bcast_init(team, recv, 3, QO_INT32, 0, &op);
		else
			error = qo_allgather_init(team, send, recv, 3, QO_INT32,
						  &op);
		QOC_PASS(told(rank, error, "bcast", "allgather"));
	}
	return 0;
}

static int others_differ(struct qot_rank *rank, qo_team_t team)
{
	static int64_t send[64], recv[64];
	uint32_t odd = (uint32_t)differs(rank);
	qo_op_t op;

	QOC_PASS(told(rank, qo_bcast_init(team, recv, 3, QO_INT32, odd, &op),
		      "root 0", "root 1"));
	QOC_PASS(told(rank,
		      qo_allreduce_init(team, send, recv, 3,
					odd ? QO_INT64 : QO_DOUBLE, QO_SUM, &op),
		      "int64", "double"));
	QOC_PASS(told(rank,
		      qo_allreduce_init(team, send, recv, 3, QO_INT64,
					odd ? QO_SUM : QO_XOR, &op),
		      "sum", "xor"));
	return 0;
}

/* What one sends to another is not what that expects. */
static int pairs_differ(struct qot_rank *rank, qo_team_t team)
{
	static uint8_t send[64], recv[64];
	uint64_t counts[8] = { 2, 2, 2, 2, 2, 2, 2, 2 };
	uint64_t expects[8] = { 2, 2, 2, 2, 2, 2, 2, 2 };
	uint64_t places[8] = { 0, 2, 4, 6, 8, 10, 12, 14 };
	struct qo_blocks from = { send, counts, places };
	struct qo_blocks to = { recv, expects, places };
	qo_op_t op;

	if (differs(rank))
		expects[0] = 1;
	QOC_PASS(told(rank, qo_alltoallv_init(team, &from, &to, QO_BYTE, &op),
		      "sends 2", "expects 1"));
	if (differs(rank))
		counts[rank->rank] = expects[rank->rank] = 1;
	expects[0] = 2;
	QOC_PASS(told(rank,
		      qo_allgatherv_init(team, send, counts[rank->rank], &to,
					 QO_BYTE, &op),
		      "sends", "expects"));
	return 0;
}

/* One rank's own mistake is everybody's error, and names that rank. */
static int one_wrong(struct qot_rank *rank, qo_team_t team)
{
	static uint8_t recv[64];
	uint8_t *send = differs(rank) ? NULL : recv + 32;
	char name[32];
	qo_op_t op;

	QOT_CHECK(rank, qo_allgather_init(team, send, recv, 3, QO_BYTE, &op) ==
				-EINVAL);
	snprintf(name, sizeof(name), "rank %u", rank->count - 1);
	QOT_CHECK(rank, differs(rank) ||
				strstr(qo_error_detail(), name) != NULL ||
				strstr(qo_error_detail(), "NULL") != NULL);
	QOT_CHECK(rank, qo_bcast_init(team, recv, 3, QO_BYTE, rank->count,
				      &op) == -EINVAL);
	QOT_CHECK(rank, qo_bcast_init(team, recv, UINT64_MAX / 2, QO_INT64, 0,
				      &op) == -EOVERFLOW);
	return 0;
}

static int (*const parts[])(struct qot_rank *, qo_team_t) = {
	counts_differ, orders_differ, others_differ, pairs_differ, one_wrong,
};

static int mismatches(struct qot_rank *rank)
{
	int64_t since = qoc_now();
	qo_context_t context;
	qo_team_t team;

	QOC_PASS(qoc_join(rank, NULL, &context, &team));
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		QOC_PASS(parts[i](rank, team));
		QOC_PASS(works(rank, team));
	}
	QOT_CHECK(rank, qoc_now() - since < BOUND_MS * INT64_C(1000000));
	return qoc_leave(rank, context, team);
}

/* A rank that does not come: the others get an error when time is up. */
static int one_absent(struct qot_rank *rank)
{
	static const char *const brief[] = { "QO_CONNECT_TIMEOUT=400ms", NULL };
	static int32_t buffer[4];
	char name[32];
	qo_context_t context;
	qo_team_t team;
	qo_op_t op;

	QOC_PASS(qoc_join(rank, brief, &context, &team));
	if (differs(rank)) {
		qoc_sleep_ms(1500);
	} else {
		int64_t since = qoc_now();

		QOT_CHECK(rank, qo_bcast_init(team, buffer, 4, QO_INT32, 0,
					      &op) == -ETIMEDOUT);
		QOT_CHECK(rank, qoc_now() - since < INT64_C(1400000000));
		snprintf(name, sizeof(name), "rank %u", rank->count - 1);
		QOT_CHECK(rank, strstr(qo_error_detail(), name) != NULL);
	}
	qot_meet(rank);
	return qoc_leave(rank, context, team);
}

/* One makes a mesh where the others make an operation: an error, in time. */
static int kinds_differ(struct qot_rank *rank)
{
	static const char *const brief[] = { "QO_CONNECT_TIMEOUT=400ms", NULL };
	qo_context_t context;
	qo_mesh_t mesh;
	qo_team_t team;
	qo_op_t op;
	int error;

	QOC_PASS(qoc_join(rank, brief, &context, &team));
	if (differs(rank))
		error = qo_mesh_create(team, NULL, 0, &mesh);
	else
		error = qo_barrier_init(team, &op);
	QOT_CHECK(rank, error == -EPROTO || error == -ETIMEDOUT);
	qot_meet(rank);
	return qoc_leave(rank, context, team);
}

const struct qoc_case qoc_mismatch_cases[] = {
	{ "mismatches", 2, 5, mismatches, NULL, 0 },
	{ "one_absent", 3, 3, one_absent, NULL, 0 },
	{ "kinds_differ", 3, 3, kinds_differ, NULL, 0 },
	{ NULL, 0, 0, NULL, NULL, 0 },
};
