/* SPDX-License-Identifier: BSD-3-Clause */
#include "examples/qwindow/agree.h"

#include <stdio.h>

int agree_or_print(MPI_Comm comm, int rc, struct problem *problem,
		   const char *program)
{
	int rank, ranks, first;

	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &ranks);
	first = rc != 0 ? rank : ranks;
	MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, comm);
	if (first == ranks)
		return 0;
	MPI_Bcast(problem->text, sizeof(problem->text), MPI_CHAR, first, comm);
	if (rank == 0)
		fprintf(stderr, "%s: %s\n", program, problem->text);
	return -1;
}
