/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * member FILE RANK COUNT: one rank of a job whose ranks are started one by
 * one, each with a surrounding of its own.  They find each other by FILE, take
 * their settings from the environment, and run a few collectives.  Prints the
 * agent's kind, and how the buffers of an operation are reached.  Exit status:
 * 0, or 1 when something is wrong, which is told.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/conformance/data.h"
#include "tests/conformance/suite.h"

#define MANY 20000
#define TURNS 10

static void describe(struct qot_rank *rank, qo_context_t context, qo_op_t op)
{
	struct qo_agent_info info = QO_AGENT_INFO_INIT;
	static char text[16384];
	char *line = NULL;

	if (qo_op_describe(op, text, sizeof(text)) == 0)
		line = strstr(text, "agent process");
	if (line != NULL)
		line[strcspn(line, "\n")] = '\0';
	qo_agent_query(context, &info);
	printf("rank %u: kind %d, %s\n", rank->rank, info.kind,
	       line == NULL ? "no daemon" : line);
}

static int sum_run(struct qot_rank *rank, qo_op_t op, uint64_t *values,
		   uint64_t turn)
{
	uint64_t ranks = rank->count;

	for (uint64_t i = 0; i < MANY; i++)
		values[i] = turn + i + rank->rank;
	QOC_PASS(qot_run_op(op));
	for (uint64_t i = 0; i < MANY; i++)
		QOT_CHECK(rank, values[i] == ranks * (turn + i) +
						     ranks * (ranks - 1) / 2);
	return 0;
}

static int member_run(struct qot_rank *rank)
{
	static uint64_t values[MANY];
	qo_op_t sum, bcast, barrier;
	uint64_t value = 0;
	qo_context_t context;
	qo_team_t team;

	QOT_CHECK(rank, qot_join(rank, NULL, &context, &team) == 0);
	QOT_CHECK(rank, qo_allreduce_init(team, QO_IN_PLACE, values, MANY,
					  QO_UINT64, QO_SUM, &sum) == 0);
	QOT_CHECK(rank,
		  qo_bcast_init(team, &value, 1, QO_UINT64, 0, &bcast) == 0);
	QOT_CHECK(rank, qo_barrier_init(team, &barrier) == 0);
	describe(rank, context, sum);
	for (uint64_t turn = 0; turn < TURNS; turn++) {
		if (rank->rank == 0)
			value = turn + 5;
		QOC_PASS(sum_run(rank, sum, values, turn));
		QOC_PASS(qot_run_op(bcast));
		QOT_CHECK(rank, value == turn + 5);
		QOC_PASS(qot_run_op(barrier));
	}
	QOT_CHECK(rank, qo_op_destroy(sum) == 0);
	QOT_CHECK(rank, qo_op_destroy(bcast) == 0);
	QOT_CHECK(rank, qo_op_destroy(barrier) == 0);
	return qoc_leave(rank, context, team);
}

int main(int argc, char **argv)
{
	struct qot_rank rank = { 0 };

	if (argc != 4) {
		fprintf(stderr, "usage: member FILE RANK COUNT\n");
		return 2;
	}
	qot_limit(QOT_LIMIT_S, "member");
	rank.gather = qot_gather_map(argv[1]);
	rank.rank = (uint32_t)strtoul(argv[2], NULL, 10);
	rank.count = (uint32_t)strtoul(argv[3], NULL, 10);
	return rank.gather == NULL || member_run(&rank) != 0;
}
