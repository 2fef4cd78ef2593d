/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

const char *const bench_coll_names[BENCH_COLL_KINDS] = { "allreduce",
							 "alltoall", "barrier",
							 "bcast", "allgather" };

static uint64_t words_of(const struct bench_coll *coll)
{
	return coll->params.bytes / sizeof(uint64_t);
}

static uint32_t root_of(const struct bench_coll *coll, uint64_t run)
{
	return (uint32_t)(run % (uint64_t)coll->ranks->count);
}

static int op_create(const struct bench_coll *coll, uint32_t root,
		     qo_op_t *op_out)
{
	qo_team_t team = coll->ranks->team;
	uint64_t bytes = coll->params.bytes;

	switch (coll->params.kind) {
	case BENCH_ALLREDUCE:
		return qo_allreduce_init(team, coll->send, coll->recv,
					 words_of(coll), QO_UINT64, QO_XOR,
					 op_out);
	case BENCH_ALLTOALL:
		return qo_alltoall_init(team, coll->send, coll->recv, bytes,
					QO_BYTE, op_out);
	case BENCH_BARRIER:
		return qo_barrier_init(team, op_out);
	case BENCH_BCAST:
		return qo_bcast_init(team, coll->recv, bytes, QO_BYTE, root,
				     op_out);
	case BENCH_ALLGATHER:
		return qo_allgather_init(team, coll->send, coll->recv, bytes,
					 QO_BYTE, op_out);
	default:
		return -EINVAL;
	}
}

static unsigned char *buffer_create(const struct bench_coll *coll, size_t bytes,
				    qo_mem_t *mem_out)
{
	void *buffer = NULL;

	if (coll->params.qo_memory)
		bench_check(qo_mem_alloc(coll->ranks->context, bytes, &buffer,
					 mem_out),
			    "qo_mem_alloc");
	else if (posix_memalign(&buffer, 4096, bytes) != 0)
		bench_die("no memory for a buffer of %zu bytes", bytes);
	memset(buffer, 0, bytes);
	return buffer;
}

struct bench_coll *bench_coll_create(const struct bench_ranks *ranks,
				     const struct bench_coll_params *params)
{
	struct bench_coll *coll = calloc(1, sizeof(*coll));
	/* One page more: never empty, and buffers don't share lines. */
	size_t bytes = params->bytes * (size_t)ranks->count + 4096;

	if (coll == NULL)
		bench_die("no memory for a case");
	coll->params = *params;
	coll->ranks = ranks;
	coll->send = buffer_create(coll, bytes, &coll->send_mem);
	coll->recv = buffer_create(coll, bytes, &coll->recv_mem);
	coll->op_count = params->kind == BENCH_BCAST ? (size_t)ranks->count : 1;
	for (size_t i = 0; i < coll->op_count; i++)
		bench_check(op_create(coll, (uint32_t)i, &coll->ops[i]),
			    bench_coll_names[params->kind]);
	return coll;
}

void bench_coll_destroy(struct bench_coll *coll)
{
	for (size_t i = 0; i < coll->op_count; i++)
		bench_check(qo_op_destroy(coll->ops[i]), "qo_op_destroy");
	if (coll->params.qo_memory) {
		bench_check(qo_mem_release(coll->send_mem), "qo_mem_release");
		bench_check(qo_mem_release(coll->recv_mem), "qo_mem_release");
	} else {
		free(coll->send);
		free(coll->recv);
	}
	free(coll);
}

void bench_coll_fill(void *arg, uint64_t run)
{
	struct bench_coll *coll = arg;
	uint32_t rank = (uint32_t)coll->ranks->rank;
	uint64_t bytes = coll->params.bytes;
	struct bench_block_id id = { run, rank, 0 };

	switch (coll->params.kind) {
	case BENCH_BARRIER:
		return;
	case BENCH_ALLTOALL:
		for (; id.destination < (uint32_t)coll->ranks->count;
		     id.destination++)
			bench_payload_fill(coll->send + bytes * id.destination,
					   bytes, id, coll->params.whole);
		return;
	case BENCH_BCAST:
		if (root_of(coll, run) == rank)
			bench_payload_fill(coll->recv, bytes, id,
					   coll->params.whole);
		/* A root does not wait: without this it would run ahead. */
		MPI_Barrier(coll->ranks->comm);
		return;
	case BENCH_ALLREDUCE:
		bench_payload_fill(coll->send, words_of(coll) * 8, id,
				   coll->params.whole);
		return;
	default:
		bench_payload_fill(coll->send, bytes, id, coll->params.whole);
	}
}

