/* SPDX-License-Identifier: BSD-3-Clause */
/* A team from a communicator; built once for each MPI that was found. */
#include <errno.h>
#include <stdlib.h>

#include <qoffload/mpi.h>
#include <qoffload/team.h>

struct gather {
	MPI_Comm comm; /* a duplicate: our messages meet no others */
	MPI_Request request;
};

static int gather_start(const void *send, void *recv, size_t bytes, void *arg,
			void **request_out)
{
	struct gather *gather = arg;

	*request_out = gather;
	if (MPI_Iallgather(send, (int)bytes, MPI_BYTE, recv, (int)bytes, MPI_BYTE,
			   gather->comm, &gather->request) != MPI_SUCCESS)
		return -EIO;
	return 0;
}

static int gather_test(void *request, void *arg)
{
	struct gather *gather = request;
	int done = 0;

	(void)arg;
	if (MPI_Test(&gather->request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
		return -EIO;
	return done ? 0 : -EAGAIN;
}

static int comm_check(MPI_Comm comm)
{
	int initialized = 0;
	int inter = 0;

	if (MPI_Initialized(&initialized) != MPI_SUCCESS || !initialized)
		return -EINVAL;
	if (comm == MPI_COMM_NULL)
		return -EINVAL;
	if (MPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter)
		return -EINVAL;
	return 0;
}

int qo_team_from_mpi(qo_context_t context, MPI_Comm comm, qo_team_t *team_out)
{
	struct gather gather = { MPI_COMM_NULL, MPI_REQUEST_NULL };
	struct qo_oob oob = { .size = sizeof(oob) };
	int rank = 0;
	int count = 0;
	int error = comm_check(comm);

	if (error != 0)
		return error;
	if (MPI_Comm_dup(comm, &gather.comm) != MPI_SUCCESS)
		return -EIO;
	MPI_Comm_rank(gather.comm, &rank);
	MPI_Comm_size(gather.comm, &count);
	oob.rank = (uint32_t)rank;
	oob.count = (uint32_t)count;
	oob.arg = &gather;
	oob.allgather = gather_start;
	oob.test = gather_test;
	error = qo_team_create(context, &oob, team_out);
	MPI_Comm_free(&gather.comm);
	return error;
}
