/* SPDX-License-Identifier: BSD-3-Clause */
/* The sudden end of one of two processes. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libqoffload/base/clock.h"
#include "tests/unit/provider_side.h"

#define DELAY_MS 30

static const struct qo_control_tag other_tag = { 1, 1, 0 };

static void die_later(void)
{
	struct timespec delay = { 0, DELAY_MS * 1000000 };

	nanosleep(&delay, NULL);
	raise(SIGKILL);
}

static int die_before_connect(struct side *side)
{
	side_open(side);
	die_later();
	return 1;
}

/* For who waits to be connected to, and for who connects: by chance. */
static void a_peer_that_never_connects_and_dies_is_lost(void **state)
{
	(void)state;
	for (int i = 0; i < 6; i++) {
		int64_t start_ns = qoi_clock_ns();
		struct side side;

		side_start(&side, die_before_connect);
		assert_int_equal(side_open(&side), 0);
		assert_int_equal(side_connect(&side), -ECONNRESET);
		assert_true(qoi_clock_ns() - start_ns < SECOND_NS);
		assert_int_equal(side_finish(&side), 128 + SIGKILL);
	}
}

static void *kill_soon(void *arg)
{
	struct timespec delay = { 0, *(long *)arg };

	nanosleep(&delay, NULL);
	raise(SIGKILL);
	return NULL;
}

static long kill_after_ns;

static int die_in_connect(struct side *side)
{
	pthread_t thread;

	side_open(side);
	pthread_create(&thread, NULL, kill_soon, &kill_after_ns);
	side_connect(side);
	pause();
	return 1;
}

static void a_peer_that_dies_while_it_connects_is_lost(void **state)
{
	int in_time = 0;

	(void)state;
	for (int i = 0; i < 24; i++) {
		int64_t start_ns = qoi_clock_ns();
		struct side side;
		int rc;

		kill_after_ns = 20000L * i;
		side_start(&side, die_in_connect);
		assert_int_equal(side_open(&side), 0);
		rc = side_connect(&side);
		if (rc == 0)
			assert_int_equal(conn_fate(side.conn), -ECONNRESET);
		else
			assert_int_equal(rc, -ECONNRESET);
		in_time += qoi_clock_ns() - start_ns < SECOND_NS;
		assert_int_equal(side_finish(&side), 128 + SIGKILL);
	}
	assert_int_equal(in_time, 24);
}

static int connect_and_die(struct side *side)
{
	if (side_open(side) != 0 || side_connect(side) != 0 ||
	    side_windows(side) != 0)
		return 1;
	die_later();
	return 2;
}

/* Connected, with windows; gives when, so that the end can be timed. */
static int64_t with_a_dying_peer(struct side *side)
{
	side_start(side, connect_and_die);
	assert_int_equal(side_open(side), 0);
	assert_int_equal(side_connect(side), 0);
	assert_int_equal(side_windows(side), 0);
	return qoi_clock_ns();
}

static void expect_soon(struct side *side, int64_t start_ns)
{
	assert_true(qoi_clock_ns() - start_ns < SECOND_NS);
	assert_int_equal(conn_fate(side->conn), -ECONNRESET);
	assert_int_equal(put_word(side->remote, 0, "x", 1, 8, 1), -ECONNRESET);
	/* What was mapped stays so: no signal. */
	memset(side->remote->base, 1, SIDE_WINDOW_BYTES);
	{
		struct qo_conn *conn;

		assert_int_equal(side->ops->connect(side->endpoint, side->address,
						    side->address_bytes,
						    in_ms(5000), &conn),
				 -ECONNRESET);
	}
	assert_int_equal(side_finish(side), 128 + SIGKILL);
}

static void a_peer_that_dies_connected_is_lost(void **state)
{
	struct side side;
	int64_t start_ns = with_a_dying_peer(&side);

	(void)state;
	assert_int_equal(conn_fate(side.conn), -ECONNRESET);
	expect_soon(&side, start_ns);
}

static void a_receiver_learns_it(void **state)
{
	struct side side;
	int64_t start_ns = with_a_dying_peer(&side);
	size_t bytes;

	(void)state;
	assert_int_equal(side.ops->control_recv(side.conn, &other_tag, NULL, 0,
						&bytes, NULL, in_ms(10000)),
			 -ECONNRESET);
	expect_soon(&side, start_ns);
}

static void a_sender_learns_it(void **state)
{
	static const uint8_t data[QO_CONTROL_BYTES_MAX];
	struct side side;
	int64_t start_ns = with_a_dying_peer(&side);
	int rc;

	(void)state;
	do
		rc = side.ops->control_send(side.conn, &other_tag, data,
					    sizeof(data), NULL, in_ms(10000));
	while (rc == 0);
	assert_int_equal(rc, -ECONNRESET);
	expect_soon(&side, start_ns);
}

