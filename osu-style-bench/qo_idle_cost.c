/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an idle agent costs: its processor time and its wake-ups while nothing
 * happens, and how much it slows a memory-bound loop (a triad) beside it.
 * Two ranks made by fork, each on a core of its own with its agent.  For the
 * triad, contexts come and go: times with and without one alternate.
 */
#include "common/clock.h"
#include "common/cores.h"
#include "common/forked.h"
#include "common/options.h"
#include "common/report.h"
#include "common/task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RANKS 2
#define IDLE_MS 3000
#define IDLE_QUICK_MS 1000
#define CPU_PERCENT_MAX 1.0
#define SLOWDOWN_MAX 1.02
#define TRIAD_COUNT (1 << 20) /* doubles in each of three arrays */

static void check(int rc, const char *what)
{
	if (rc != 0)
		bench_die("%s: %s: %s", what, qo_error_string(rc),
			  qo_error_detail());
}

/* A context with a team that has worked once and has nothing to do now. */
struct idle {
	qo_context_t context;
	qo_team_t team;
};

static void barrier_run(qo_team_t team)
{
	struct qo_status status;
	qo_request_t request;
	qo_op_t op;

	check(qo_barrier_init(team, &op), "qo_barrier_init");
	check(qo_post(op, &request), "qo_post");
	check(qo_wait(request, QO_NO_DEADLINE, &status), "qo_wait");
	if (status.state != QO_DONE)
		bench_die("the barrier failed");
	check(qo_op_destroy(op), "qo_op_destroy");
}

static void idle_create(struct bench_forked *forked, struct idle *idle_out)
{
	check(qo_init(NULL, &idle_out->context), "qo_init");
	idle_out->team = bench_forked_team(forked, idle_out->context);
	barrier_run(idle_out->team);
}

static void idle_destroy(struct idle *idle)
{
	check(qo_team_destroy(idle->team), "qo_team_destroy");
	check(qo_fini(idle->context), "qo_fini");
}

static void sleep_ms(int ms)
{
	const struct timespec time = { ms / 1000, ms % 1000 * 1000000L };

	nanosleep(&time, NULL);
}

static void row_add(struct bench_report *report, const char *name,
		    const char *unit, double value, double target)
{
	struct bench_row row = { .unit = unit,
				 .rule = target > 0.0 ? BENCH_AT_MOST
						      : BENCH_NO_TARGET,
				 .target = target,
				 .value = value,
				 .low = value,
				 .high = value };

	snprintf(row.name, sizeof(row.name), "%s", name);
	bench_report_row(report, &row);
}

static void idle_measure(struct bench_forked *forked,
			 const struct bench_options *options,
			 struct bench_report *report)
{
	struct qo_agent_info agent = QO_AGENT_INFO_INIT;
	struct bench_task_use before;
	struct bench_task_use after;
	struct idle idle;
	uint64_t begin;
	double seconds;

	idle_create(forked, &idle);
	check(qo_agent_query(idle.context, &agent), "qo_agent_query");
	if (forked->rank == 0)
		printf("agent: idle strategy %s, core %d, %s\n", agent.idle,
		       agent.cpu, agent.reason);
	/* What the barrier left to do is not idleness. */
	sleep_ms(50);
	if (agent.thread_id > 0) {
		bench_task_use_read(agent.thread_id, &before);
		begin = bench_now_ns();
		sleep_ms(options->quick ? IDLE_QUICK_MS : IDLE_MS);
		bench_task_use_read(agent.thread_id, &after);
		seconds = (double)(bench_now_ns() - begin) / 1e9;
		row_add(report, "idle agent, share of a core", "%",
			(double)(after.run_ns - before.run_ns) / 1e7 / seconds,
			CPU_PERCENT_MAX);
		row_add(report, "idle agent, voluntary switches a second", "1/s",
			(double)(after.switches - before.switches) / seconds,
			0.0);
	} else if (forked->rank == 0) {
		printf("no agent thread: nothing to measure when idle\n");
	}
	bench_forked_barrier(forked);
	idle_destroy(&idle);
}

