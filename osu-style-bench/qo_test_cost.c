/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls qo_test many times on a request that is pending, or finished, for
 * the script test_cost.sh, which counts instructions and system calls.  On
 * its own it prints the time of a call.  Two ranks made by fork: the other
 * one posts only afterwards, so that the request really is pending.
 */
#include "common/clock.h"
#include "common/cores.h"
#include "common/forked.h"
#include "common/options.h"
#include "common/report.h"

#include <stdio.h>
#include <unistd.h>

struct settings {
	bool finished;
	long tests;
};

static const struct argp_option own_options[] = {
	{ "finished", 'f', NULL, 0,
	  "test a finished request (default: a pending one)", 0 },
	{ "tests", 'n', "N", 0, "number of tests (default 100000)", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 }
};

static error_t own_parse(int key, char *arg, struct argp_state *state)
{
	struct settings *settings = state->input;

	switch (key) {
	case 'f':
		settings->finished = true;
		return 0;
	case 'n':
		settings->tests = bench_number_parse(state, arg, 1, 100000000);
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

static void request_finish(qo_request_t request)
{
	struct qo_status status;

	check(qo_wait(request, QO_NO_DEADLINE, &status), "qo_wait");
	if (status.state != QO_DONE)
		bench_die("the barrier failed: %s",
			  qo_error_string(status.error));
}

/* A system call that a trace can find: nothing else uses this number. */
static void mark(void)
{
	if (dup2(-1, 4242) >= 0)
		bench_die("dup2 of no file went well");
}

/*
 * Tests, and sees that the state stays what it has to be.  Not inlined: the
 * script counts what this function's calls of qo_test cost.
 */
__attribute__((noinline)) static double
tests_run(qo_request_t request, const struct settings *settings)
{
	int32_t expected = settings->finished ? QO_DONE : QO_PENDING;
	struct qo_status status = { 0 };
	long wrong = 0;
	uint64_t begin;
	uint64_t spent_ns;

	mark();
	begin = bench_now_ns();
	for (long i = 0; i < settings->tests; i++) {
		int rc = qo_test(request, &status);

		wrong += rc != 0 || status.state != expected;
	}
	spent_ns = bench_now_ns() - begin;
	mark();
	if (wrong != 0)
		bench_die("%ld of %ld tests found another state than %s", wrong,
			  settings->tests,
			  settings->finished ? "finished" : "pending");
	return (double)spent_ns / (double)settings->tests;
}

/* Rank 0 tests; rank 1 posts before that or after it. */
static void rank_run(struct bench_forked *forked, qo_op_t barrier,
		     const struct settings *settings)
{
	qo_request_t request;

	if (forked->rank == 0 || settings->finished) {
		check(qo_post(barrier, &request), "qo_post");
		if (settings->finished)
			request_finish(request);
	}
	bench_forked_barrier(forked);
	if (forked->rank == 0)
		printf("%ld tests of a %s request: %.2f ns each\n",
		       settings->tests,
		       settings->finished ? "finished" : "pending",
		       tests_run(request, settings));
	fflush(stdout);
	bench_forked_barrier(forked);
	if (forked->rank != 0 && !settings->finished)
		check(qo_post(barrier, &request), "qo_post");
	if (!settings->finished)
		request_finish(request);
}

int main(int argc, char **argv)
{
	static const struct argp own = { own_options, own_parse, NULL, NULL,
					 NULL,	      NULL,	 NULL };
	struct settings settings = { .tests = 100000 };
	struct bench_options options;
	struct bench_forked forked;
	qo_context_t context;
	qo_team_t team;
	qo_op_t barrier;

	bench_options_parse(argc, argv, "Tests one request many times", &own,
			    &settings, &options);
	bench_forked_init(&forked, 2);
	if (bench_core_visit((int)forked.rank) < 0)
		bench_die("cannot move to a core");
	check(qo_init(NULL, &context), "qo_init");
	if (bench_core_pin((int)forked.rank) < 0)
		bench_die("cannot pin to a core");
	team = bench_forked_team(&forked, context);
	check(qo_barrier_init(team, &barrier), "qo_barrier_init");
	rank_run(&forked, barrier, &settings);
	check(qo_op_destroy(barrier), "qo_op_destroy");
	check(qo_team_destroy(team), "qo_team_destroy");
	check(qo_fini(context), "qo_fini");
	return bench_forked_fini(&forked, 0);
}