static void who_puts_learns_it(void **state)
{
	struct side side;
	int64_t start_ns = with_a_dying_peer(&side);
	uint64_t word = 0;
	int rc;

	(void)state;
	do {
		rc = put_word(side.remote, 64, "seam", 4, 8, ++word);
		if (word % 1000 == 0)
			endpoint_poll(side.endpoint);
	} while (rc == 0 && qoi_clock_ns() - start_ns < SECOND_NS);
	assert_int_equal(rc, -ECONNRESET);
	expect_soon(&side, start_ns);
}

static void who_gets_learns_it(void **state)
{
	struct side side;
	int64_t start_ns = with_a_dying_peer(&side);
	uint8_t copy[64];
	int rc = 0;

	(void)state;
	if ((side.conn->flags & QO_CONN_GET) == 0) {
		expect_soon(&side, start_ns);
		skip();
	}
	/* Forked: what is at an address here was there too. */
	while (rc == 0 && qoi_clock_ns() - start_ns < SECOND_NS)
		rc = side.ops->get(side.conn,
				   (uint64_t)(uintptr_t)&kill_after_ns, copy,
				   sizeof(kill_after_ns));
	/* A process that is being torn down has no memory any more. */
	assert_true(rc == -ECONNRESET || rc == -EIO);
	expect_soon(&side, start_ns);
}

static int child_closes;

/* Its child lives on, with all its sockets, or without. */
static int fork_and_die(struct side *side)
{
	pid_t child;

	if (side_open(side) != 0 || side_connect(side) != 0 ||
	    side_windows(side) != 0)
		return 1;
	child = fork();
	if (child == 0) {
		/* It has nothing to say for its parent. */
		if (child_closes)
			side_close(side);
		else
			sleep(2);
		_exit(0);
	}
	if (child_closes)
		waitpid(child, NULL, 0);
	die_later();
	return 2;
}

static void a_peer_with_a_forked_child_is_lost_when_it_dies(void **state)
{
	(void)state;
	for (child_closes = 0; child_closes < 2; child_closes++) {
		struct side side;
		int64_t start_ns;
		size_t bytes;

		side_start(&side, fork_and_die);
		assert_int_equal(side_open(&side), 0);
		assert_int_equal(side_connect(&side), 0);
		assert_int_equal(side_windows(&side), 0);
		start_ns = qoi_clock_ns();
		assert_int_equal(conn_fate(side.conn), -ECONNRESET);
		assert_true(qoi_clock_ns() - start_ns >
			    DELAY_MS * QOI_NS_PER_MS / 2);
		assert_int_equal(side.ops->control_recv(side.conn, &other_tag,
							NULL, 0, &bytes, NULL,
							in_ms(5000)),
				 -ECONNRESET);
		expect_soon(&side, start_ns);
	}
}

static int connect_and_exit(struct side *side)
{
	if (side_open(side) != 0 || side_connect(side) != 0 ||
	    side_windows(side) != 0)
		return 1;
	return 0;
}

static void a_peer_that_exits_without_a_word_is_lost(void **state)
{
	struct side side;

	(void)state;
	side_start(&side, connect_and_exit);
	assert_int_equal(side_open(&side), 0);
	assert_int_equal(side_connect(&side), 0);
	assert_int_equal(side_windows(&side), 0);
	assert_int_equal(conn_fate(side.conn), -ECONNRESET);
	assert_int_equal(side_finish(&side), 0);
}

static int stop_before_connect(struct side *side)
{
	side_open(side);
	raise(SIGSTOP);
	return side_connect(side) == 0 ? 0 : 1;
}

static void a_stopped_peer_is_waited_for_until_the_deadline(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		struct side side;
		struct qo_conn *conn;
		int status;

		side_start(&side, stop_before_connect);
		assert_int_equal(side_open(&side), 0);
		waitpid(side.child, &status, WUNTRACED);
		assert_int_equal(side.ops->connect(side.endpoint, side.address,
						   side.address_bytes,
						   in_ms(30), &conn),
				 -ETIMEDOUT);
		/* It goes on, and all is well. */
		kill(side.child, SIGCONT);
		assert_int_equal(side_connect(&side), 0);
		assert_int_equal(conn_fate(side.conn), -ECONNRESET);
		assert_int_equal(side_finish(&side), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_peer_that_never_connects_and_dies_is_lost),
		cmocka_unit_test(a_peer_that_dies_while_it_connects_is_lost),
		cmocka_unit_test(a_peer_that_dies_connected_is_lost),
		cmocka_unit_test(a_receiver_learns_it),
		cmocka_unit_test(a_sender_learns_it),
		cmocka_unit_test(who_puts_learns_it),
		cmocka_unit_test(who_gets_learns_it),
		cmocka_unit_test(a_peer_with_a_forked_child_is_lost_when_it_dies),
		cmocka_unit_test(a_peer_that_exits_without_a_word_is_lost),
		cmocka_unit_test(a_stopped_peer_is_waited_for_until_the_deadline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
