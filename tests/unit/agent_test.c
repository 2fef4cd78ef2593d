/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <qoffload/qoffload.h>

#include "libqoffload/base/clock.h"

#define ELEMENTS (1 << 16)

static int gather(const void *send, void *recv, size_t bytes, void *arg,
		  void **request_out)
{
	(void)arg;
	memcpy(recv, send, bytes);
	*request_out = NULL;
	return 0;
}

static int gathered(void *request, void *arg)
{
	(void)request;
	(void)arg;
	return 0;
}

static qo_context_t context_open(const char *agent, const char *idle)
{
	const char *settings[] = { agent, idle, "QO_PROVIDER=self", NULL };
	struct qo_init_params params = QO_INIT_PARAMS_INIT;
	qo_context_t context;

	params.settings = settings;
	assert_int_equal(qo_init(&params, &context), 0);
	return context;
}

static qo_team_t team_open(qo_context_t context)
{
	const struct qo_oob oob = { sizeof(oob), 0,	   1,	NULL,
				    gather,	 gathered, NULL };
	qo_team_t team;

	assert_int_equal(qo_team_create(context, &oob, &team), 0);
	return team;
}

static struct qo_agent_info query(qo_context_t context)
{
	struct qo_agent_info info = QO_AGENT_INFO_INIT;

	assert_int_equal(qo_agent_query(context, &info), 0);
	return info;
}

/* Waits for what another thread does, at most ten seconds. */
static int64_t limit(void)
{
	return qoi_clock_ns() + 10 * QOI_NS_PER_S;
}

static void the_inline_agent_runs_in_the_caller_alone(void **state)
{
	qo_context_t context =
		context_open("QO_AGENT=inline", "QO_AGENT_IDLE=spin");
	struct qo_agent_info info = query(context);

	(void)state;
	assert_int_equal(info.kind, QO_AGENT_INLINE);
	assert_int_equal(info.async_progress, 0);
	assert_int_equal(info.thread_id, -1);
	assert_int_equal(info.cpu, -1);
	assert_int_equal(query(context).duty_cycles, info.duty_cycles);
	assert_int_equal(qo_progress(context), 0);
	assert_int_equal(query(context).duty_cycles, info.duty_cycles + 1);
	assert_int_equal(qo_fini(context), 0);
	assert_int_equal(qo_progress(NULL), -EBADF);
	assert_int_equal(qo_fini(NULL), -EBADF);
}

static void a_spinning_agent_goes_round_by_itself(void **state)
{
	qo_context_t context =
		context_open("QO_AGENT=thread", "QO_AGENT_IDLE=spin");
	uint64_t before = query(context).duty_cycles;
	int64_t until = limit();

	(void)state;
	while (query(context).duty_cycles < before + 100) {
		assert_true(qoi_clock_ns() < until);
		sched_yield();
	}
	assert_string_equal(query(context).idle, "spin");
	assert_int_equal(query(context).sleep_count, 0);
	assert_int_equal(qo_fini(context), 0);
}

/* Asleep it does not go round, and a post of what needs it wakes it. */
static void a_blocked_agent_is_woken_by_work(void **state)
{
	static uint64_t send[ELEMENTS], recv[ELEMENTS];
	qo_context_t context =
		context_open("QO_AGENT=thread", "QO_AGENT_IDLE=block");
	qo_team_t team = team_open(context);
	const struct timespec pause = { 0, 20000000 };
	struct qo_status status;
	qo_request_t request;
	uint64_t cycles;
	int64_t until;
	qo_op_t op;

	(void)state;
	for (int i = 0; i < ELEMENTS; i++)
		send[i] = (uint64_t)i;
	assert_int_equal(qo_allgather_init(team, send, recv, ELEMENTS,
					   QO_UINT64, &op),
			 0);
	until = limit();
	/* A loaded machine lets it sleep late: a pause without a cycle comes. */
	do {
		assert_true(qoi_clock_ns() < until);
		cycles = query(context).duty_cycles;
		nanosleep(&pause, NULL);
	} while (query(context).sleep_count == 0 ||
		 query(context).duty_cycles != cycles);
	assert_int_equal(qo_post(op, &request), 0);
	/* More than a post does itself: the agent ends it, unasked. */
	do {
		assert_true(qoi_clock_ns() < until);
		assert_int_equal(qo_test(request, &status), 0);
		sched_yield();
	} while (status.state == QO_PENDING);
	/* It counts when it is round. */
	while (query(context).duty_cycles == cycles ||
	       query(context).wake_count == 0) {
		assert_true(qoi_clock_ns() < until);
		sched_yield();
	}
	assert_int_equal(recv[ELEMENTS - 1], ELEMENTS - 1);
	assert_int_equal(qo_op_destroy(op), 0);
	assert_int_equal(qo_team_destroy(team), 0);
	assert_int_equal(qo_fini(context), 0);
}

static void an_idle_agent_costs_nothing(void **state)
{
	qo_context_t context =
		context_open("QO_AGENT=thread", "QO_AGENT_IDLE=adaptive");
	const struct timespec pause = { 0, 200000000 };
	uint64_t before;
	int64_t until = limit();

	(void)state;
	while (query(context).sleep_count == 0) {
		assert_true(qoi_clock_ns() < until);
		sched_yield();
	}
	before = query(context).cpu_ns;
	nanosleep(&pause, NULL);
	/* Under 1 % of a core. */
	assert_true(query(context).cpu_ns - before < 2000000);
	assert_int_equal(qo_fini(context), 0);
}

static void many_contexts_live_side_by_side(void **state)
{
	qo_context_t contexts[20];

	(void)state;
	for (int i = 0; i < 20; i++)
		contexts[i] = context_open(i % 2 == 0 ? "QO_AGENT=inline"
						      : "QO_AGENT=thread",
					   "QO_AGENT_IDLE=block");
	for (int i = 0; i < 20; i++) {
		qo_team_t team = team_open(contexts[i]);
		struct qo_status status;
		qo_request_t request;
		qo_op_t op;

		assert_int_equal(qo_barrier_init(team, &op), 0);
		assert_int_equal(qo_post(op, &request), 0);
		assert_int_equal(qo_wait(request, QO_NO_DEADLINE, &status), 0);
		assert_int_equal(status.state, QO_DONE);
		assert_int_equal(qo_op_destroy(op), 0);
		assert_int_equal(qo_team_destroy(team), 0);
	}
	for (int i = 0; i < 20; i++)
		assert_int_equal(qo_fini(contexts[i]), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_inline_agent_runs_in_the_caller_alone),
		cmocka_unit_test(a_spinning_agent_goes_round_by_itself),
		cmocka_unit_test(a_blocked_agent_is_woken_by_work),
		cmocka_unit_test(an_idle_agent_costs_nothing),
		cmocka_unit_test(many_contexts_live_side_by_side),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
