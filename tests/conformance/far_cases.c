/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who carries an operation out, and by which way to its buffers: what the file
 * asks for is what is used, so that a run tests what it says.
 */
#include <string.h>

#include "tests/conformance/data.h"
#include "tests/conformance/suite.h"

#define COUNT 9

/* The way to the buffers of a case, or NULL where the kernel decides. */
static const char *way_expected(const struct qot_rank *rank)
{
	const char *memory = qoc_setting(rank, "QO_AGENT_MEMORY");

	if (memory != NULL && strcmp(memory, "auto") != 0)
		return memory;
	return qoc_env(rank)->alloc ? "map" : NULL;
}

/* The line about the agent in the description of an operation, or "". */
static const char *agent_line(qo_op_t op, char *text, size_t bytes)
{
	char *line, *end;

	if (qo_op_describe(op, text, bytes) != 0)
		return "";
	line = strstr(text, "agent process");
	if (line == NULL)
		return "";
	end = strchr(line, '\n');
	if (end != NULL)
		*end = '\0';
	return line;
}

static int line_is(struct qot_rank *rank, qo_op_t op, int far)
{
	const char *way = way_expected(rank);
	static char text[16384];
	const char *line = agent_line(op, text, sizeof(text));

	QOT_CHECK(rank, (line[0] != '\0') == far);
	if (!far)
		return 0;
	if (way == NULL)
		way = strstr(line, "cross") != NULL ? "cross" : "stage";
	if (strstr(line, way) == NULL) {
		fprintf(stderr, "rank %u: %s expected: %s\n", rank->rank, way,
			line);
		return 1;
	}
	return 0;
}

/* Several stages need an agent; one stage, on a node, does not. */
static int who_and_how(struct qot_rank *rank)
{
	static const char *const stages[] = { "QO_COLL_BCAST=chain",
					      "QO_COLL_ALLGATHER=flat", NULL };
	const char *direct = qoc_setting(rank, "QO_AGENT_DIRECT");
	int all = direct != NULL && strcmp(direct, "off") == 0;
	struct qo_agent_info info = QO_AGENT_INFO_INIT;
	int process = qoc_env(rank)->far;
	/* Ranks that map nothing of each other keep their operations. */
	int far = process && !qoc_env(rank)->faulty;
	struct qoc_room room;
	qo_context_t context;
	qo_op_t bcast, gather;
	uint64_t *values;
	qo_team_t team;

	QOC_PASS(qoc_join(rank, stages, &context, &team));
	QOT_CHECK(rank, qo_agent_query(context, &info) == 0);
	QOT_CHECK(rank, (info.kind == QO_AGENT_PROCESS) == process);
	QOC_PASS(qoc_room_take(rank, context,
			       (COUNT + rank->count) * sizeof(*values), &room));
	values = room.address;
	QOT_CHECK(rank,
		  qo_bcast_init(team, values, COUNT, QO_UINT64, 0, &bcast) == 0);
	QOT_CHECK(rank, qo_allgather_init(team, QO_IN_PLACE, values + COUNT, 1,
					  QO_UINT64, &gather) == 0);
	QOC_PASS(line_is(rank, bcast, far));
	QOC_PASS(line_is(rank, gather, far && all));
	if (rank->rank == 0)
		qoc_fill(values, QO_UINT64, COUNT, 5);
	values[COUNT + rank->rank] = rank->rank + 1;
	QOC_PASS(qot_run_op(bcast));
	QOC_PASS(qot_run_op(gather));
	for (uint64_t i = 0; i < rank->count; i++)
		QOT_CHECK(rank, values[COUNT + i] == i + 1);
	qot_meet_progress(rank, context);
	QOT_CHECK(rank, qo_op_destroy(bcast) == 0);
	QOT_CHECK(rank, qo_op_destroy(gather) == 0);
	qoc_room_free(&room);
	return qoc_leave(rank, context, team);
}

const struct qoc_case qoc_far_cases[] = {
	{ "who_and_how", 2, 4, who_and_how, NULL, 0 },
	{ NULL, 0, 0, NULL, NULL, 0 },
};
