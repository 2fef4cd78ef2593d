/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations that a daemon has: posts, ends, losses, through public calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libqoffload/shm/bell.h"
#include "tests/unit/capture.h"
#include "tests/unit/far_fixture.h"

static struct capture capture;

static void a_second_post_waits_for_the_first(void **state)
{
	int32_t send[FAR_WHOLE], recv[FAR_WHOLE];
	qo_request_t first, second;
	struct qo_status status;
	qo_op_t op;

	(void)state;
	far_join(NULL, NULL);
	op = far_block_op(send, recv);
	assert_int_equal(qo_post(op, &first), 0);
	assert_int_equal(qo_post(op, &second), -EBUSY);
	assert_int_equal(qo_op_destroy(op), -EBUSY);
	/* Its end is seen by the post, too. */
	far_serve();
	assert_int_equal(qo_post(op, &second), 0);
	assert_int_equal(qo_test(first, &status), -EBADF);
	far_serve();
	assert_int_equal(qo_wait(second, QO_NO_DEADLINE, &status), 0);
	assert_int_equal(qo_op_destroy(op), 0);
}

static void a_failure_names_its_rank_and_stays(void **state)
{
	int32_t send[FAR_WHOLE], recv[FAR_WHOLE];
	struct qoi_command command;
	struct qo_status status;
	qo_request_t request;
	qo_op_t op;

	(void)state;
	far_join("QO_AGENT_MEMORY=stage", NULL);
	op = far_block_op(send, recv);
	far_values_fill(recv, 7);
	assert_int_equal(qo_post(op, &request), 0);
	assert_int_equal(fake_agent_take(&fake, &command), 1);
	fake_agent_complete(&fake, command.generation,
			    (uint64_t)QO_FAILED | ECONNRESET << 8 | 5 << 16);
	assert_int_equal(qo_wait(request, QO_NO_DEADLINE, &status), 0);
	assert_int_equal(status.state, QO_FAILED);
	assert_int_equal(status.error, -ECONNRESET);
	assert_int_equal(status.rank, 5);
	for (int i = 0; i < FAR_WHOLE; i++)
		assert_int_equal(recv[i], 7 + i);
	assert_int_equal(qo_post(op, &request), -ECONNRESET);
	assert_non_null(strstr(qo_error_detail(), "rank 5"));
	assert_int_equal(qo_op_destroy(op), 0);
}

/* Ends within 5 s, or the test fails. */
static int wait_bounded(qo_request_t request, struct qo_status *status)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return qo_wait(request,
		       (now.tv_sec + 5) * INT64_C(1000000000) + now.tv_nsec,
		       status);
}

static void a_lost_daemon_ends_what_is_pending(void **state)
{
	int32_t send[FAR_WHOLE], recv[FAR_WHOLE];
	struct qo_agent_info info = QO_AGENT_INFO_INIT;
	struct qo_status status;
	qo_request_t request;
	qo_op_t op;

	(void)state;
	far_join(NULL, NULL);
	op = far_block_op(send, recv);
	assert_int_equal(qo_post(op, &request), 0);
	capture_start(&capture);
	fake_agent_stop(&fake);
	assert_int_equal(wait_bounded(request, &status), 0);
	capture_stop(&capture);
	assert_int_equal(status.state, QO_FAILED);
	assert_int_equal(status.error, -ECONNABORTED);
	assert_int_equal(status.rank, QO_RANK_NONE);
	assert_int_equal(qo_post(op, &request), -ECONNABORTED);
	assert_string_equal(qo_error_detail(),
			    "qo_post: the operation failed before: agent lost");
	assert_int_equal(qo_agent_query(context, &info), 0);
	assert_int_equal(info.kind, QO_AGENT_PROCESS);
	assert_int_equal(info.agent_lost, 1);
	assert_int_equal(qo_op_destroy(op), 0);
}

static void what_ended_before_the_daemon_did_is_done(void **state)
{
	int32_t send[FAR_WHOLE], recv[FAR_WHOLE];
	struct qo_status status;
	qo_request_t request;
	qo_op_t op;

	(void)state;
	far_join(NULL, NULL);
	op = far_block_op(send, recv);
	far_values_fill(send, 1);
	far_values_fill(recv, 2);
	assert_int_equal(qo_post(op, &request), 0);
	far_serve();
	capture_start(&capture);
	fake_agent_stop(&fake);
	assert_int_equal(wait_bounded(request, &status), 0);
	assert_int_equal(status.state, QO_DONE);
	far_values_expect(recv, 1, 2);
	/* The next one is refused as soon as the loss is known. */
	for (int i = 0; i < 5000 && qo_post(op, &request) == 0; i++) {
		assert_int_equal(wait_bounded(request, &status), 0);
		if (status.state == QO_FAILED)
			break;
	}
	capture_stop(&capture);
	assert_int_equal(qo_post(op, &request), -ECONNABORTED);
	assert_int_equal(qo_op_destroy(op), 0);
}

static void full_lanes_refuse_a_post_and_take_nothing(void **state)
{
	static qo_op_t ops[300];
	qo_request_t request, refused;
	struct qoi_command command;
	struct qo_status status;
	int posted = 0;

	(void)state;
	far_join("QO_AGENT_LANES=1", NULL);
	for (int i = 0; i < 300; i++)
		assert_int_equal(qo_barrier_init(team, &ops[i]), 0);
	while (qo_post(ops[posted], &request) == 0) {
		posted++;
		assert_true(posted < 300);
	}
	assert_int_equal(qo_post(ops[posted], &refused), -EAGAIN);
	/* One command less, and it goes. */
	assert_int_equal(fake_agent_take(&fake, &command), 1);
	assert_int_equal(qo_post(ops[posted], &request), 0);
	assert_int_equal(qo_test(request, &status), 0);
	assert_int_equal(status.state, QO_PENDING);
	capture_start(&capture);
	assert_int_equal(qo_fini(context), -EBUSY);
	capture_stop(&capture);
	context = NULL;
	team = NULL;
	assert_int_equal(fake_agent_heard(&fake, QOI_ATTACH_OP_DROP), 300);
	assert_int_equal(fake_agent_heard(&fake, QOI_ATTACH_BYE), 1);
}

