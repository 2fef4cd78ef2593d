/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A command's way to the daemon and back: a barrier of two ranks that the
 * daemon carries out, beside a bare bounce between three processes, the middle
 * one on the cores of the daemon.  Three ranks made by fork: two that measure,
 * and the middle one.
 */
#include "common/bounce.h"
#include "common/clock.h"
#include "common/cores.h"
#include "common/daemon.h"
#include "common/forked.h"
#include "common/options.h"
#include "common/report.h"
#include "common/shared.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RANKS 3
#define MIDDLE 2
#define RATIO_MAX 2.5
#define LIMIT_S 60 /* more is a hang; the forked ones end with the first */

enum side { DAEMON, BARE, SIDES };

static const char *const side_names[SIDES] = { "barrier by the daemon",
					       "bare bounce of three" };

struct settings {
	const char *tools;
	uint32_t looks; /* of the middle one, before it yields */
};

struct roundtrip {
	const struct bench_options *options;
	const struct settings *settings;
	struct bench_forked all;
	struct bench_forked pair;
	struct bench_daemon daemon;
	struct bench_bounce *bounce;
	uint64_t turn;	   /* of the bounce, so far */
	uint64_t *samples; /* shared: those of rank 0, then of rank 1 */
	size_t warm_up;
	size_t iterations; /* in a block */
	qo_context_t context;
	qo_team_t team;
	qo_op_t op;
};

static const struct argp_option own_options[] = {
	{ "tools", 't', "DIR", 0, "folder of qo_agentd and qo_info", 0 },
	{ "looks", 'l', "N", 0,
	  "looks of the middle process before it yields (default 2)", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 }
};

