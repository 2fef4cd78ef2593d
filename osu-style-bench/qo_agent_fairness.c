/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether one client's flood starves another.  A victim pair exchanges 64
 * bytes; a pair of another job floods with large operations, or with many
 * small ones in flight.  Phases take turns: quiet, flood, the flood stopped.
 * All goes through one daemon; beside that, the victims have a daemon of their
 * own, or all have threads: what is left then, the machine's sharing of cores
 * costs, and no daemon could help it.
 */
#include "common/clock.h"
#include "common/cores.h"
#include "common/daemon.h"
#include "common/forked.h"
#include "common/options.h"
#include "common/pair.h"
#include "common/report.h"
#include "common/shared.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PAIR BENCH_PAIR_RANKS
#define RANKS (2 * PAIR) /* a pair of victims, a pair that floods */
#define VICTIM_BYTES 64
#define BIG_BYTES (UINT64_C(1) << 20)
#define FLOOD_OPS 32	   /* small ones in flight */
#define START_MS 5	   /* the flood is on its way then */
#define SAMPLES_MAX 100000 /* of a phase */
/* Of a phase for each ms of --block-ms: the rare needs more time. */
#define BLOCK_NS UINT64_C(5000000)
#define RATIO_MAX 3.0
#define LIMIT_S 150 /* more is a hang; the forked ones end with the first */

enum phase { QUIET, FLOOD_BIG, STOPPED, FLOOD_SMALL, PHASES };

static const char *const phase_names[PHASES] = { "quiet", "1 MiB flood",
						 "flood stopped",
						 "64 B x 32 flood" };

struct settings {
	const char *tools;
	bool threads_only;
};

/* What all ranks share. */
struct board {
	_Atomic uint32_t flooding;
};

/* A context with its kind of agent, and what is exchanged under it. */
struct client {
	qo_context_t context;
	qo_team_t team;
	struct bench_pair small[FLOOD_OPS]; /* a victim has one */
	struct bench_pair big;		    /* a victim has none */
};

enum kind { DAEMON, APART, THREAD, KINDS };

static const char *const kind_names[KINDS] = { "one daemon", "a daemon each",
					       "threads" };

struct fairness {
	const struct bench_options *options;
	const struct settings *settings;
	struct bench_forked all;
	struct bench_forked pair;
	struct bench_daemon daemon;
	struct bench_daemon apart; /* of the victims alone */
	struct board *board;
	struct client clients[KINDS];
	uint64_t *samples; /* of the phase */
	size_t sample_count;
};

static const struct argp_option own_options[] = {
	{ "tools", 't', "DIR", 0, "folder of qo_agentd and qo_info", 0 },
	{ "threads-only", 'T', NULL, 0, "leave the daemon out", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 }
};

