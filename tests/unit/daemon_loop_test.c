/* SPDX-License-Identifier: BSD-3-Clause */
/* How the daemon sleeps, is woken, and comes to its end. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "libqoffload/base/clock.h"
#include "libqoffload/base/config.h"
#include "libqoffload/coll/schedule.h"
#include "tests/unit/daemon_fixture.h"

#define LIMIT_MS 20000

static int64_t test_now_ns;

static int64_t test_clock(void *arg)
{
	(void)arg;
	return test_now_ns;
}

static const struct qoi_layout_attach_page *page_of(struct raw_client *client)
{
	return (const void *)client->segment.base;
}

/* An operation of a team of one that does nothing but end. */
static void add_empty_op(struct raw_client *client)
{
	static const struct qoi_step step = { .kind = QOI_STEP_COPY,
					      .from = QOI_BUFFER_SEND,
					      .to = QOI_BUFFER_RECV };
	const struct qoi_layout_attach_op ask = { .team = client->token,
						  .count = 1,
						  .stage_count = 1,
						  .step_count = 1 };

	assert_int_equal(client_told(client, QOI_ATTACH_OP_ADD, &ask,
				     sizeof(ask), raw_steps(&step, 1)),
			 0);
}

static int has_ended(struct raw_client *client, uint32_t generation)
{
	uint64_t word;

	return qoi_attach_completed(
		qoi_attach_completion(&client->places, client->segment.base, 0),
		generation, &word);
}

static void a_timeout_ends_a_sleep_that_nobody_sees(void **state)
{
	struct raw_client clients[2], guest;

	(void)state;
	client_attach(&clients[0], "job");
	client_attach(&clients[1], "job");
	assert_int_equal(raw_open_observer(&guest, target_name), 0);
	target_settle();
	qoi_daemon_cycle(target);
	/* It would sleep for ever, did the timeout not end it. */
	qoi_daemon_block(target, 1);
	assert_int_equal(page_of(&clients[0])->asleep, 0);
	assert_int_equal(page_of(&clients[1])->asleep, 0);
	assert_int_equal(target->counts.wakes, 0);
	raw_close(&guest);
	client_leave(&clients[0]);
	client_leave(&clients[1]);
}

static void a_command_before_the_sleep_is_not_slept_over(void **state)
{
	struct raw_client client;

	(void)state;
	client_attach(&client, "job");
	add_empty_op(&client);
	assert_int_equal(raw_post(&client, 0, 0, 1), 0);
	qoi_daemon_block(target, -1);
	target_run();
	assert_true(has_ended(&client, 1));
	client_leave(&client);
}

struct loop {
	pthread_t thread;
	int stop_fd;
};

static void *loop_main(void *arg)
{
	struct loop *loop = arg;

	qoi_daemon_run(target, loop->stop_fd);
	return NULL;
}

static void loop_start(struct loop *loop)
{
	loop->stop_fd = eventfd(0, EFD_CLOEXEC);
	assert_true(loop->stop_fd >= 0);
	assert_int_equal(pthread_create(&loop->thread, NULL, loop_main, loop),
			 0);
}

static void loop_stop(struct loop *loop)
{
	const uint64_t one = 1;

	assert_int_equal(write(loop->stop_fd, &one, 8), 8);
	pthread_join(loop->thread, NULL);
	close(loop->stop_fd);
}

/* What its thread has used of a core. */
static int64_t cpu_ns(const struct loop *loop)
{
	struct timespec used;
	clockid_t clock;

	assert_int_equal(pthread_getcpuclockid(loop->thread, &clock), 0);
	assert_int_equal(clock_gettime(clock, &used), 0);
	return used.tv_sec * QOI_NS_PER_S + used.tv_nsec;
}

/* Polls a condition, within the limit. */
#define WAIT_FOR(condition)                                                    \
	do {                                                                   \
		int64_t end_ns = qoi_clock_ns() + LIMIT_MS * QOI_NS_PER_MS;    \
		while (!(condition)) {                                         \
			assert_true(qoi_clock_ns() < end_ns);                  \
			sched_yield();                                         \
		}                                                              \
	} while (0)

static void commands_wake_it_again_and_again(void **state)
{
	struct raw_client client;
	struct loop loop;

	(void)state;
	client_attach(&client, "job");
	add_empty_op(&client);
	loop_start(&loop);
	for (uint32_t i = 1; i <= 2000; i++) {
		/* Often asleep, often on its way to sleep. */
		if (i % 2 == 0)
			WAIT_FOR(qoi_own32(&page_of(&client)->asleep) == 1);
		assert_int_equal(raw_post(&client, i % 2, 0, i), 0);
		WAIT_FOR(has_ended(&client, i));
	}
	loop_stop(&loop);
	assert_true(target->counts.wakes > 0);
	assert_int_equal(target->counts.posts, 2000);
	assert_int_equal(target->counts.completions, 2000);
	client_leave(&client);
}

static void an_idle_daemon_is_never_awake(void **state)
{
	struct raw_client clients[16];
	struct pollfd nothing = { .fd = -1 };
	struct loop loop;
	int64_t before_ns;

	(void)state;
	for (int i = 0; i < 16; i++)
		client_attach(&clients[i], "job");
	target_run();
	target->params.idle = QOI_CONFIG_IDLE_ADAPTIVE;
	target->params.spin_ns = 20000;
	target->params.yield_ns = 50000;
	loop_start(&loop);
	for (int i = 0; i < 16; i++)
		WAIT_FOR(qoi_own32(&page_of(&clients[i])->asleep) == 1);
	before_ns = cpu_ns(&loop);
	/* A time in which any timer of its own would show. */
	poll(&nothing, 1, 300);
	assert_true(cpu_ns(&loop) - before_ns < QOI_NS_PER_MS);
	loop_stop(&loop);
	for (int i = 0; i < 16; i++)
		client_leave(&clients[i]);
}

