/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collective operations: post + wait of this library against MPI_I<name> +
 * MPI_Wait of the MPI that the program is built for.
 */
#include "common/coll.h"
#include "common/measure.h"

#include <stdio.h>

#define MIB (UINT64_C(1) << 20)

struct settings {
	bool sweep;
};

/* One case with a target, or none (rule BENCH_NO_TARGET). */
struct coll_case {
	struct bench_coll_params params;
	enum bench_rule rule;
	double target;
};

struct program {
	const struct bench_ranks *ranks;
	const struct bench_options *options;
	struct bench_report *report; /* NULL but on rank 0 */
};

static const struct argp_option own_options[] = {
	{ "no-sweep", 's', NULL, 0, "leave out the sweep over sizes", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 }
};

static error_t own_parse(int key, char *arg, struct argp_state *state)
{
	struct settings *settings = state->input;

	(void)arg;
	if (key != 's')
		return ARGP_ERR_UNKNOWN;
	settings->sweep = false;
	return 0;
}

static void case_name(const struct bench_coll_params *params, char *name)
{
	const char *unit = "B";
	uint64_t size = params->bytes;

	if (size >= MIB) {
		size /= MIB;
		unit = "MiB";
	} else if (size >= 1024) {
		size /= 1024;
		unit = "KiB";
	}
	if (params->kind == BENCH_BARRIER)
		snprintf(name, BENCH_NAME_BYTES, "barrier");
	else
		snprintf(name, BENCH_NAME_BYTES, "%s %llu %s%s",
			 bench_coll_names[params->kind],
			 (unsigned long long)size, unit,
			 params->qo_memory ? " qo_mem" : "");
}

static void case_run(const struct program *program,
		     const struct coll_case *coll_case)
{
	struct bench_measurement measurement;
	struct bench_coll_params params = coll_case->params;
	struct bench_coll *coll;
	char name[BENCH_NAME_BYTES];
	const struct bench_measurement *kept;

	case_name(&params, name);
	if (!bench_options_wants(program->options, name))
		return;
	params.whole |= program->options->touch;
	coll = bench_coll_create(program->ranks, &params);
	const struct bench_side sides[] = {
		{ "qoffload post+wait", coll, bench_coll_fill,
		  bench_coll_run_qo, bench_coll_check },
		{ "MPI nonblocking+wait", coll, bench_coll_fill,
		  bench_coll_run_mpi, bench_coll_check },
	};
	bench_measure(program->ranks, program->options, name, sides, 2,
		      &measurement);
	bench_coll_destroy(coll);
	if (program->report == NULL)
		return;
	kept = bench_report_add(program->report, &measurement);
	bench_report_ratio(program->report, kept, 0, 1, coll_case->rule,
			   coll_case->target);
}

/* The cases that the targets are about; targets are against Open MPI. */
static void targets_run(const struct program *program)
{
	bool openmpi = bench_mpi_name[0] == 'o';
	double small = program->ranks->count <= 2 ? 0.55 : 1.0;
	enum bench_rule at_most = openmpi ? BENCH_AT_MOST : BENCH_NO_TARGET;
	enum bench_rule at_least = openmpi && program->ranks->count == 2
					   ? BENCH_AT_LEAST
					   : BENCH_NO_TARGET;
	const struct coll_case cases[] = {
		{ { BENCH_ALLREDUCE, 8, false, false }, at_most, small },
		{ { BENCH_ALLTOALL, 64, false, false }, at_most, small },
		{ { BENCH_BARRIER, 0, false, false }, BENCH_NO_TARGET, 0 },
		{ { BENCH_BCAST, 64, false, false }, BENCH_NO_TARGET, 0 },
		{ { BENCH_ALLGATHER, 64, false, false }, BENCH_NO_TARGET, 0 },
		{ { BENCH_ALLTOALL, MIB, false, false }, at_least, 0.9 },
		{ { BENCH_ALLTOALL, MIB, false, true }, at_least, 0.9 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		case_run(program, &cases[i]);
}

static void sweep_run(const struct program *program)
{
	static const enum bench_coll_kind kinds[] = {
		BENCH_ALLREDUCE, BENCH_ALLTOALL, BENCH_BCAST, BENCH_ALLGATHER
	};
	uint64_t factor = program->options->quick ? 512 : 8;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct coll_case sweep = { { kinds[i], 8, false, false },
					   BENCH_NO_TARGET,
					   0 };

		for (; sweep.params.bytes < 4 * MIB;
		     sweep.params.bytes *= factor)
			case_run(program, &sweep);
		sweep.params.bytes = 4 * MIB;
		case_run(program, &sweep);
	}
}

int main(int argc, char **argv)
{
	static const struct argp own = { own_options, own_parse, NULL, NULL,
					 NULL,	      NULL,	 NULL };
	struct settings settings = { .sweep = true };
	struct bench_options options;
	struct bench_ranks ranks;
	struct program program = { &ranks, &options, NULL };
	struct bench_report *report;
	int status = 0;

	bench_options_parse(argc, argv,
			    "Latency of collective operations against MPI's "
			    "nonblocking ones (run under mpirun)",
			    &own, &settings, &options);
	bench_ranks_init(&ranks);
	report = bench_report_create("qo_coll_latency", &options);
	bench_ranks_describe(&ranks, report);
	if (ranks.rank == 0)
		program.report = report;
	targets_run(&program);
	if (settings.sweep)
		sweep_run(&program);
	if (ranks.rank == 0)
		status = bench_report_finish(report);
	bench_report_destroy(report);
	bench_ranks_fini(&ranks);
	return status;
}
