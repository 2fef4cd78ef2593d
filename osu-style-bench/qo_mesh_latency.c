/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A mesh exchange between pairs of ranks, both ways at once: post + wait +
 * release of this library against MPI persistent point to point and against
 * MPI_Neighbor_alltoall.
 */
#include "common/exchange.h"
#include "common/measure.h"

#include <stdio.h>

static void size_run(const struct bench_ranks *ranks,
		     const struct bench_options *options, uint32_t bytes,
		     struct bench_report *report)
{
	struct bench_measurement measurement;
	const struct bench_measurement *kept;
	struct bench_exchange x;
	char name[BENCH_NAME_BYTES];
	bool targeted =
		bytes == 64 && bench_mpi_name[0] == 'o' && ranks->count == 2;
	enum bench_rule rule = targeted ? BENCH_AT_MOST : BENCH_NO_TARGET;

	snprintf(name, sizeof(name), "mesh exchange %u B", bytes);
	if (!bench_options_wants(options, name))
		return;
	bench_exchange_create(ranks, bytes, &x);
	const struct bench_side sides[] = {
		{ "qoffload post+wait+release", &x, bench_exchange_fill,
		  bench_exchange_run_qo, bench_exchange_check_qo },
		{ "MPI_Start x2+MPI_Waitall", &x, bench_exchange_fill,
		  bench_exchange_run_persistent, bench_exchange_check_mpi },
		{ "MPI_Neighbor_alltoall", &x, bench_exchange_fill,
		  bench_exchange_run_neighbour, bench_exchange_check_mpi },
		{ "MPI_Ineighbor_alltoall+wait", &x, bench_exchange_fill,
		  bench_exchange_run_ineighbour, bench_exchange_check_mpi },
	};
	bench_measure(ranks, options, name, sides, 4, &measurement);
	bench_exchange_destroy(&x);
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