static void the_end_waits_for_what_the_daemon_still_does(void **state)
{
	int32_t send[FAR_WHOLE], recv[FAR_WHOLE];
	qo_request_t request;
	qo_op_t op;

	(void)state;
	far_join(NULL, NULL);
	op = far_block_op(send, recv);
	assert_int_equal(qo_post(op, &request), 0);
	capture_start(&capture);
	/* Nobody ends it: reported, and the operation is taken back. */
	assert_int_equal(qo_fini(context), -EBUSY);
	capture_stop(&capture);
	context = NULL;
	team = NULL;
	assert_non_null(strstr(capture.text, "QO_FINI_TIMEOUT"));
	assert_int_equal(fake_agent_heard(&fake, QOI_ATTACH_OP_DROP), 1);
	assert_int_equal(fake_agent_heard(&fake, QOI_ATTACH_BYE), 1);
}

static void memory_outlives_its_context(void **state)
{
	void *address;
	qo_mem_t mem;

	(void)state;
	far_join(NULL, NULL);
	assert_int_equal(qo_mem_alloc(context, 100, &address, &mem), 0);
	assert_int_equal(qo_team_destroy(team), 0);
	team = NULL;
	assert_int_equal(qo_fini(context), 0);
	context = NULL;
	memset(address, 1, 100);
	assert_int_equal(qo_mem_release(mem), 0);
}

/* Takes the one post, waits until its waiter sleeps, and wakes it. */
static void *serve_a_sleeper(void *arg)
{
	struct qoi_bell *bell = fake_agent_bell(&fake);
	struct qoi_command command;

	(void)arg;
	if (!fake_agent_take(&fake, &command))
		return NULL;
	while (qoi_observe32(&bell->waiters) == 0)
		sched_yield();
	fake_agent_copy(&fake);
	fake_agent_complete(&fake, command.generation, QO_DONE);
	if ((qoi_bell_wanted(bell, QOI_BELL_AGENT_DATA) &
	     QOI_BELL_WAKE_WAITERS) != 0)
		qoi_bell_ring_waiters(bell);
	return NULL;
}

static void sleep_and_be_woken(const char *provider)
{
	int32_t send[FAR_WHOLE], recv[FAR_WHOLE];
	struct qo_status status;
	qo_request_t request;
	pthread_t server;
	qo_op_t op;

	far_join("QO_WAIT_YIELD_NS=0", provider);
	op = far_block_op(send, recv);
	far_values_fill(send, 1);
	far_values_fill(recv, 2);
	assert_int_equal(pthread_create(&server, NULL, serve_a_sleeper, NULL),
			 0);
	assert_int_equal(qo_post(op, &request), 0);
	assert_int_equal(wait_bounded(request, &status), 0);
	pthread_join(server, NULL);
	assert_int_equal(status.state, QO_DONE);
	far_values_expect(recv, 1, 2);
	assert_int_equal(qo_op_destroy(op), 0);
}

static void who_sleeps_is_woken_by_the_bell_that_peers_ring(void **state)
{
	(void)state;
	sleep_and_be_woken("QO_PROVIDER=self,shm");
	assert_non_null(fake.page.base);
}

static void who_has_no_peers_is_woken_by_the_segments_bell(void **state)
{
	(void)state;
	sleep_and_be_woken("QO_PROVIDER=self");
	assert_null(fake.page.base);
}

static int child_of_fork(qo_op_t op)
{
	qo_request_t request;

	if (qo_post(op, &request) != -EPERM ||
	    strstr(qo_error_detail(), "fork") == NULL)
		return 1;
	return 0;
}

static void a_forked_child_posts_nothing(void **state)
{
	int32_t send[FAR_WHOLE], recv[FAR_WHOLE];
	struct qo_status status;
	qo_request_t request;
	int result;
	qo_op_t op;
	pid_t pid;

	(void)state;
	far_join(NULL, NULL);
	op = far_block_op(send, recv);
	pid = fork();
	if (pid == 0)
		_exit(child_of_fork(op));
	assert_int_equal(waitpid(pid, &result, 0), pid);
	assert_int_equal(result, 0);
	assert_int_equal(qo_post(op, &request), 0);
	far_serve();
	assert_int_equal(qo_wait(request, QO_NO_DEADLINE, &status), 0);
	assert_int_equal(qo_op_destroy(op), 0);
}

#define TEST(function)                                                         \
	cmocka_unit_test_setup_teardown(function, far_setup, far_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_second_post_waits_for_the_first),
		TEST(a_failure_names_its_rank_and_stays),
		TEST(a_lost_daemon_ends_what_is_pending),
		TEST(what_ended_before_the_daemon_did_is_done),
		TEST(full_lanes_refuse_a_post_and_take_nothing),
		TEST(the_end_waits_for_what_the_daemon_still_does),
		TEST(memory_outlives_its_context),
		TEST(who_sleeps_is_woken_by_the_bell_that_peers_ring),
		TEST(who_has_no_peers_is_woken_by_the_segments_bell),
		TEST(a_forked_child_posts_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
