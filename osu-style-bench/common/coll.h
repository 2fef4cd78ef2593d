/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_COLL_H
#define BENCH_COLL_H

#include "payload.h"
#include "ranks.h"

/* The collective operations that are compared. */
enum bench_coll_kind {
	BENCH_ALLREDUCE, /* XOR of 64-bit words */
	BENCH_ALLTOALL,
	BENCH_BARRIER,
	BENCH_BCAST, /* the root goes round */
	BENCH_ALLGATHER,
	BENCH_COLL_KINDS
};

extern const char *const bench_coll_names[BENCH_COLL_KINDS];

/* What a case is made from. */
struct bench_coll_params {
	enum bench_coll_kind kind;
	uint64_t bytes; /* of a block for one rank */
	bool whole;	/* write and check every byte */
	bool qo_memory; /* buffers from qo_mem_alloc() */
};

/* One collective on one pair of buffers, for both libraries. */
struct bench_coll {
	struct bench_coll_params params;
	const struct bench_ranks *ranks; /* the caller's */
	unsigned char *send;
	unsigned char *recv;
	qo_mem_t send_mem;
	qo_mem_t recv_mem;
	qo_op_t ops[BENCH_RANKS_MAX]; /* by root for bcast; else the first */
	size_t op_count;
	qo_request_t qo_request;
	MPI_Request mpi_request;
};

/* Collective; the caller ends it with bench_coll_destroy(). */
struct bench_coll *bench_coll_create(const struct bench_ranks *ranks,
				     const struct bench_coll_params *params);
void bench_coll_destroy(struct bench_coll *coll);

/* Callbacks for struct bench_side; arg is the struct bench_coll. */
void bench_coll_fill(void *arg, uint64_t run);
bool bench_coll_check(void *arg, uint64_t run);
void bench_coll_run_qo(void *arg, uint64_t run);
void bench_coll_run_mpi(void *arg, uint64_t run);

/* The parts of a run, for what happens between them. */
void bench_coll_post_qo(struct bench_coll *coll, uint64_t run);
void bench_coll_test_qo(struct bench_coll *coll);
void bench_coll_wait_qo(struct bench_coll *coll);
void bench_coll_post_mpi(struct bench_coll *coll, uint64_t run);
void bench_coll_test_mpi(struct bench_coll *coll);
void bench_coll_wait_mpi(struct bench_coll *coll);

#endif
