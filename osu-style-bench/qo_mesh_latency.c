/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A mesh exchange between pairs of ranks, both ways at once: post + wait +
 * release of this library against MPI persistent point to point and against
 * MPI_Neighbor_alltoall.
 */
#include "common/measure.h"
#include "common/payload.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The round before is released in the round after its data was checked, so
 * two rounds are held; two more let the credits travel.
 */
#define MESH_DEPTH 4
#define EXCHANGE_TAG 7

struct exchange {
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

static void exchange_fill(void *arg, uint64_t run)
{
	struct exchange *x = arg;
	struct bench_block_id id = { run, (uint32_t)x->ranks->rank, x->peer };

	bench_payload_fill(x->send, x->bytes, id, true);
}

static bool data_check(const struct exchange *x, const void *data, uint64_t run)
{
	struct bench_block_id id = { run, x->peer, (uint32_t)x->ranks->rank };

	return bench_payload_check(data, x->bytes, id, true);
}

static bool qo_check(void *arg, uint64_t run)
{
	struct exchange *x = arg;

	return x->view.bytes == x->bytes && data_check(x, x->view.data, run);
}

static bool mpi_check(void *arg, uint64_t run)
{
	struct exchange *x = arg;

	return data_check(x, x->recv, run);
}

/*
 * Reads what arrived, as a program would: else a view in place, which costs
 * the trip of its lines when it is read, would look better than it is.
 */
static void data_consume(struct exchange *x, const void *data)
{
	const unsigned char *bytes = data;
	uint64_t word;

	for (uint32_t i = 0; i + sizeof(word) <= x->bytes; i += sizeof(word)) {
		memcpy(&word, bytes + i, sizeof(word));
		x->sum += word;
	}
}

/* Edge 0 leads to the peer and edge 1 comes from it. */
static void qo_run(void *arg, uint64_t run)
{
	struct exchange *x = arg;
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

static void persistent_run(void *arg, uint64_t run)
{
	struct exchange *x = arg;

	(void)run;
	MPI_Start(&x->persistent[0]);
	MPI_Start(&x->persistent[1]);
	MPI_Waitall(2, x->persistent, x->statuses);
	data_consume(x, x->recv);
}

static void neighbour_run(void *arg, uint64_t run)
{
	struct exchange *x = arg;

	(void)run;
	MPI_Neighbor_alltoall(x->send, (int)x->bytes, MPI_BYTE, x->recv,
			      (int)x->bytes, MPI_BYTE, x->neighbours);
	data_consume(x, x->recv);
}

static void neighbour_nonblocking_run(void *arg, uint64_t run)
{
	struct exchange *x = arg;
	MPI_Request request;

	(void)run;
	MPI_Ineighbor_alltoall(x->send, (int)x->bytes, MPI_BYTE, x->recv,
			       (int)x->bytes, MPI_BYTE, x->neighbours, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	data_consume(x, x->recv);
}

static void mpi_create(struct exchange *x)
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

static void exchange_create(const struct bench_ranks *ranks, uint32_t bytes,
			    struct exchange *x)
{
	uint32_t rank = (uint32_t)ranks->rank;
	uint32_t peer = rank ^ 1U;
	const struct qo_edge edges[] = {
		{ rank, peer, 0, bytes, MESH_DEPTH, 0 },
		{ peer, rank, 0, bytes, MESH_DEPTH, 0 },
	};

	*x = (struct exchange){ .ranks = ranks, .peer = peer, .bytes = bytes };
	if (posix_memalign((void **)&x->send, 4096, bytes + 4096U) != 0 ||
	    posix_memalign((void **)&x->recv, 4096, bytes + 4096U) != 0)
		bench_die("no memory for buffers of %u bytes", bytes);
	bench_check(qo_mesh_create(ranks->team, edges, 2, &x->mesh),
		    "qo_mesh_create");
	mpi_create(x);
}

static void exchange_destroy(struct exchange *x)
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

static void size_run(const struct bench_ranks *ranks,
		     const struct bench_options *options, uint32_t bytes,
		     struct bench_report *report)
{
	struct bench_measurement measurement;
	const struct bench_measurement *kept;
	struct exchange x;
	char name[BENCH_NAME_BYTES];
	bool targeted =
		bytes == 64 && bench_mpi_name[0] == 'o' && ranks->count == 2;
	enum bench_rule rule = targeted ? BENCH_AT_MOST : BENCH_NO_TARGET;

	snprintf(name, sizeof(name), "mesh exchange %u B", bytes);
	if (!bench_options_wants(options, name))
		return;
	exchange_create(ranks, bytes, &x);
	const struct bench_side sides[] = {
		{ "qoffload post+wait+release", &x, exchange_fill, qo_run,
		  qo_check },
		{ "MPI_Start x2+MPI_Waitall", &x, exchange_fill, persistent_run,
		  mpi_check },
		{ "MPI_Neighbor_alltoall", &x, exchange_fill, neighbour_run,
		  mpi_check },
		{ "MPI_Ineighbor_alltoall+wait", &x, exchange_fill,
		  neighbour_nonblocking_run, mpi_check },
	};
	bench_measure(ranks, options, name, sides, 4, &measurement);
	exchange_destroy(&x);
	if (ranks->rank != 0)
		return;
	kept = bench_report_add(report, &measurement);
	bench_report_ratio(report, kept, 0, 1, rule, 0.6);
	if (bytes == 0)
		return; /* MPI's neighbour calls exchange nothing then */
	bench_report_ratio(report, kept, 0, 2, rule, 0.5);
	bench_report_ratio(report, kept, 0, 3, BENCH_NO_TARGET, 0.0);
}

int main(int argc, char **argv)
{
	static const uint32_t sizes[] = { 64, 0, 8, 1792, 8192 };
	struct bench_options options;
	struct bench_ranks ranks;
	struct bench_report *report;
	int status = 0;

	bench_options_parse(argc, argv,
			    "Latency of a mesh exchange between pairs of ranks "
			    "against MPI (run under mpirun, an even number of "
			    "ranks)",
			    NULL, NULL, &options);
	bench_ranks_init(&ranks);
	if (ranks.count % 2 != 0)
		bench_die("%d ranks; give an even number", ranks.count);
	report = bench_report_create("qo_mesh_latency", &options);
	bench_ranks_describe(&ranks, report);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		size_run(&ranks, &options, sizes[i], report);
	if (ranks.rank == 0)
		status = bench_report_finish(report);
	bench_report_destroy(report);
	bench_ranks_fini(&ranks);
	return status;
}