static error_t own_parse(int key, char *arg, struct argp_state *state)
{
	struct settings *settings = state->input;

	switch (key) {
	case 't':
		settings->tools = arg;
		return 0;
	case 'l':
		settings->looks =
			(uint32_t)bench_number_parse(state, arg, 1, 1000000);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void check(int rc, const char *what)
{
	if (rc != 0)
		bench_die("%s: %s: %s", what, qo_error_string(rc),
			  qo_error_detail());
}

static void barrier_run(struct roundtrip *r)
{
	struct qo_status status;
	qo_request_t request;

	check(qo_post(r->op, &request), "qo_post");
	check(qo_wait(request, QO_NO_DEADLINE, &status), "qo_wait");
	if (status.state != QO_DONE)
		check(status.error, "the barrier");
}

static void iteration_run(struct roundtrip *r, enum side side)
{
	if (side == DAEMON)
		barrier_run(r);
	else
		bench_bounce_end(r->bounce, r->all.rank, ++r->turn);
}

/* The middle one sleeps at the gate while the daemon is measured. */
static void block_run(struct roundtrip *r, enum side side)
{
	size_t total = r->warm_up + r->iterations;
	uint64_t *samples = r->samples + r->all.rank * r->iterations;

	bench_forked_gate(&r->all);
	if (r->all.rank == MIDDLE) {
		if (side == BARE)
			bench_bounce_middle(r->bounce, r->turn + 1, total,
					    r->settings->looks);
		r->turn += side == BARE ? total : 0;
	} else {
		for (size_t i = 0; i < r->warm_up; i++)
			iteration_run(r, side);
		for (size_t i = 0; i < r->iterations; i++) {
			uint64_t begin = bench_now_ns();

			iteration_run(r, side);
			samples[i] = bench_now_ns() - begin;
		}
	}
	bench_forked_gate(&r->all);
}

/* A sample is the mean over the two ranks, as in the other programs. */
static void block_keep(const struct roundtrip *r, int repetition,
		       struct bench_side_result *result)
{
	uint64_t *kept = result->samples + result->sample_count;

	for (size_t i = 0; i < r->iterations; i++)
		kept[i] = (r->samples[i] + r->samples[r->iterations + i]) / 2;
	bench_samples_sort(kept, r->iterations);
	result->medians_ns[repetition] =
		bench_samples_median(kept, r->iterations);
	result->sample_count += r->iterations;
}

static void sides_create(const struct roundtrip *r, struct bench_measurement *m)
{
	size_t repetitions = (size_t)r->options->repetitions;

	for (int i = 0; i < SIDES; i++) {
		m->sides[i].name = side_names[i];
		m->sides[i].medians_ns = calloc(repetitions, sizeof(double));
		m->sides[i].samples =
			calloc(repetitions * r->iterations, sizeof(uint64_t));
		if (m->sides[i].medians_ns == NULL ||
		    m->sides[i].samples == NULL)
			bench_die("no memory for %zu samples",
				  repetitions * r->iterations);
	}
}

static void side_finish(struct bench_side_result *side, size_t repetitions)
{
	side->value_ns = bench_median(side->medians_ns, repetitions);
	bench_samples_sort(side->samples, side->sample_count);
	side->summary =
		bench_samples_summarise(side->samples, side->sample_count);
}

/* Collective: all three ranks call it; rank 0 keeps the samples. */
static void blocks_run(struct roundtrip *r, struct bench_measurement *m)
{
	for (int i = 0; i < r->options->repetitions; i++)
		for (int j = 0; j < SIDES; j++) {
			/* on off, off on: a drift falls on both alike. */
			enum side side = (enum side)((i + j) % SIDES);

			block_run(r, side);
			if (r->all.rank == 0)
				block_keep(r, i, &m->sides[side]);
		}
}

static void measure(struct roundtrip *r, struct bench_report *report)
{
	struct bench_measurement m = { .name = "way to the daemon and back",
				       .repetitions =
					       (size_t)r->options->repetitions,
				       .side_count = SIDES };

	if (r->all.rank == 0)
		sides_create(r, &m);
	blocks_run(r, &m);
	if (r->all.rank != 0)
		return;
	for (int i = 0; i < SIDES; i++)
		side_finish(&m.sides[i], m.repetitions);
	bench_report_ratio(report, bench_report_add(report, &m), DAEMON, BARE,
			   BENCH_AT_MOST, RATIO_MAX);
}

/* The middle one of the bounce runs where the daemon does. */
static void place_as_daemon(const struct roundtrip *r)
{
	cpu_set_t cores;

	if (sched_getaffinity(r->daemon.pid, sizeof(cores), &cores) != 0 ||
	    sched_setaffinity(0, sizeof(cores), &cores) != 0)
		bench_die("cannot run where the daemon does: %s",
			  strerror(errno));
}

static void attach(struct roundtrip *r)
{
	const char *const settings[] = { "QO_AGENT=process",
					 "QO_AGENT_DIRECT=off",
					 r->daemon.setting, NULL };
	struct qo_init_params params = QO_INIT_PARAMS_INIT;

	params.settings = settings;
	if (bench_core_visit((int)r->all.rank) < 0)
		bench_die("cannot move to a core");
	check(qo_init(&params, &r->context), "qo_init");
	bench_core_pin((int)r->all.rank);
	r->team = bench_forked_team(&r->pair, r->context);
	check(qo_barrier_init(r->team, &r->op), "qo_barrier_init");
	barrier_run(r);
}

static void detach(struct roundtrip *r)
{
	check(qo_op_destroy(r->op), "qo_op_destroy");
	check(qo_team_destroy(r->team), "qo_team_destroy");
	check(qo_fini(r->context), "qo_fini");
}

static void ranks_run(struct roundtrip *r, struct bench_report *report)
{
	if (r->all.rank == MIDDLE)
		place_as_daemon(r);
	else
		attach(r);
	measure(r, report);
	if (r->all.rank == 0)
		bench_daemon_posts_check(&r->daemon, 2 * r->iterations);
	if (r->all.rank != MIDDLE)
		detach(r);
	bench_forked_gate(&r->all);
}

int main(int argc, char **argv)
{
	static const struct argp own = { own_options, own_parse, NULL, NULL,
					 NULL,	      NULL,	 NULL };
	struct settings settings = { .looks = 2 };
	struct bench_options options = { 0 };
	struct roundtrip r = { .options = &options, .settings = &settings };
	struct bench_report *report;
	int status = 0;

	bench_options_parse(argc, argv,
			    "A command's way to the daemon and back, against "
			    "a bare bounce between three processes",
			    &own, &settings, &options);
	alarm(LIMIT_S);
	report = bench_report_create("qo_agent_roundtrip", &options);
	snprintf(report->platform, sizeof(report->platform),
		 "2 ranks made by fork on two cores, and the daemon");
	r.iterations = (size_t)options.iterations_max;
	r.warm_up = r.iterations / 10 + 4;
	r.samples = bench_shared_create(2 * r.iterations * sizeof(uint64_t));
	r.bounce = bench_bounce_create();
	bench_daemon_start(settings.tools, &r.daemon);
	bench_forked_init(&r.all, RANKS);
	bench_forked_group(&r.all, 2, &r.pair);
	ranks_run(&r, report);
	if (r.all.rank == 0) {
		bench_daemon_stop(&r.daemon);
		status = bench_report_finish(report);
	}
	bench_report_destroy(report);
	return bench_forked_fini(&r.all, status);
}
