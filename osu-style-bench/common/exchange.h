/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_EXCHANGE_H
#define BENCH_EXCHANGE_H

#include "ranks.h"

/* A mesh exchange between pairs of ranks, both ways at once, and MPI's. */
struct bench_exchange {
	const struct bench_ranks *ranks;
	uint32_t peer;
	uint32_t bytes;
	unsigned char *send;
	unsigned char *recv;
	uint64_t sum; /* of what arrived: read by whoever uses the data */
	qo_mesh_t mesh;
	uint64_t round;
	qo_request_t request;
	qo_request_t previous; /* to be released; null at first */
	struct qo_view view;
	MPI_Request persistent[2];
	/* MPI_STATUSES_IGNORE; gcc takes MPICH's constant for an empty array. */
	MPI_Status *statuses;
	MPI_Comm neighbours;
};

/* Collective; ended by bench_exchange_destroy(). */
void bench_exchange_create(const struct bench_ranks *ranks, uint32_t bytes,
			   struct bench_exchange *exchange_out);
void bench_exchange_destroy(struct bench_exchange *exchange);

/* Callbacks for struct bench_side; arg is the struct bench_exchange. */
void bench_exchange_fill(void *arg, uint64_t run);
bool bench_exchange_check_qo(void *arg, uint64_t run);
bool bench_exchange_check_mpi(void *arg, uint64_t run);
void bench_exchange_run_qo(void *arg, uint64_t run);
void bench_exchange_run_persistent(void *arg, uint64_t run);
void bench_exchange_run_neighbour(void *arg, uint64_t run);
void bench_exchange_run_ineighbour(void *arg, uint64_t run);

#endif
