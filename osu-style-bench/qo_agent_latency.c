/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Agents of each kind beside each other, and beside MPI: the mesh exchange,
 * which needs no hand-off to the daemon, and large collectives, which the
 * daemon moves, on each way that it has to a user's memory.
 */
#include "common/coll.h"
#include "common/exchange.h"
#include "common/measure.h"

#include <stdio.h>

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define EXCHANGE_BYTES 64
#define EXCHANGE_MAX 1.15 /* times the thread agent's */
#define BANDWIDTH_MIN 0.9 /* times Open MPI's */

/* The contexts that are compared, each with an agent of its own. */
enum kind { DAEMON, STAGING, THREAD, KINDS };

static const char *const *const kind_settings[KINDS] = {
	[DAEMON] = (const char *const[]){ "QO_AGENT=process", NULL },
	[STAGING] = (const char *const[]){ "QO_AGENT=process",
					   "QO_AGENT_MEMORY=stage", NULL },
	[THREAD] = (const char *const[]){ "QO_AGENT=thread", NULL },
};

struct program {
	struct bench_ranks ranks[KINDS];
	const struct bench_options *options;
	struct bench_report *report; /* NULL but on rank 0 */
};

static void exchange_run(struct program *program)
{
	struct bench_exchange daemon;
	struct bench_exchange thread;
	struct bench_measurement measurement;
	const struct bench_measurement *kept;
	bool targeted = program->ranks[0].count == 2;

	if (!bench_options_wants(program->options, "mesh exchange"))
		return;
	bench_exchange_create(&program->ranks[DAEMON], EXCHANGE_BYTES, &daemon);
	bench_exchange_create(&program->ranks[THREAD], EXCHANGE_BYTES, &thread);
	const struct bench_side sides[] = {
		{ "process agent", &daemon, bench_exchange_fill,
		  bench_exchange_run_qo, bench_exchange_check_qo },
		{ "thread agent", &thread, bench_exchange_fill,
		  bench_exchange_run_qo, bench_exchange_check_qo },
	};
	bench_measure(&program->ranks[0], program->options,
		      "mesh exchange 64 B, process agent", sides, 2,
		      &measurement);
	bench_exchange_destroy(&daemon);
	bench_exchange_destroy(&thread);
	if (program->report == NULL)
		return;
	kept = bench_report_add(program->report, &measurement);
	bench_report_ratio(program->report, kept, 0, 1,
			   targeted ? BENCH_AT_MOST : BENCH_NO_TARGET,
			   EXCHANGE_MAX);
}

/*
 * How each side moves an alltoall.  Memory of malloc() is copied across
 * processes where that is permitted, else staged.
 */
static const struct way {
	const char *name;
	enum kind kind;
	bool qo_memory;
} ways[] = {
	{ "process, qo_mem", DAEMON, true },
	{ "process, malloc", DAEMON, false },
	{ "process, staged", STAGING, false },
	{ "thread, qo_mem", THREAD, true },
};
#define WAYS (sizeof(ways) / sizeof(ways[0]))

/* Bandwidths over MPI's; the first side, mapped memory, has the target. */
static void bandwidth_report(struct program *program,
			     const struct bench_measurement *measurement,
			     bool targeted)
{
	const struct bench_measurement *kept =
		bench_report_add(program->report, measurement);
	double target = targeted ? BANDWIDTH_MIN : 0.0;

	for (size_t i = 0; i < WAYS; i++)
		bench_report_bandwidth(program->report, kept, i, WAYS,
				       i == 0 ? target : 0.0);
}

static void alltoall_run(struct program *program, uint64_t bytes,
			 const char *size)
{
	struct bench_side sides[WAYS + 1];
	struct bench_coll *colls[WAYS];
	struct bench_measurement measurement;
	char name[BENCH_NAME_BYTES];
	bool targeted = bytes == MIB && program->ranks[0].count == 2 &&
			bench_mpi_name[0] == 'o';

	snprintf(name, sizeof(name), "alltoall %s", size);
	if (!bench_options_wants(program->options, name))
		return;
	for (size_t i = 0; i < WAYS; i++) {
		const struct bench_coll_params params = { BENCH_ALLTOALL, bytes,
							  program->options->touch,
							  ways[i].qo_memory };

		colls[i] = bench_coll_create(&program->ranks[ways[i].kind],
					     &params);
		sides[i] =
			(struct bench_side){ ways[i].name, colls[i],
					     bench_coll_fill, bench_coll_run_qo,
					     bench_coll_check };
	}
	/* MPI moves the same buffers as the thread agent. */
	sides[WAYS] = (struct bench_side){ "MPI_Ialltoall+wait", colls[WAYS - 1],
					   bench_coll_fill, bench_coll_run_mpi,
					   bench_coll_check };
	bench_measure(&program->ranks[0], program->options, name, sides,
		      WAYS + 1, &measurement);
	for (size_t i = 0; i < WAYS; i++)
		bench_coll_destroy(colls[i]);
	if (program->report != NULL)
		bandwidth_report(program, &measurement, targeted);
}

/* The first context must be served by a daemon, or the rows would lie. */
static void kinds_check(const struct program *program)
{
	for (size_t i = 0; i < KINDS; i++) {
		struct qo_agent_info info = QO_AGENT_INFO_INIT;

		bench_check(qo_agent_query(program->ranks[i].context, &info),
			    "qo_agent_query");
		if ((info.kind == QO_AGENT_THREAD) != (i == THREAD))
			bench_die("context %zu has agent %s: %s", i,
				  bench_agent_name(info.kind), info.reason);
	}
}

int main(int argc, char **argv)
{
	struct bench_options options = { 0 };
	struct program program = { .options = &options };
	struct bench_report *report;
	int status = 0;

	bench_options_parse(argc, argv,
			    "Agents as processes beside agents as threads, and "
			    "beside MPI (run under mpirun, an even number of "
			    "ranks)",
			    NULL, NULL, &options);
	bench_ranks_init_several(kind_settings, KINDS, program.ranks);
	if (program.ranks[0].count % 2 != 0)
		bench_die("%d ranks; give an even number",
			  program.ranks[0].count);
	kinds_check(&program);
	report = bench_report_create("qo_agent_latency", &options);
	bench_ranks_describe(&program.ranks[DAEMON], report);
	if (program.ranks[0].rank == 0)
		program.report = report;
	exchange_run(&program);
	alltoall_run(&program, MIB, "1 MiB");
	alltoall_run(&program, 64 * KIB, "64 KiB");
	alltoall_run(&program, 4 * MIB, "4 MiB");
	if (program.report != NULL)
		status = bench_report_finish(report);
	bench_report_destroy(report);
	bench_ranks_fini_several(program.ranks, KINDS);
	return status;
}