static double *array_create(void)
{
	double *array = malloc(TRIAD_COUNT * sizeof(*array));

	if (array == NULL)
		bench_die("no memory for the triad");
	for (size_t i = 0; i < TRIAD_COUNT; i++)
		array[i] = (double)i;
	return array;
}

/* Sweeps over three arrays for a while; gives the mean time of a sweep. */
static double triad_run(double *a, const double *b, const double *c,
			size_t sweeps, uint64_t *samples)
{
	for (size_t i = 0; i < sweeps; i++) {
		uint64_t begin = bench_now_ns();

		for (size_t j = 0; j < TRIAD_COUNT; j++)
			a[j] = b[j] + 3.0 * c[j];
		samples[i] = bench_now_ns() - begin;
	}
	if (a[7] != b[7] + 3.0 * c[7])
		bench_die("the triad went wrong");
	return bench_samples_mean(samples, sweeps);
}

static void triad_measure(struct bench_forked *forked,
			  const struct bench_options *options,
			  struct bench_report *report)
{
	size_t count = (size_t)options->repetitions;
	size_t sweeps = options->quick ? 30 : 60;
	double *arrays[3] = { array_create(), array_create(), array_create() };
	struct bench_measurement m = { .name = "triad of 24 MiB",
				       .repetitions = count,
				       .side_count = 2,
				       .sides = { { .name = "idle agent" },
						  { .name = "no agent" } } };
	uint64_t samples[60];

	for (size_t i = 0; i < 2; i++) {
		m.sides[i].medians_ns = calloc(count, sizeof(double));
		if (m.sides[i].medians_ns == NULL)
			bench_die("no memory for %zu repetitions", count);
	}
	for (size_t i = 0; i < 2 * count; i++) {
		/* on off, off on, on off: a drift falls on both alike. */
		size_t side = (i % 2) ^ (i / 2 % 2);
		struct idle idle;

		if (side == 0)
			idle_create(forked, &idle);
		bench_forked_barrier(forked);
		triad_run(arrays[0], arrays[1], arrays[2], 3, samples);
		m.sides[side].medians_ns[i / 2] = triad_run(
			arrays[0], arrays[1], arrays[2], sweeps, samples);
		bench_forked_barrier(forked);
		if (side == 0)
			idle_destroy(&idle);
	}
	for (size_t i = 0; i < 2; i++) {
		m.sides[i].value_ns = bench_median(m.sides[i].medians_ns, count);
		m.sides[i].sample_count = sweeps * count;
	}
	for (size_t i = 0; i < 3; i++)
		free(arrays[i]);
	if (forked->rank == 0)
		bench_report_ratio(report, bench_report_add(report, &m), 0, 1,
				   BENCH_AT_MOST, SLOWDOWN_MAX);
}

int main(int argc, char **argv)
{
	struct bench_options options;
	struct bench_forked forked;
	struct bench_report *report;
	int status = 0;

	bench_options_parse(argc, argv, "Costs of an idle agent", NULL, NULL,
			    &options);
	report = bench_report_create("qo_idle_cost", &options);
	bench_forked_init(&forked, RANKS);
	snprintf(report->platform, sizeof(report->platform),
		 "%d ranks made by fork", RANKS);
	if (bench_core_visit((int)forked.rank) < 0)
		bench_die("cannot move to a core");
	if (bench_options_wants(&options, "idle"))
		idle_measure(&forked, &options, report);
	if (bench_options_wants(&options, "triad")) {
		/* From here on the agents are confined to this core, too. */
		bench_core_pin((int)forked.rank);
		triad_measure(&forked, &options, report);
	}
	if (forked.rank == 0)
		status = bench_report_finish(report);
	bench_report_destroy(report);
	return bench_forked_fini(&forked, status);
}
