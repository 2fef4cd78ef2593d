/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much of a nonblocking collective is hidden behind a computation, for
 * this library and for MPI in the same run.  As in the OSU benchmarks:
 *   pure     post + wait
 *   compute  the computation alone, made as long as pure
 *   overall  post + computation + wait
 *   overlap  100 * (1 - (overall - compute) / pure)
 * and, with the same computation for both libraries:
 *   fixed    overall over the longer of compute and pure; 1 is perfect
 * With --agents, agents as processes and as threads are beside each other.
 * The computation is a fixed number of turns of a loop, not a time: whatever
 * takes the core away from it makes it longer.
 */
#include "common/clock.h"
#include "common/coll.h"
#include "common/measure.h"
#include "common/work.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define CASES_MAX 16
#define BLOCK_COUNT_MIN 5
#define BLOCK_COUNT_MAX 500
#define PURE_TRIALS 8
#define CALIBRATION_ERROR 0.10 /* of the computation, else it is flagged */
#define PURE_NS_MIN 500.0      /* less has nothing to hide */

struct settings {
	uint64_t sizes[CASES_MAX];
	size_t size_count;
	int tests; /* calls of test spread over the computation */
	bool check;
	bool agents;	/* compare kinds of agents */
	bool qo_memory; /* buffers from qo_mem_alloc() */
};

/* What is timed; the order in which the results are kept, too. */
enum phase { PURE, COMPUTE, OVERALL, WAIT, FIXED_COMPUTE, FIXED, PHASES };

static const char *const phase_names[PHASES] = { "pure", "compute", "overall",
						 "wait", "compute", "total" };

struct library {
	const char *name;
	void (*post)(struct bench_coll *coll, uint64_t run);
	void (*test)(struct bench_coll *coll);
	void (*wait)(struct bench_coll *coll);
};

#define QOFFLOAD(name)                                                         \
	{                                                                      \
		name, bench_coll_post_qo, bench_coll_test_qo,                  \
			bench_coll_wait_qo                                     \
	}
#define MPI_LIBRARY                                                            \
	{                                                                      \
		"MPI", bench_coll_post_mpi, bench_coll_test_mpi,               \
			bench_coll_wait_mpi                                    \
	}
#define LIBRARIES_MAX 3

/* What is compared; the settings are of the contexts of all but MPI. */
struct lineup {
	size_t count;
	struct library libraries[LIBRARIES_MAX];
	const char *const *settings[LIBRARIES_MAX - 1];
};

static const struct lineup plain_lineup = {
	2, { QOFFLOAD("qoffload"), MPI_LIBRARY }, { NULL }
};
static const struct lineup agents_lineup = {
	3,
	{ QOFFLOAD("process agent"), QOFFLOAD("thread agent"), MPI_LIBRARY },
	{ (const char *const[]){ "QO_AGENT=process", NULL },
	  (const char *const[]){ "QO_AGENT=thread", NULL } }
};

/* One operation and size, under measurement. */
struct overlap {
	const struct bench_ranks *ranks;
	const struct bench_options *options;
	const struct settings *settings;
	const struct lineup *lineup;
	struct bench_coll *colls[LIBRARIES_MAX]; /* MPI shares another's */
	double turn_ns;				 /* of the loop, on this rank */
	uint64_t work_state; /* kept, so that no work can be left out */
	uint64_t turns[LIBRARIES_MAX];
	uint64_t fixed_turns;
	size_t block_count;
	/* Per library, phase and repetition: ns on this rank. */
	double *times[LIBRARIES_MAX][PHASES];
};

static const struct argp_option own_options[] = {
	{ "size", 's', "BYTES", 0,
	  "bytes for each rank, 0 too; may be given several times (default "
	  "65536 and 1048576)",
	  0 },
	{ "tests", 't', "N", 0,
	  "call test N times within the computation (default 0)", 0 },
	{ "check", 'c', NULL, 0,
	  "check every byte; without, samples of long blocks", 0 },
	{ "agents", 'a', NULL, 0,
	  "agents as processes and as threads beside each other", 0 },
	{ "qo-memory", 'm', NULL, 0, "buffers from qo_mem_alloc()", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 }
};

