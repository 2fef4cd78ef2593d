/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a daemon costs whose clients have nothing to do: processor time,
 * wake-ups, and memory for each client.  Ranks made by fork, each a client
 * that has worked once.
 */
#include "common/clock.h"
#include "common/cores.h"
#include "common/daemon.h"
#include "common/forked.h"
#include "common/options.h"
#include "common/report.h"
#include "common/task.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS 16
#define IDLE_MS 5000
#define IDLE_QUICK_MS 2000
#define SETTLE_MS 300
#define CPU_PERCENT_MAX 1.0
#define CLIENT_KIB_MAX 256.0
#define LIMIT_S 60 /* more is a hang; the forked ones end with the first */

struct settings {
	const char *tools;
};

/* A client with a team, whose operation the daemon has carried out. */
struct client {
	qo_context_t context;
	qo_team_t team;
};

/* The daemon at one moment. */
struct reading {
	struct bench_daemon_status status;
	struct bench_task_use use;
	uint64_t at_ns;
};

static const struct argp_option own_options[] = {
	{ "tools", 't', "DIR", 0, "folder of qo_agentd and qo_info", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 }
};

static error_t own_parse(int key, char *arg, struct argp_state *state)
{
	struct settings *settings = state->input;

	if (key != 't')
		return ARGP_ERR_UNKNOWN;
	settings->tools = arg;
	return 0;
}

static void check(int rc, const char *what)
{
	if (rc != 0)
		bench_die("%s: %s: %s", what, qo_error_string(rc),
			  qo_error_detail());
}

static void sleep_ms(int ms)
{
	const struct timespec time = { ms / 1000, ms % 1000 * 1000000L };

	nanosleep(&time, NULL);
}

static void barrier_run(qo_team_t team)
{
	struct qo_status status;
	qo_request_t request;
	qo_op_t op;

	check(qo_barrier_init(team, &op), "qo_barrier_init");
	check(qo_post(op, &request), "qo_post");
	check(qo_wait(request, QO_NO_DEADLINE, &status), "qo_wait");
	if (status.state != QO_DONE)
		check(status.error, "the barrier");
	check(qo_op_destroy(op), "qo_op_destroy");
}

static void client_create(struct bench_forked *forked, const char *socket,
			  struct client *client_out)
{
	const char *const settings[] = { "QO_AGENT=process",
					 "QO_AGENT_DIRECT=off", socket, NULL };
	struct qo_init_params params = QO_INIT_PARAMS_INIT;

	params.settings = settings;
	check(qo_init(&params, &client_out->context), "qo_init");
	client_out->team = bench_forked_team(forked, client_out->context);
	barrier_run(client_out->team);
}

static void client_destroy(struct client *client)
{
	check(qo_team_destroy(client->team), "qo_team_destroy");
	check(qo_fini(client->context), "qo_fini");
}

static void row_add(struct bench_report *report, const char *name,
		    const char *unit, double value, enum bench_rule rule,
		    double target)
{
	struct bench_row row = { .unit = unit,
				 .rule = rule,
				 .target = target,
				 .value = value,
				 .low = value,
				 .high = value };

	snprintf(row.name, sizeof(row.name), "daemon, %d idle clients: %s",
		 CLIENTS, name);
	bench_report_row(report, &row);
}

/*
 * The daemon in peace, from one reading of the kernel's counters to the next;
 * asking the daemon itself would wake it, and lies outside.
 */
static void idle_watch(const struct bench_daemon *daemon, int ms,
		       struct reading *before, struct reading *after)
{
	bench_daemon_status_read(daemon, &before->status);
	sleep_ms(SETTLE_MS);
	bench_task_use_read(daemon->pid, &before->use);
	before->at_ns = bench_now_ns();
	sleep_ms(ms);
	bench_task_use_read(daemon->pid, &after->use);
	after->at_ns = bench_now_ns();
	bench_daemon_status_read(daemon, &after->status);
}

static void idle_report(const struct reading *before,
			const struct reading *after, struct bench_report *report)
{
	double window_ns = (double)(after->at_ns - before->at_ns);

	row_add(report, "share of a core", "%",
		(double)(after->use.run_ns - before->use.run_ns) * 100.0 /
			window_ns,
		BENCH_AT_MOST, CPU_PERCENT_MAX);
	row_add(report, "wake-ups", "times",
		(double)(after->use.switches - before->use.switches),
		BENCH_AT_MOST, 0.0);
	/* Who only asks is not counted. */
	row_add(report, "wake-ups, as it counts", "times",
		(double)(after->status.wakes - before->status.wakes),
		BENCH_AT_MOST, 0.0);
}

static double kib_each(uint64_t after, uint64_t before)
{
	return ((double)after - (double)before) / 1024.0 / CLIENTS;
}

/* What clients share with the daemon are their slots; the rest is its own. */
static void memory_report(const struct bench_task_memory *before,
			  const struct bench_task_memory *after,
			  const struct bench_daemon_status *status,
			  struct bench_report *report)
{
	row_add(report, "memory each, beyond slots", "KiB",
		kib_each(after->anonymous, before->anonymous), BENCH_AT_MOST,
		CLIENT_KIB_MAX);
	row_add(report, "memory each, as it counts", "KiB",
		kib_each(status->client_memory_bytes, 0), BENCH_AT_MOST,
		CLIENT_KIB_MAX);
	row_add(report, "resident memory each, slots too", "KiB",
		kib_each(after->resident, before->resident), BENCH_NO_TARGET,
		0.0);
	row_add(report, "share of memory each (Pss)", "KiB",
		kib_each(after->share, before->share), BENCH_NO_TARGET, 0.0);
}

static void measure(const struct bench_daemon *daemon,
		    const struct bench_task_memory *alone,
		    const struct bench_options *options,
		    struct bench_report *report)
{
	struct bench_task_memory memory;
	struct reading before;
	struct reading after;

	idle_watch(daemon, options->quick ? IDLE_QUICK_MS : IDLE_MS, &before,
		   &after);
	if (after.status.clients != CLIENTS)
		bench_die("the daemon has %llu clients, not %d",
			  (unsigned long long)after.status.clients, CLIENTS);
	bench_task_memory_read(daemon->pid, &memory);
	idle_report(&before, &after, report);
	memory_report(alone, &memory, &after.status, report);
}

int main(int argc, char **argv)
{
	static const struct argp own = { own_options, own_parse, NULL, NULL,
					 NULL,	      NULL,	 NULL };
	struct settings settings = { NULL };
	struct bench_options options = { 0 };
	struct bench_forked forked;
	struct bench_daemon daemon;
	struct bench_task_memory alone;
	struct bench_report *report;
	struct client client;
	int status = 0;

	bench_options_parse(argc, argv, "Costs of a daemon with idle clients",
			    &own, &settings, &options);
	alarm(LIMIT_S);
	report = bench_report_create("qo_agent_idle", &options);
	snprintf(report->platform, sizeof(report->platform),
		 "%d ranks made by fork, and the daemon", CLIENTS);
	bench_daemon_start(settings.tools, &daemon);
	bench_task_memory_read(daemon.pid, &alone);
	bench_forked_init(&forked, CLIENTS);
	client_create(&forked, daemon.setting, &client);
	bench_forked_gate(&forked);
	if (forked.rank == 0)
		measure(&daemon, &alone, &options, report);
	bench_forked_gate(&forked);
	client_destroy(&client);
	bench_forked_gate(&forked);
	if (forked.rank == 0) {
		bench_daemon_stop(&daemon);
		status = bench_report_finish(report);
	}
	bench_report_destroy(report);
	return bench_forked_fini(&forked, status);
}
