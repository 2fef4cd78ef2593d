/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpi_end [exit]: a rank of an MPI job that goes on after MPI_Finalize(), by
 * the agent of the environment: its team still works, and ends by qo_fini();
 * with "exit" it ends without it.  Rank 0 prints "finished" and the agent's kind.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <qoffload/mpi.h>
#include <qoffload/qoffload.h>

static void must(int error, const char *what)
{
	if (error == 0)
		return;
	fprintf(stderr, "mpi_end: %s: %s (%s)\n", what, qo_error_string(error),
		qo_error_detail());
	exit(1);
}

static void sum_run(qo_op_t op, uint64_t *value, uint64_t mine, uint64_t want)
{
	struct qo_status status;
	qo_request_t request;

	*value = mine;
	must(qo_post(op, &request), "post");
	must(qo_wait(request, QO_NO_DEADLINE, &status), "wait");
	if (status.state == QO_DONE && *value == want)
		return;
	fprintf(stderr, "mpi_end: state %d, sum %llu, not %llu\n", status.state,
		(unsigned long long)*value, (unsigned long long)want);
	exit(1);
}

int main(int argc, char **argv)
{
	struct qo_agent_info info = QO_AGENT_INFO_INIT;
	qo_context_t context;
	int rank, count;
	uint64_t value;
	qo_team_t team;
	qo_op_t op;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &count);
	must(qo_init(NULL, &context), "init");
	must(qo_team_from_mpi(context, MPI_COMM_WORLD, &team), "team");
	must(qo_allreduce_init(team, QO_IN_PLACE, &value, 1, QO_UINT64, QO_SUM,
			       &op),
	     "operation");
	must(qo_agent_query(context, &info), "query");
	sum_run(op, &value, 1, (uint64_t)count);
	MPI_Finalize();
	for (uint64_t i = 0; i < 100; i++)
		sum_run(op, &value, i, i * (uint64_t)count);
	if (rank == 0)
		printf("finished, kind %d\n", info.kind);
	if (argc > 1 && strcmp(argv[1], "exit") == 0)
		return 0;
	must(qo_op_destroy(op), "destroy");
	must(qo_team_destroy(team), "team destroy");
	must(qo_fini(context), "fini");
	return 0;
}
