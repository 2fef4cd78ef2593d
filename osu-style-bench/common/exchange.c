/* SPDX-License-Identifier: BSD-3-Clause */
#include "exchange.h"
#include "payload.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/*
 * The round before is released in the round after its data was checked, so
 * two rounds are held; two more let the credits travel.
 */
#define MESH_DEPTH 4
#define EXCHANGE_TAG 7

void bench_exchange_fill(void *arg, uint64_t run)
{
	struct bench_exchange *x = arg;
	struct bench_block_id id = { run, (uint32_t)x->ranks->rank, x->peer };

	bench_payload_fill(x->send, x->bytes, id, true);
}

static bool data_check(const struct bench_exchange *x, const void *data,
		       uint64_t run)
{
	struct bench_block_id id = { run, x->peer, (uint32_t)x->ranks->rank };

	return bench_payload_check(data, x->bytes, id, true);
}

bool bench_exchange_check_qo(void *arg, uint64_t run)
{
	struct bench_exchange *x = arg;

	return x->view.bytes == x->bytes && data_check(x, x->view.data, run);
}

bool bench_exchange_check_mpi(void *arg, uint64_t run)
{
	struct bench_exchange *x = arg;

	return data_check(x, x->recv, run);
}

/*
 * Reads what arrived, as a program would: else a view in place, which costs
 * the trip of its lines when it is read, would look better than it is.
 */
static void data_consume(struct bench_exchange *x, const void *data)
{
	const unsigned char *bytes = data;
	uint64_t word;

	for (uint32_t i = 0; i + sizeof(word) <= x->bytes; i += sizeof(word)) {
		memcpy(&word, bytes + i, sizeof(word));
		x->sum += word;
	}
}

/* Edge 0 leads to the peer and edge 1 comes from it. */
void bench_exchange_run_qo(void *arg, uint64_t run)
{
	struct bench_exchange *x = arg;
	struct qo_seam seam = { 0, x->bytes, x->send };
	int rc;

	(void)run;
	while ((rc = qo_mesh_post(x->mesh, x->round, &seam, 1, QO_NO_DEADLINE,
				  &x->request)) == -EAGAIN)
		sched_yield();
	bench_check(rc, "qo_mesh_post");
	bench_wait(x->request);
	bench_check(qo_mesh_arrived(x->request, 1, &x->view), "qo_mesh_arrived");
	data_consume(x, x->view.data);
	if (x->previous.id != QO_REQUEST_NULL_ID)
		bench_check(qo_mesh_release(x->previous), "qo_mesh_release");
	x->previous = x->request;
	x->round++;
}

void bench_exchange_run_persistent(void *arg, uint64_t run)
{
	struct bench_exchange *x = arg;

	(void)run;
	MPI_Start(&x->persistent[0]);
	MPI_Start(&x->persistent[1]);
	MPI_Waitall(2, x->persistent, x->statuses);
	data_consume(x, x->recv);
}

void bench_exchange_run_neighbour(void *arg, uint64_t run)
{
	struct bench_exchange *x = arg;

	(void)run;
	MPI_Neighbor_alltoall(x->send, (int)x->bytes, MPI_BYTE, x->recv,
			      (int)x->bytes, MPI_BYTE, x->neighbours);
	data_consume(x, x->recv);
}

void bench_exchange_run_ineighbour(void *arg, uint64_t run)
{
	struct bench_exchange *x = arg;
	MPI_Request request;

	(void)run;
	MPI_Ineighbor_alltoall(x->send, (int)x->bytes, MPI_BYTE, x->recv,
			       (int)x->bytes, MPI_BYTE, x->neighbours, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	data_consume(x, x->recv);
}

static void mpi_create(struct bench_exchange *x)
{
	int peer = (int)x->peer;
	int weight = 1;

	x->statuses = MPI_STATUSES_IGNORE;
	MPI_Recv_init(x->recv, (int)x->bytes, MPI_BYTE, peer, EXCHANGE_TAG,
		      x->ranks->comm, &x->persistent[0]);
	MPI_Send_init(x->send, (int)x->bytes, MPI_BYTE, peer, EXCHANGE_TAG,
		      x->ranks->comm, &x->persistent[1]);
	MPI_Dist_graph_create_adjacent(x->ranks->comm, 1, &peer, &weight, 1,
				       &peer, &weight, MPI_INFO_NULL, 0,
				       &x->neighbours);
}

void bench_exchange_create(const struct bench_ranks *ranks, uint32_t bytes,
			   struct bench_exchange *x)
{
	uint32_t rank = (uint32_t)ranks->rank;
	uint32_t peer = rank ^ 1U;
	const struct qo_edge edges[] = {
		{ rank, peer, 0, bytes, MESH_DEPTH, 0 },
		{ peer, rank, 0, bytes, MESH_DEPTH, 0 },
	};

	*x = (struct bench_exchange){ .ranks = ranks,
				      .peer = peer,
				      .bytes = bytes };
	if (posix_memalign((void **)&x->send, 4096, bytes + 4096U) != 0 ||
	    posix_memalign((void **)&x->recv, 4096, bytes + 4096U) != 0)
		bench_die("no memory for buffers of %u bytes", bytes);
	bench_check(qo_mesh_create(ranks->team, edges, 2, &x->mesh),
		    "qo_mesh_create");
	mpi_create(x);
}

void bench_exchange_destroy(struct bench_exchange *x)
{
	if (x->previous.id != QO_REQUEST_NULL_ID)
		bench_check(qo_mesh_release(x->previous), "qo_mesh_release");
	MPI_Request_free(&x->persistent[0]);
	MPI_Request_free(&x->persistent[1]);
	MPI_Comm_free(&x->neighbours);
	bench_check(qo_mesh_destroy(x->mesh), "qo_mesh_destroy");
	free(x->send);
	free(x->recv);
}
