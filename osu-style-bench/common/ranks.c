/* SPDX-License-Identifier: BSD-3-Clause */
#include "ranks.h"
#include "cores.h"
#include "trip.h"

#include <stdio.h>
#include <string.h>

#if defined(OPEN_MPI)
const char *const bench_mpi_name = "openmpi";
#elif defined(MPICH_VERSION)
const char *const bench_mpi_name = "mpich";
#else
const char *const bench_mpi_name = "mpi";
#endif

void bench_call_failed(int rc, const char *what)
{
	bench_die("%s: %s: %s", what, qo_error_string(rc), qo_error_detail());
}

static int node_rank_find(int rank)
{
	MPI_Comm node;
	int node_rank;

	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank,
			    MPI_INFO_NULL, &node);
	MPI_Comm_rank(node, &node_rank);
	MPI_Comm_free(&node);
	return node_rank;
}

static void mpi_start(struct bench_ranks *ranks)
{
	if (MPI_Init(NULL, NULL) != MPI_SUCCESS)
		bench_die("MPI_Init failed");
	ranks->comm = MPI_COMM_WORLD;
	MPI_Comm_rank(ranks->comm, &ranks->rank);
	MPI_Comm_size(ranks->comm, &ranks->count);
	if (ranks->count > BENCH_RANKS_MAX)
		bench_die("%d ranks; at most %d are supported", ranks->count,
			  BENCH_RANKS_MAX);
}

static void core_check(int core)
{
	if (core < 0)
		bench_die("cannot pin to a core: %s", strerror(-core));
}

void bench_ranks_init_several(const char *const *const *settings, size_t count,
			      struct bench_ranks *ranks_out)
{
	struct bench_ranks ranks = { 0 };
	int node_rank;
	int core;

	mpi_start(&ranks);
	node_rank = node_rank_find(ranks.rank);
	for (size_t i = 0; i < count; i++) {
		struct qo_init_params params = QO_INIT_PARAMS_INIT;

		params.settings = settings[i];
		ranks_out[i] = ranks;
		/* The agent is placed beside this core, in all that is allowed. */
		core_check(bench_core_visit(node_rank));
		bench_check(qo_init(&params, &ranks_out[i].context), "qo_init");
	}
	core = bench_core_pin(node_rank);
	core_check(core);
	for (size_t i = 0; i < count; i++) {
		ranks_out[i].core = core;
		bench_check(qo_team_from_mpi(ranks_out[i].context, ranks.comm,
					     &ranks_out[i].team),
			    "qo_team_from_mpi");
	}
}

void bench_ranks_fini_several(struct bench_ranks *ranks, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		bench_check(qo_team_destroy(ranks[i].team), "qo_team_destroy");
		bench_check(qo_fini(ranks[i].context), "qo_fini");
	}
	MPI_Finalize();
}

void bench_ranks_init(struct bench_ranks *ranks_out)
{
	static const char *const *const none[] = { NULL };

	bench_ranks_init_several(none, 1, ranks_out);
}

void bench_ranks_fini(struct bench_ranks *ranks)
{
	bench_ranks_fini_several(ranks, 1);
}

const char *bench_agent_name(int32_t kind)
{
	switch (kind) {
	case QO_AGENT_INLINE:
		return "inline";
	case QO_AGENT_THREAD:
		return "thread";
	default:
		return "process";
	}
}

void bench_ranks_describe(const struct bench_ranks *ranks,
			  struct bench_report *report)
{
	struct qo_agent_info agent = QO_AGENT_INFO_INIT;
	char version[MPI_MAX_LIBRARY_VERSION_STRING];
	int cores[BENCH_RANKS_MAX];
	double trip_ns = bench_trip_measure(ranks);
	int bytes;
	size_t used;

	MPI_Gather(&ranks->core, 1, MPI_INT, cores, 1, MPI_INT, 0, ranks->comm);
	if (ranks->rank != 0)
		return;
	bench_check(qo_agent_query(ranks->context, &agent), "qo_agent_query");
	MPI_Get_library_version(version, &bytes);
	version[strcspn(version, ",\n")] = '\0';
	for (char *tab = version; (tab = strchr(tab, '\t')) != NULL;)
		*tab = ' ';
	used = (size_t)snprintf(report->platform, sizeof(report->platform),
				"%d ranks, %.60s, agent %s (%s), cores",
				ranks->count, version,
				bench_agent_name(agent.kind), agent.idle);
	for (int i = 0; i < ranks->count && used < sizeof(report->platform); i++)
		used += (size_t)snprintf(report->platform + used,
					 sizeof(report->platform) - used, " %d",
					 cores[i]);
	report->trip_ns = trip_ns;
	printf("%s: %s; a cache line takes %.0f ns one way\n", report->program,
	       report->platform, trip_ns);
}
