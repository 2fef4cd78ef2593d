/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <qoffload/mpi.h>
#include <qoffload/qoffload.h>

static void must(int error)
{
	if (error != 0) {
		fprintf(stderr, "hello: %s\n", qo_error_detail());
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
}

int main(void)
{
	uint64_t mine = 1, sum = 0;
	struct qo_status status;
	qo_request_t request;
	qo_context_t context;
	qo_team_t team;
	qo_op_t op;

	MPI_Init(NULL, NULL);
	must(qo_init(NULL, &context)); /* starts this rank's agent */
	must(qo_team_from_mpi(context, MPI_COMM_WORLD, &team));
	must(qo_allreduce_init(team, &mine, &sum, 1, QO_UINT64, QO_SUM, &op));
	must(qo_post(op, &request)); /* once per round, as often as wanted */
	/* Compute here: the exchange goes on meanwhile. */
	must(qo_wait(request, QO_NO_DEADLINE, &status));
	if (status.state == QO_DONE)
		printf("%d ranks are here\n", (int)sum);
	must(qo_op_destroy(op));
	must(qo_team_destroy(team));
	must(qo_fini(context));
	return MPI_Finalize() || status.state != QO_DONE;
}
