/* SPDX-License-Identifier: BSD-3-Clause */
/* Each type with each reduction: the right value, or an error everywhere. */
#include <errno.h>
#include <string.h>

#include "tests/conformance/data.h"
#include "tests/conformance/suite.h"

#define COUNT 67

static int supported(int32_t type, int32_t reduce)
{
	return reduce <= QO_MAX || type < QO_FLOAT;
}

static int pair_run(struct qot_rank *rank, qo_team_t team, uint8_t *buffers,
		    int32_t type, int32_t reduce)
{
	uint8_t *send = buffers, *recv = buffers + COUNT * 8;
	uint8_t want[COUNT * 8], part[COUNT * 8];
	size_t bytes = COUNT * qoc_type_bytes(type);
	qo_op_t op;

	for (uint32_t i = 0; i < rank->count; i++) {
		qoc_fill(part, type, COUNT,
			 qoc_seed(i, (uint64_t)type, (uint64_t)reduce));
		if (i == rank->rank)
			memcpy(send, part, bytes);
		if (i == 0)
			memcpy(want, part, bytes);
		else
			qoc_fold(want, part, type, reduce, COUNT);
	}
	QOT_CHECK(rank, qo_allreduce_init(team, send, recv, COUNT, type, reduce,
					  &op) == 0);
	QOC_PASS(qot_run_op(op));
	QOT_CHECK(rank, memcmp(recv, want, bytes) == 0);
	QOT_CHECK(rank, qo_op_destroy(op) == 0);
	return 0;
}

static int all_pairs(struct qot_rank *rank)
{
	uint8_t buffer[COUNT * 8] = { 0 };
	struct qoc_room room;
	qo_context_t context;
	qo_team_t team;
	qo_op_t op;

	QOC_PASS(qoc_join(rank, NULL, &context, &team));
	QOC_PASS(qoc_room_take(rank, context, 2 * COUNT * 8, &room));
	for (int32_t type = QO_INT8; type <= QO_DOUBLE; type++) {
		for (int32_t reduce = QO_SUM; reduce <= QO_XOR; reduce++) {
			if (supported(type, reduce)) {
				QOC_PASS(pair_run(rank, team, room.address,
						  type, reduce));
				continue;
			}
			QOT_CHECK(rank,
				  qo_allreduce_init(team, QO_IN_PLACE, buffer,
						    COUNT, type, reduce,
						    &op) == -EINVAL);
			QOT_CHECK(rank, qo_error_detail()[0] != '\0');
		}
	}
	QOT_CHECK(rank, qo_allreduce_init(team, QO_IN_PLACE, buffer, 1, 77,
					  QO_SUM, &op) == -EINVAL);
	QOT_CHECK(rank, qo_allreduce_init(team, QO_IN_PLACE, buffer, 1, QO_INT8,
					  77, &op) == -EINVAL);
	qoc_room_free(&room);
	return qoc_leave(rank, context, team);
}

/* All ones XORed on an even number of ranks is 0; UINT64_MAX is no -1. */
static int extremes(struct qot_rank *rank)
{
	uint64_t value = UINT64_MAX;
	qo_context_t context;
	qo_team_t team;
	qo_op_t op;

	QOC_PASS(qoc_join(rank, NULL, &context, &team));
	QOT_CHECK(rank, qo_allreduce_init(team, QO_IN_PLACE, &value, 1,
					  QO_UINT64, QO_XOR, &op) == 0);
	QOC_PASS(qot_run_op(op));
	QOT_CHECK(rank, value == (rank->count % 2 == 0 ? 0 : UINT64_MAX));
	QOT_CHECK(rank, qo_op_destroy(op) == 0);
	value = rank->rank == 0 ? 0 : UINT64_MAX;
	QOT_CHECK(rank, qo_allreduce_init(team, QO_IN_PLACE, &value, 1,
					  QO_UINT64, QO_MIN, &op) == 0);
	QOC_PASS(qot_run_op(op));
	QOT_CHECK(rank, value == 0);
	QOT_CHECK(rank, qo_op_destroy(op) == 0);
	return qoc_leave(rank, context, team);
}

const struct qoc_case qoc_reduce_cases[] = {
	{ "types_and_reductions", 1, 5, all_pairs, NULL, 0 },
	{ "reduction_extremes", 2, 4, extremes, NULL, 0 },
	{ NULL, 0, 0, NULL, NULL, 0 },
};