static void every_strategy_serves(void **state)
{
	static const int strategies[] = { QOI_CONFIG_IDLE_SPIN,
					  QOI_CONFIG_IDLE_YIELD,
					  QOI_CONFIG_IDLE_BLOCK,
					  QOI_CONFIG_IDLE_ADAPTIVE };

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct qoi_attach_message answer;
		struct raw_client client, other;
		struct loop loop;

		target->params.idle = strategies[i];
		client_attach(&client, "job");
		add_empty_op(&client);
		loop_start(&loop);
		for (uint32_t post = 1; post <= 50; post++) {
			assert_int_equal(raw_post(&client, 0, 0, post), 0);
			WAIT_FOR(has_ended(&client, post));
		}
		/* A socket is seen as well. */
		assert_int_equal(raw_open(&other, target_name, "job"), 0);
		assert_int_equal(raw_hello(&other, -1), 0);
		WAIT_FOR(raw_welcomed(&other, &answer) == 0);
		loop_stop(&loop);
		raw_close(&other);
		raw_close(&client);
		qoi_daemon_close(target);
		target = NULL;
		if (i < 3)
			assert_int_equal(
				qoi_daemon_open(&target_params, &target), 0);
	}
}

static int open_private(void **state)
{
	target_params.private = 1;
	target_params.grace_ns = 10 * (uint64_t)QOI_NS_PER_S;
	test_now_ns = QOI_NS_PER_S;
	qoi_clock_set_source(test_clock, NULL);
	return target_open(state);
}

static int close_private(void **state)
{
	qoi_clock_set_source(NULL, NULL);
	return target_close(state);
}

static void a_private_one_waits_for_its_first_client(void **state)
{
	struct raw_client client;

	(void)state;
	assert_false(qoi_daemon_over(target));
	test_now_ns += 9 * QOI_NS_PER_S;
	assert_false(qoi_daemon_over(target));
	client_attach(&client, "job");
	test_now_ns += 100 * QOI_NS_PER_S;
	assert_false(qoi_daemon_over(target));
	client_leave(&client);
	target_settle();
	assert_true(qoi_daemon_over(target));
}

static void a_private_one_without_clients_gives_up(void **state)
{
	(void)state;
	test_now_ns += 10 * QOI_NS_PER_S;
	assert_true(qoi_daemon_over(target));
	/* Its loop ends by itself. */
	qoi_daemon_run(target, -1);
}

static void who_is_at_the_door_holds_a_private_one_for_a_while(void **state)
{
	struct raw_client client, guest, observer;
	struct qoi_attach_message answer;

	(void)state;
	client_attach(&client, "job");
	assert_int_equal(raw_open_observer(&guest, target_name), 0);
	assert_int_equal(raw_open_observer(&observer, target_name), 0);
	raw_hello(&observer, -1);
	client_leave(&client);
	target_settle();
	assert_int_equal(raw_welcomed(&observer, &answer), 0);
	assert_false(qoi_daemon_over(target));
	test_now_ns += 10 * QOI_NS_PER_S;
	assert_true(qoi_daemon_over(target));
	test_now_ns -= 10 * QOI_NS_PER_S;
	/* Who only looks on does not. */
	raw_close(&guest);
	target_settle();
	assert_true(qoi_daemon_over(target));
	raw_close(&observer);
}

static void a_drain_has_an_end(void **state)
{
	struct raw_client client;

	(void)state;
	target->params.drain_ns = 3 * (uint64_t)QOI_NS_PER_S;
	client_attach(&client, "job");
	target->pending = 1;
	qoi_daemon_stop(target);
	qoi_daemon_stop(target);
	test_now_ns += 2 * QOI_NS_PER_S;
	assert_false(qoi_daemon_over(target));
	test_now_ns += QOI_NS_PER_S;
	assert_true(qoi_daemon_over(target));
	target->pending = 0;
	raw_close(&client);
}

static int is_at_the_door(void)
{
	struct raw_client visitor;

	if (raw_open_observer(&visitor, target_name) != 0)
		return 0;
	raw_close(&visitor);
	return 1;
}

static void a_second_order_to_stop_ends_the_drain(void **state)
{
	const uint64_t one = 1;
	struct raw_client client;
	struct loop loop;

	(void)state;
	target->params.drain_ns = 3600 * (uint64_t)QOI_NS_PER_S;
	client_attach(&client, "job");
	target->pending = 1;
	loop_start(&loop);
	assert_int_equal(write(loop.stop_fd, &one, 8), 8);
	WAIT_FOR(!is_at_the_door());
	loop_stop(&loop);
	target->pending = 0;
	qoi_daemon_close(target);
	target = NULL;
	assert_true(is_hung_up(client.fd));
	raw_close(&client);
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, target_open, target_close)
#define TEST_PRIVATE(name)                                                     \
	cmocka_unit_test_setup_teardown(name, open_private, close_private)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_timeout_ends_a_sleep_that_nobody_sees),
		TEST(a_command_before_the_sleep_is_not_slept_over),
		TEST(commands_wake_it_again_and_again),
		TEST(an_idle_daemon_is_never_awake),
		TEST(every_strategy_serves),
		TEST(a_second_order_to_stop_ends_the_drain),
		TEST_PRIVATE(a_private_one_waits_for_its_first_client),
		TEST_PRIVATE(a_private_one_without_clients_gives_up),
		TEST_PRIVATE(who_is_at_the_door_holds_a_private_one_for_a_while),
		TEST_PRIVATE(a_drain_has_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