static error_t own_parse(int key, char *arg, struct argp_state *state)
{
	struct settings *settings = state->input;

	switch (key) {
	case 't':
		settings->tools = arg;
		return 0;
	case 'T':
		settings->threads_only = true;
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

/* Exchanges one by one until the time is over, by the clock of rank 0. */
static void victim_run(struct fairness *f, struct client *client,
		       uint64_t window_ns)
{
	struct bench_pair *x = &client->small[0];
	uint64_t end = bench_now_ns() + window_ns;
	uint64_t begin;

	f->sample_count = 0;
	do {
		bool last = bench_now_ns() > end ||
			    f->sample_count == SAMPLES_MAX - 1;

		begin = bench_now_ns();
		bench_pair_post(x, last);
		bench_pair_wait(x);
		f->samples[f->sample_count++] = bench_now_ns() - begin;
	} while (!bench_pair_was_last(x) && f->sample_count < SAMPLES_MAX);
}

static bool flood_is_over(const struct fairness *f)
{
	return atomic_load_explicit(&f->board->flooding,
				    memory_order_acquire) == 0;
}

static void flood_big_run(const struct fairness *f, struct client *client)
{
	do {
		bench_pair_post(&client->big, flood_is_over(f));
		bench_pair_wait(&client->big);
	} while (!bench_pair_was_last(&client->big));
}

/* Keeps all in flight: each is posted again as soon as it is done. */
static void flood_small_run(const struct fairness *f, struct client *client)
{
	bool last = false;

	for (size_t i = 0; i < FLOOD_OPS; i++)
		bench_pair_post(&client->small[i], false);
	/* Rank 0 decides before the first of a turn, for all of that turn. */
	while (!last) {
		bool over = flood_is_over(f);

		for (size_t i = 0; i < FLOOD_OPS; i++) {
			bench_pair_wait(&client->small[i]);
			bench_pair_was_last(&client->small[i]);
			bench_pair_post(&client->small[i], over);
		}
		bench_pair_wait(&client->small[0]);
		last = bench_pair_was_last(&client->small[0]);
	}
	for (size_t i = 1; i < FLOOD_OPS; i++) {
		bench_pair_wait(&client->small[i]);
		bench_pair_was_last(&client->small[i]);
	}
}

static void sleep_ms(int ms)
{
	const struct timespec time = { 0, ms * 1000000L };

	nanosleep(&time, NULL);
}

/*
 * One phase of all ranks; a pair that has nothing to do sleeps at the gate.
 * The pair of rank 0 are the victims.
 */
static void phase_run(struct fairness *f, struct client *client,
		      enum phase phase)
{
	uint64_t window_ns = (uint64_t)f->options->block_ms * BLOCK_NS;
	bool flood = phase == FLOOD_BIG || phase == FLOOD_SMALL;

	if (f->all.rank == 0)
		atomic_store_explicit(&f->board->flooding, flood,
				      memory_order_release);
	bench_forked_gate(&f->all);
	if (f->all.rank < PAIR) {
		sleep_ms(START_MS);
		victim_run(f, client, window_ns);
		if (f->all.rank == 0)
			atomic_store_explicit(&f->board->flooding, 0,
					      memory_order_release);
	} else if (phase == FLOOD_BIG) {
		flood_big_run(f, client);
	} else if (phase == FLOOD_SMALL) {
		flood_small_run(f, client);
	}
	bench_forked_gate(&f->all);
}

/* What rank 0 keeps of one kind of agent. */
struct figures {
	struct bench_measurement measurement;
	double *p99_ns[PHASES]; /* one per repetition, owned */
};

static void *array_create(size_t count, size_t bytes)
{
	void *array = calloc(count, bytes);

	if (array == NULL)
		bench_die("no memory for %zu samples", count);
	return array;
}

static void figures_create(const struct fairness *f, enum kind kind,
			   struct figures *figures)
{
	struct bench_measurement *m = &figures->measurement;

	*m = (struct bench_measurement){
		.repetitions = (size_t)f->options->repetitions,
		.side_count = PHASES,
	};
	snprintf(m->name, sizeof(m->name), "victim's exchange, %s",
		 kind_names[kind]);
	for (int i = 0; i < PHASES; i++) {
		m->sides[i].name = phase_names[i];
		m->sides[i].medians_ns =
			array_create(m->repetitions, sizeof(double));
		figures->p99_ns[i] =
			array_create(m->repetitions, sizeof(double));
	}
}

/* Adds the samples of a phase to those of the repetitions before. */
static void phase_keep(const struct fairness *f, struct figures *figures,
		       enum phase phase, int repetition)
{
	struct bench_side_result *side = &figures->measurement.sides[phase];
	size_t count = f->sample_count;
	uint64_t *kept = realloc(side->samples,
				 (side->sample_count + count) * sizeof(*kept));

	if (kept == NULL)
		bench_die("no memory for %zu samples", count);
	side->samples = kept;
	bench_samples_sort(f->samples, count);
	memcpy(kept + side->sample_count, f->samples, count * sizeof(*kept));
	side->sample_count += count;
	side->medians_ns[repetition] = bench_samples_median(f->samples, count);
	figures->p99_ns[phase][repetition] =
		(double)bench_samples_summarise(f->samples, count).p99_ns;
}

/* Kinds and phases take turns; rank 0 keeps what its victim saw. */
static void phases_run(struct fairness *f, enum kind first,
		       struct figures *figures)
{
	int repetitions = f->options->repetitions;

	for (int i = 0; i < repetitions; i++)
		for (int j = 0; j < PHASES * (int)(KINDS - first); j++) {
			enum kind kind = first + (enum kind)(j / PHASES);
			enum phase phase = (enum phase)(j % PHASES);

			phase_run(f, &f->clients[kind], phase);
			if (f->all.rank == 0)
				phase_keep(f, &figures[kind], phase, i);
		}
}

/* One p99 over another, by repetition; what they are of is in the name. */
static void row_add(struct bench_report *report, struct bench_row *row,
		    const double *subject_ns, const double *base_ns,
		    size_t count)
{
	row->unit = "x";
	row->rule = row->target > 0.0 ? BENCH_AT_MOST : BENCH_NO_TARGET;
	row->value =
		bench_median(subject_ns, count) / bench_median(base_ns, count);
	for (size_t i = 0; i < count; i++) {
		double ratio = subject_ns[i] / base_ns[i];

		row->low = i == 0 || ratio < row->low ? ratio : row->low;
		row->high = i == 0 || ratio > row->high ? ratio : row->high;
	}
	bench_report_row(report, row);
}

/* A flood against quiet. */
static void quiet_row_add(const struct figures *figures, enum kind kind,
			  enum phase phase, struct bench_report *report)
{
	struct bench_row row = { .target = kind == DAEMON && phase != STOPPED
						   ? RATIO_MAX
						   : 0.0 };

	snprintf(row.name, sizeof(row.name), "victim's p99, %s / quiet, %s",
		 phase_names[phase], kind_names[kind]);
	row_add(report, &row, figures[kind].p99_ns[phase],
		figures[kind].p99_ns[QUIET],
		figures[kind].measurement.repetitions);
}

/* A daemon that the flood goes through, too, against one that it does not. */
static void apart_row_add(const struct figures *figures, enum phase phase,
			  struct bench_report *report)
{
	struct bench_row row = { .target = 0.0 };

	snprintf(row.name, sizeof(row.name), "victim's p99, %s, %s / %s",
		 phase_names[phase], kind_names[DAEMON], kind_names[APART]);
	row_add(report, &row, figures[DAEMON].p99_ns[phase],
		figures[APART].p99_ns[phase],
		figures[DAEMON].measurement.repetitions);
}

static void figures_report(struct figures *figures, enum kind kind,
			   struct bench_report *report)
{
	struct bench_measurement *m = &figures[kind].measurement;

	for (int i = 0; i < PHASES; i++) {
		struct bench_side_result *side = &m->sides[i];

		side->value_ns = bench_median(side->medians_ns, m->repetitions);
		bench_samples_sort(side->samples, side->sample_count);
		side->summary = bench_samples_summarise(side->samples,
							side->sample_count);
	}
	bench_report_add(report, m);
	quiet_row_add(figures, kind, FLOOD_BIG, report);
	quiet_row_add(figures, kind, FLOOD_SMALL, report);
	quiet_row_add(figures, kind, STOPPED, report);
}

static void client_create(struct fairness *f, const char *const *settings,
			  struct client *client)
{
	struct qo_init_params params = QO_INIT_PARAMS_INIT;
	bool victim = f->all.rank < PAIR;

	params.settings = settings;
	check(qo_init(&params, &client->context), "qo_init");
	client->team = bench_forked_team(&f->pair, client->context);
	for (int i = 0; i < (victim ? 1 : FLOOD_OPS); i++)
		bench_pair_create(client->context, client->team, VICTIM_BYTES,
				  &client->small[i]);
	if (!victim)
		bench_pair_create(client->context, client->team, BIG_BYTES,
				  &client->big);
}

static void client_destroy(const struct fairness *f, struct client *client)
{
	bool victim = f->all.rank < PAIR;

	for (int i = 0; i < (victim ? 1 : FLOOD_OPS); i++)
		bench_pair_destroy(&client->small[i]);
	if (!victim)
		bench_pair_destroy(&client->big);
	check(qo_team_destroy(client->team), "qo_team_destroy");
	check(qo_fini(client->context), "qo_fini");
}

static void process_client_create(struct fairness *f, const char *socket,
				  struct client *client)
{
	const char *const settings[] = { "QO_AGENT=process",
					 "QO_AGENT_DIRECT=off", socket,
					 f->all.rank < PAIR
						 ? "QO_AGENT_JOB=victim"
						 : "QO_AGENT_JOB=flood",
					 NULL };

	client_create(f, settings, client);
}

/* Each rank on its core, once the agents are where they are without that. */
static void clients_create(struct fairness *f)
{
	static const char *const thread[] = { "QO_AGENT=thread", NULL };

	if (bench_core_visit((int)f->all.rank) < 0)
		bench_die("cannot move to a core");
	if (!f->settings->threads_only) {
		process_client_create(f, f->daemon.setting, &f->clients[DAEMON]);
		process_client_create(f,
				      f->all.rank < PAIR ? f->apart.setting
							 : f->daemon.setting,
				      &f->clients[APART]);
	}
	client_create(f, thread, &f->clients[THREAD]);
	bench_core_pin((int)f->all.rank);
}

/* On rank 0: the daemon must have carried out all of the victims' posts. */
static void results_report(const struct fairness *f, enum kind first,
			   struct figures *figures, struct bench_report *report)
{
	if (first == DAEMON) {
		const struct bench_measurement *m = &figures[DAEMON].measurement;

		bench_daemon_posts_check(&f->daemon,
					 2 * m->sides[QUIET].sample_count);
	}
	for (enum kind kind = first; kind < KINDS; kind++)
		figures_report(figures, kind, report);
	if (first == DAEMON) {
		apart_row_add(figures, FLOOD_BIG, report);
		apart_row_add(figures, FLOOD_SMALL, report);
	}
	for (enum kind kind = first; kind < KINDS; kind++)
		for (int i = 0; i < PHASES; i++)
			free(figures[kind].p99_ns[i]);
}

static void ranks_run(struct fairness *f, struct bench_report *report)
{
	enum kind first = f->settings->threads_only ? THREAD : DAEMON;
	struct figures figures[KINDS];

	clients_create(f);
	for (enum kind kind = first; kind < KINDS && f->all.rank == 0; kind++)
		figures_create(f, kind, &figures[kind]);
	phases_run(f, first, figures);
	if (f->all.rank == 0)
		results_report(f, first, figures, report);
	for (enum kind kind = first; kind < KINDS; kind++)
		client_destroy(f, &f->clients[kind]);
	bench_forked_gate(&f->all);
}

static void daemons_start(struct fairness *f)
{
	if (f->settings->threads_only)
		return;
	bench_daemon_start(f->settings->tools, &f->daemon);
	bench_daemon_start(f->settings->tools, &f->apart);
}

static void daemons_stop(struct fairness *f)
{
	if (f->settings->threads_only)
		return;
	bench_daemon_stop(&f->daemon);
	bench_daemon_stop(&f->apart);
}

int main(int argc, char **argv)
{
	static const struct argp own = { own_options, own_parse, NULL, NULL,
					 NULL,	      NULL,	 NULL };
	struct settings settings = { 0 };
	struct bench_options options = { 0 };
	struct fairness f = { .options = &options, .settings = &settings };
	struct bench_report *report;
	int status = 0;

	bench_options_parse(argc, argv,
			    "Whether a flood by one client of the daemon "
			    "starves another",
			    &own, &settings, &options);
	alarm(LIMIT_S);
	report = bench_report_create("qo_agent_fairness", &options);
	snprintf(report->platform, sizeof(report->platform),
		 "2 pairs of ranks made by fork, and the daemon");
	f.board = bench_shared_create(sizeof(*f.board));
	f.samples = array_create(SAMPLES_MAX, sizeof(uint64_t));
	daemons_start(&f);
	bench_forked_init(&f.all, RANKS);
	bench_forked_group(&f.all, PAIR, &f.pair);
	ranks_run(&f, report);
	free(f.samples);
	if (f.all.rank == 0) {
		daemons_stop(&f);
		status = bench_report_finish(report);
	}
	bench_report_destroy(report);
	return bench_forked_fini(&f.all, status);
}