static error_t own_parse(int key, char *arg, struct argp_state *state)
{
	struct settings *settings = state->input;

	switch (key) {
	case 's':
		if (settings->size_count == CASES_MAX)
			argp_error(state, "more than %d sizes", CASES_MAX);
		settings->sizes[settings->size_count++] =
			(uint64_t)bench_number_parse(state, arg, 0, 1L << 28);
		return 0;
	case 't':
		settings->tests = (int)bench_number_parse(state, arg, 0, 100000);
		return 0;
	case 'c':
		settings->check = true;
		return 0;
	case 'a':
		settings->agents = true;
		return 0;
	case 'm':
		settings->qo_memory = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* lib: tested meanwhile; LIBRARIES_MAX: none. */
static void compute(struct overlap *o, size_t lib, uint64_t turns)
{
	uint64_t parts = (uint64_t)o->settings->tests + 1;
	uint64_t done = 0;

	for (uint64_t i = 1; i <= parts; i++) {
		uint64_t until = turns * i / parts;

		o->work_state = bench_work_run(o->work_state, until - done);
		done = until;
		if (i < parts && lib < LIBRARIES_MAX)
			o->lineup->libraries[lib].test(o->colls[lib]);
	}
}

/* Runs one iteration of a phase; wait_ns_out is the part after the work. */
static uint64_t iteration_run(struct overlap *o, size_t lib, enum phase phase,
			      uint64_t *wait_ns_out)
{
	const struct library *library = &o->lineup->libraries[lib];
	struct bench_coll *coll = o->colls[lib];
	bool fixed = phase == FIXED || phase == FIXED_COMPUTE;
	uint64_t turns = fixed ? o->fixed_turns : o->turns[lib];
	uint64_t run = bench_run_next();
	uint64_t begin;
	uint64_t waiting;
	uint64_t end;

	if (phase == COMPUTE || phase == FIXED_COMPUTE) {
		begin = bench_now_ns();
		compute(o, LIBRARIES_MAX, turns);
		return bench_now_ns() - begin;
	}
	bench_coll_fill(coll, run);
	begin = bench_now_ns();
	library->post(coll, run);
	if (phase != PURE)
		compute(o, lib, turns);
	waiting = bench_now_ns();
	library->wait(coll);
	end = bench_now_ns();
	if (!bench_coll_check(coll, run))
		bench_die("%s: wrong data on rank %d in run %llu", library->name,
			  o->ranks->rank, (unsigned long long)run);
	*wait_ns_out = end - waiting;
	return end - begin;
}

/* A block of iterations; gives the medians on this rank. */
static void block_run(struct overlap *o, size_t lib, enum phase phase,
		      double *time_out, double *wait_out)
{
	uint64_t samples[BLOCK_COUNT_MAX];
	uint64_t waits[BLOCK_COUNT_MAX] = { 0 };
	size_t warm_up = o->block_count / 10 + 2;

	MPI_Barrier(o->ranks->comm);
	for (size_t i = 0; i < warm_up; i++)
		iteration_run(o, lib, phase, &waits[0]);
	for (size_t i = 0; i < o->block_count; i++)
		samples[i] = iteration_run(o, lib, phase, &waits[i]);
	bench_samples_sort(samples, o->block_count);
	bench_samples_sort(waits, o->block_count);
	*time_out = bench_samples_median(samples, o->block_count);
	*wait_out = bench_samples_median(waits, o->block_count);
}

static double slowest(const struct overlap *o, double value)
{
	double all;

	MPI_Allreduce(&value, &all, 1, MPI_DOUBLE, MPI_MAX, o->ranks->comm);
	return all;
}

/* The best of several blocks: one disturbance must not decide. */
static double pure_trial(struct overlap *o, size_t lib)
{
	double best_ns = HUGE_VAL;
	double pure_ns;
	double unused;

	o->block_count = BLOCK_COUNT_MIN;
	for (int i = 0; i < PURE_TRIALS; i++) {
		block_run(o, lib, PURE, &pure_ns, &unused);
		best_ns = fmin(best_ns, pure_ns);
	}
	return fmax(slowest(o, best_ns), PURE_NS_MIN);
}

/* Chooses, on every rank, the turns that take as long as the operation. */
static void calibrate(struct overlap *o)
{
	double longest_ns = PURE_NS_MIN;
	double count;

	/* All ranks at once, as when it counts. */
	MPI_Barrier(o->ranks->comm);
	o->turn_ns = bench_work_calibrate();
	for (size_t lib = 0; lib < o->lineup->count; lib++) {
		double pure_ns = pure_trial(o, lib);

		longest_ns = fmax(longest_ns, pure_ns);
		o->turns[lib] = (uint64_t)(pure_ns / o->turn_ns);
	}
	o->fixed_turns = (uint64_t)(2.0 * longest_ns / o->turn_ns);
	/* The same number on all ranks: longest_ns is, too. */
	count = o->options->block_ms * 1e6 / (3.0 * longest_ns);
	o->block_count =
		(size_t)fmin(fmax(count, BLOCK_COUNT_MIN), BLOCK_COUNT_MAX);
}

static void phases_run(struct overlap *o)
{
	static const enum phase measured[] = { PURE, COMPUTE, OVERALL,
					       FIXED_COMPUTE, FIXED };
	size_t count = sizeof(measured) / sizeof(measured[0]);
	uint64_t seed = o->options->seed;
	size_t order[LIBRARIES_MAX];
	double unused;

	for (int i = 0; i < o->options->repetitions; i++)
		for (size_t j = 0; j < count; j++) {
			bench_order_shuffle(&seed, order, o->lineup->count);
			for (size_t k = 0; k < o->lineup->count; k++)
				block_run(o, order[k], measured[j],
					  &o->times[order[k]][measured[j]][i],
					  measured[j] == OVERALL
						  ? &o->times[order[k]][WAIT][i]
						  : &unused);
		}
}

/* The figures of one library on one rank: medians over the repetitions. */
struct figures {
	double ns[PHASES];
	double target_ns; /* what compute should have taken */
};

/* Overlap in percent, as it comes: noise can leave 0..100. */
static double overlap_raw(const struct figures *f)
{
	return 100.0 * (1.0 - (f->ns[OVERALL] - f->ns[COMPUTE]) / f->ns[PURE]);
}

static double clamp(double percent)
{
	return percent < 0.0 ? 0.0 : percent > 100.0 ? 100.0 : percent;
}

static bool is_miscalibrated(const struct figures *f)
{
	return fabs(f->ns[COMPUTE] - f->target_ns) >
	       CALIBRATION_ERROR * f->target_ns;
}

static void rank_print(const char *library, int rank, const struct figures *f)
{
	double raw = overlap_raw(f);

	printf("  %-13s %4d", library, rank);
	for (size_t i = 0; i < PHASES; i++)
		printf(" %9.2f", f->ns[i] / 1e3);
	printf(" %9.2f %8.1f %8.1f %7.2f %s%s%s\n", f->target_ns / 1e3, raw,
	       clamp(raw),
	       f->ns[FIXED] / fmax(f->ns[FIXED_COMPUTE], f->ns[PURE]),
	       raw < 0.0 || raw > 100.0 ? "clamped " : "",
	       is_miscalibrated(f) ? "compute-off-target " : "",
	       f->ns[PURE] < PURE_NS_MIN ? "too-short " : "");
}

static void head_print(const char *name)
{
	printf("\n%s (us; overlap in %%)\n  %-13s %4s", name, "library", "rank");
	for (size_t i = 0; i < PHASES; i++)
		printf(" %9s", phase_names[i]);
	printf(" %9s %8s %8s %7s flags\n", "target", "raw", "overlap", "fixed");
}

/* Adds the rows of a library: the mean over ranks, spread over the ranks. */
static void rows_add(struct bench_report *report, const char *name,
		     const char *library, const struct figures *figures,
		     size_t ranks)
{
	struct bench_row overlap = { .unit = "%", .low = 100.0 };
	struct bench_row fixed = { .unit = "x", .low = HUGE_VAL };

	snprintf(overlap.name, sizeof(overlap.name), "%.60s overlap, %s", name,
		 library);
	snprintf(fixed.name, sizeof(fixed.name),
		 "%.60s total / max(compute, comm), %s", name, library);
	for (size_t i = 0; i < ranks; i++) {
		const struct figures *f = &figures[i];
		double percent = clamp(overlap_raw(f));
		double ratio =
			f->ns[FIXED] / fmax(f->ns[FIXED_COMPUTE], f->ns[PURE]);

		overlap.value += percent / (double)ranks;
		overlap.low = fmin(overlap.low, percent);
		overlap.high = fmax(overlap.high, percent);
		fixed.value += ratio / (double)ranks;
		fixed.low = fmin(fixed.low, ratio);
		fixed.high = fmax(fixed.high, ratio);
	}
	bench_report_row(report, &overlap);
	bench_report_row(report, &fixed);
}

static void results_report(const struct overlap *o, const char *name,
			   struct bench_report *report)
{
	size_t ranks = (size_t)o->ranks->count;
	struct figures all[BENCH_RANKS_MAX];

	if (o->ranks->rank == 0)
		head_print(name);
	for (size_t lib = 0; lib < o->lineup->count; lib++) {
		struct figures mine = { .target_ns = (double)o->turns[lib] *
						     o->turn_ns };

		for (size_t i = 0; i < PHASES; i++)
			mine.ns[i] =
				bench_median(o->times[lib][i],
					     (size_t)o->options->repetitions);
		MPI_Gather(&mine, sizeof(mine), MPI_BYTE, all, sizeof(mine),
			   MPI_BYTE, 0, o->ranks->comm);
		if (o->ranks->rank != 0)
			continue;
		for (size_t i = 0; i < ranks; i++)
			rank_print(o->lineup->libraries[lib].name, (int)i,
				   &all[i]);
		rows_add(report, name, o->lineup->libraries[lib].name, all,
			 ranks);
	}
}

static const struct lineup *lineup_of(const struct settings *settings)
{
	return settings->agents ? &agents_lineup : &plain_lineup;
}

/* MPI moves the buffers of the context before it. */
static void colls_create(struct overlap *o,
			 const struct bench_coll_params *params)
{
	size_t contexts = o->lineup->count - 1;

	for (size_t i = 0; i < contexts; i++)
		o->colls[i] = bench_coll_create(&o->ranks[i], params);
	o->colls[contexts] = o->colls[contexts - 1];
}

static void colls_destroy(struct overlap *o)
{
	for (size_t i = 0; i + 1 < o->lineup->count; i++)
		bench_coll_destroy(o->colls[i]);
}

static void case_run(const struct bench_ranks *ranks,
		     const struct bench_options *options,
		     const struct settings *settings,
		     const struct bench_coll_params *params,
		     struct bench_report *report)
{
	struct overlap o = { .ranks = ranks,
			     .options = options,
			     .settings = settings,
			     .lineup = lineup_of(settings),
			     .work_state = 88172645463325252 };
	double times[LIBRARIES_MAX][PHASES][1000] = { 0 };
	char name[BENCH_NAME_BYTES];

	snprintf(name, sizeof(name), "i%s %llu B%s",
		 bench_coll_names[params->kind],
		 (unsigned long long)params->bytes,
		 params->qo_memory ? " qo_mem" : "");
	if (!bench_options_wants(options, name))
		return;
	for (size_t i = 0; i < o.lineup->count; i++)
		for (size_t j = 0; j < PHASES; j++)
			o.times[i][j] = times[i][j];
	colls_create(&o, params);
	calibrate(&o);
	phases_run(&o);
	colls_destroy(&o);
	if (o.work_state == 0)
		bench_die("the computation went wrong");
	results_report(&o, name, report);
}

/* Operations and sizes in turn. */
static void cases_run(const struct bench_ranks *ranks,
		      const struct bench_options *options,
		      const struct settings *settings,
		      struct bench_report *report)
{
	static const enum bench_coll_kind kinds[] = { BENCH_ALLTOALL,
						      BENCH_ALLREDUCE };

	for (size_t i = 0; i < 2 * settings->size_count; i++) {
		struct bench_coll_params params = {
			kinds[i % 2], settings->sizes[i / 2],
			settings->check || options->touch, settings->qo_memory
		};

		case_run(ranks, options, settings, &params, report);
	}
}

int main(int argc, char **argv)
{
	static const struct argp own = { own_options, own_parse, NULL, NULL,
					 NULL,	      NULL,	 NULL };
	struct settings settings = { 0 };
	struct bench_options options;
	struct bench_ranks ranks[LIBRARIES_MAX - 1];
	size_t contexts;
	struct bench_report *report;
	int status = 0;

	bench_options_parse(argc, argv,
			    "Overlap of nonblocking collectives with a "
			    "computation, against MPI's (run under mpirun)",
			    &own, &settings, &options);
	if (settings.size_count == 0) {
		settings.sizes[settings.size_count++] = 65536;
		settings.sizes[settings.size_count++] = 1048576;
	}
	contexts = lineup_of(&settings)->count - 1;
	bench_ranks_init_several(lineup_of(&settings)->settings, contexts,
				 ranks);
	report = bench_report_create("qo_osu_overlap", &options);
	bench_ranks_describe(&ranks[0], report);
	cases_run(ranks, &options, &settings, report);
	if (ranks[0].rank == 0)
		status = bench_report_finish(report);
	bench_report_destroy(report);
	bench_ranks_fini_several(ranks, contexts);
	return status;
}
