/* SPDX-License-Identifier: BSD-3-Clause */
/* How much of an alltoall hides behind a computation: with an agent, by MPI. */
#include <stdio.h>
#include <stdlib.h>
#include <qoffload/mpi.h>
#include <qoffload/qoffload.h>

#define WORDS (1 << 16) /* to each rank: 512 KiB */
#define TURNS 1000000L	/* of the computation: a millisecond or two */
#define REPEAT 200
static uint64_t *sent, *got;
static qo_op_t op;

static void must(int error)
{
	if (error != 0)
		MPI_Abort(MPI_COMM_WORLD, (puts(qo_error_detail()), 1));
}

/* Starts an exchange (0 none, 1 ours, 2 MPI's), computes, waits: seconds. */
static double once(int exchange, long turns)
{
	static double number;
	double begin = (MPI_Barrier(MPI_COMM_WORLD), MPI_Wtime());
	struct qo_status status = { 0 };
	qo_request_t ours = { QO_REQUEST_NULL_ID };
	MPI_Request mpis = MPI_REQUEST_NULL;

	if (exchange == 1)
		must(qo_post(op, &ours));
	if (exchange == 2)
		MPI_Ialltoall(sent, WORDS, MPI_UINT64_T, got, WORDS, MPI_UINT64_T,
			      MPI_COMM_WORLD, &mpis);
	while (turns-- > 0) /* not for a time: who takes our core is seen */
		number = number * 0.5 + 1;
	MPI_Wait(&mpis, MPI_STATUS_IGNORE);
	must(exchange == 1 ? qo_wait(ours, QO_NO_DEADLINE, &status) : 0);
	must(status.error);
	return MPI_Wtime() - begin + (number < 0); /* it is not */
}

int main(void)
{
	double t[3][2] = { { 0 } }; /* [exchange][0 alone, 1 and computation] */
	int rank, ranks;
	qo_context_t context;
	qo_team_t team;

	MPI_Init(NULL, NULL);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	sent = calloc((size_t)ranks, 8 * WORDS);
	got = calloc((size_t)ranks, 8 * WORDS);
	must(qo_init(NULL, &context));
	must(qo_team_from_mpi(context, MPI_COMM_WORLD, &team));
	must(qo_alltoall_init(team, sent, got, WORDS, QO_UINT64, &op));
	for (int i = 0; i < 6 * REPEAT; i++)
		t[i % 6 / 2][i % 2] += once(i % 6 / 2, i % 2 * TURNS) / REPEAT;
	for (int e = 1; e < 3 && rank == 0; e++)
		printf("%-9s %5.0f us, computation %5.0f us, both %5.0f us: %3.0f %% hidden\n",
		       e == 1 ? "libqoffload" : "MPI", 1e6 * t[e][0], 1e6 * t[0][1], 1e6 * t[e][1],
		       100 * (t[e][0] + t[0][1] - t[e][1]) / t[e][0]);
	must(qo_op_destroy(op));
	must(qo_team_destroy(team));
	must(qo_fini(context));
	return MPI_Finalize();
}
