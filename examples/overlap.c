/* SPDX-License-Identifier: BSD-3-Clause */
/* How much of an alltoall hides behind a computation: an agent's, and MPI's. */
#include <stdio.h>
#include <stdlib.h>
#include <qoffload/mpi.h>
#include <qoffload/qoffload.h>
enum { NONE, OURS, MPIS, BYTES = 1 << 19, TURNS = 1000000, REPEAT = 200 };

static void must(int error)
{
	if (error != 0)
		MPI_Abort(MPI_COMM_WORLD, (puts(qo_error_string(error)), 1));
}

int main(void)
{
	struct qo_team_info info = QO_TEAM_INFO_INIT;
	struct qo_status status = { 0 };
	double us[3][2] = { { 1e9, 1e9 }, { 1e9, 1e9 }, { 1e9, 1e9 } },
	       number = 0;
	MPI_Request request = MPI_REQUEST_NULL;
	qo_request_t ours;
	qo_context_t context;
	qo_team_t team;
	qo_op_t op;

	MPI_Init(NULL, NULL);
	must(qo_init(NULL, &context));
	must(qo_team_from_mpi(context, MPI_COMM_WORLD, &team));
	must(qo_team_query(team, &info));
	char *send = calloc(info.count, BYTES);
	char *recv = calloc(info.count, BYTES);
	must(qo_alltoall_init(team, send, recv, BYTES, QO_BYTE, &op));
	for (int i = 0; i < 6 * REPEAT; i++) {
		int kind = i % 3, busy = i / 3 % 2;
		double begin = (MPI_Barrier(MPI_COMM_WORLD), MPI_Wtime());
		if (kind == OURS)
			must(qo_post(op, &ours));
		if (kind == MPIS)
			MPI_Ialltoall(send, BYTES, MPI_BYTE, recv, BYTES,
				      MPI_BYTE, MPI_COMM_WORLD, &request);
		for (int turn = 0; turn < busy * TURNS; turn++)
			number = number * 0.5 + 1; /* work, not a time */
		if (kind == OURS)
			must(qo_wait(ours, QO_NO_DEADLINE, &status));
		must(status.error);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		begin = (MPI_Wtime() - begin) * 1e6; /* the least disturbed */
		us[kind][busy] = begin < us[kind][busy] ? begin : us[kind][busy];
	}
	for (int kind = OURS; kind <= MPIS && info.rank == 0; kind++)
		printf("%s: %.0f us, %.0f of them behind %.0f us of work\n",
		       kind == OURS ? "libqoffload" : "MPI", us[kind][0],
		       us[kind][0] + us[NONE][1] - us[kind][1], us[NONE][1]);
	must(qo_op_destroy(op));
	must(qo_team_destroy(team));
	must(qo_fini(context));
	return MPI_Finalize() || number < 0;
}