/* The XOR over all ranks of the words that they wrote at one place. */
static uint64_t combined_word(const struct bench_coll *coll, uint64_t run,
			      uint64_t index)
{
	struct bench_block_id id = { run, 0, 0 };
	uint64_t word = 0;

	for (; id.source < (uint32_t)coll->ranks->count; id.source++)
		word ^= bench_payload_word(id, index);
	return word;
}

static bool allreduce_check(const struct bench_coll *coll, uint64_t run)
{
	uint64_t words = words_of(coll);
	uint64_t stride = bench_payload_stride(words * 8, coll->params.whole);
	const uint64_t *recv = (const void *)coll->recv;

	if (words == 0)
		return true;
	for (uint64_t i = 0; i + 1 < words; i += stride)
		if (recv[i] != combined_word(coll, run, i))
			return false;
	return recv[words - 1] == combined_word(coll, run, UINT32_MAX);
}

/* Blocks of all ranks, in rank order, for this rank or for all. */
static bool blocks_check(const struct bench_coll *coll, uint64_t run,
			 uint32_t destination)
{
	uint64_t bytes = coll->params.bytes;
	struct bench_block_id id = { run, 0, destination };

	for (; id.source < (uint32_t)coll->ranks->count; id.source++)
		if (!bench_payload_check(coll->recv + bytes * id.source, bytes,
					 id, coll->params.whole))
			return false;
	return true;
}

bool bench_coll_check(void *arg, uint64_t run)
{
	const struct bench_coll *coll = arg;
	struct bench_block_id id = { run, root_of(coll, run), 0 };

	switch (coll->params.kind) {
	case BENCH_ALLREDUCE:
		return allreduce_check(coll, run);
	case BENCH_ALLTOALL:
		return blocks_check(coll, run, (uint32_t)coll->ranks->rank);
	case BENCH_BCAST:
		return bench_payload_check(coll->recv, coll->params.bytes, id,
					   coll->params.whole);
	case BENCH_ALLGATHER:
		return blocks_check(coll, run, 0);
	default:
		return true;
	}
}

void bench_coll_post_qo(struct bench_coll *coll, uint64_t run)
{
	qo_op_t op = coll->ops[coll->op_count == 1 ? 0 : root_of(coll, run)];
	int rc = qo_post(op, &coll->qo_request);

	while (rc == -EAGAIN) {
		sched_yield();
		rc = qo_post(op, &coll->qo_request);
	}
	bench_check(rc, "qo_post");
}

void bench_coll_test_qo(struct bench_coll *coll)
{
	struct qo_status status;

	bench_check(qo_test(coll->qo_request, &status), "qo_test");
}

void bench_coll_wait_qo(struct bench_coll *coll)
{
	bench_wait(coll->qo_request);
}

void bench_coll_run_qo(void *arg, uint64_t run)
{
	bench_coll_post_qo(arg, run);
	bench_coll_wait_qo(arg);
}

void bench_coll_post_mpi(struct bench_coll *coll, uint64_t run)
{
	MPI_Comm comm = coll->ranks->comm;
	MPI_Request *request = &coll->mpi_request;
	int bytes = (int)coll->params.bytes;

	switch (coll->params.kind) {
	case BENCH_ALLREDUCE:
		MPI_Iallreduce(coll->send, coll->recv, (int)words_of(coll),
			       MPI_UINT64_T, MPI_BXOR, comm, request);
		return;
	case BENCH_ALLTOALL:
		MPI_Ialltoall(coll->send, bytes, MPI_BYTE, coll->recv, bytes,
			      MPI_BYTE, comm, request);
		return;
	case BENCH_BARRIER:
		MPI_Ibarrier(comm, request);
		return;
	case BENCH_BCAST:
		MPI_Ibcast(coll->recv, bytes, MPI_BYTE, (int)root_of(coll, run),
			   comm, request);
		return;
	default:
		MPI_Iallgather(coll->send, bytes, MPI_BYTE, coll->recv, bytes,
			       MPI_BYTE, comm, request);
	}
}

void bench_coll_test_mpi(struct bench_coll *coll)
{
	int done;

	MPI_Test(&coll->mpi_request, &done, MPI_STATUS_IGNORE);
}

void bench_coll_wait_mpi(struct bench_coll *coll)
{
	MPI_Wait(&coll->mpi_request, MPI_STATUS_IGNORE);
}

void bench_coll_run_mpi(void *arg, uint64_t run)
{
	bench_coll_post_mpi(arg, run);
	bench_coll_wait_mpi(arg);
}
