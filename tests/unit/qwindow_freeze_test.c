/* SPDX-License-Identifier: BSD-3-Clause */
/* Each case runs in a process of its own, which is the one that is stopped:
 * a shell that started the test sees nothing of it. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "examples/qwindow/clock.h"
#include "examples/qwindow/freeze.h"

#define SPINNERS 2
#define FROZEN_NS INT64_C(50000000)
#define LIMIT_S 30

/* Looks at the clock all the time; begin and end of the longest gap. */
struct spinner {
	pthread_t thread;
	int stop;    /* end of a pipe that hangs up */
	int started; /* end of another, for one byte */
	int64_t gap_begin_ns;
	int64_t gap_end_ns;
};

static void *spin(void *arg)
{
	struct spinner *spinner = arg;
	int64_t last_ns = clock_now_ns();
	ssize_t got;
	char byte;

	if (write(spinner->started, "", 1) != 1)
		return NULL;
	do {
		int64_t now_ns;

		got = read(spinner->stop, &byte, 1);
		now_ns = clock_now_ns();
		if (now_ns - last_ns >
		    spinner->gap_end_ns - spinner->gap_begin_ns) {
			spinner->gap_begin_ns = last_ns;
			spinner->gap_end_ns = now_ns;
		}
		last_ns = now_ns;
	} while (got != 0);
	return NULL;
}

/* Runs the case in a child; its exit status, or minus the signal. */
static int in_child(int (*run)(void))
{
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		alarm(LIMIT_S);
		_exit(run());
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int start_spinners(struct spinner *spinners, int stop)
{
	int ends[2];
	char byte;

	if (pipe(ends) != 0 || fcntl(stop, F_SETFL, O_NONBLOCK) != 0)
		return -1;
	for (int i = 0; i < SPINNERS; i++) {
		spinners[i].stop = stop;
		spinners[i].started = ends[1];
		if (pthread_create(&spinners[i].thread, NULL, spin,
				   &spinners[i]) != 0 ||
		    read(ends[0], &byte, 1) != 1)
			return -1;
	}
	return 0;
}

static int threads_stand_still(void)
{
	struct spinner spinners[SPINNERS] = { { 0 } };
	struct freeze freeze = { .duration_ns = FROZEN_NS };
	int ends[2];

	if (freeze_open(&freeze) != 0 || pipe(ends) != 0)
		return 10;
	if (start_spinners(spinners, ends[0]) != 0)
		return 11;
	if (freeze_now(&freeze) != 0)
		return 13;
	close(ends[1]);
	for (int i = 0; i < SPINNERS; i++)
		pthread_join(spinners[i].thread, NULL);
	freeze_close(&freeze);
	if (freeze.end_ns - freeze.begin_ns < FROZEN_NS)
		return 14;
	for (int i = 0; i < SPINNERS; i++) {
		if (spinners[i].gap_begin_ns > freeze.begin_ns ||
		    spinners[i].gap_end_ns < freeze.end_ns)
			return 15;
	}
	return 0;
}

static void all_threads_stand_still_for_as_long_as_told(void **state)
{
	(void)state;
	assert_int_equal(in_child(threads_stand_still), 0);
}

static int no_child_is_left(void)
{
	return waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD;
}

static int helper_is_not_needed(void)
{
	struct freeze freeze = { .duration_ns = FROZEN_NS };

	if (freeze_open(&freeze) != 0 || no_child_is_left())
		return 10;
	freeze_close(&freeze);
	freeze_close(&freeze);
	return no_child_is_left() && freeze.begin_ns == 0 ? 0 : 11;
}

static void a_helper_that_was_not_needed_is_reaped(void **state)
{
	(void)state;
	assert_int_equal(in_child(helper_is_not_needed), 0);
}

static int rank_dies(void)
{
	struct freeze freeze = { .duration_ns = FROZEN_NS };

	if (freeze_open(&freeze) != 0)
		return 10;
	kill(getpid(), SIGKILL);
	return 11;
}

/* The helper inherits a pipe: it hangs up once the helper is gone as well. */
static void a_helper_leaves_when_its_rank_dies(void **state)
{
	int ends[2];
	char byte;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(in_child(rank_dies), -SIGKILL);
	close(ends[1]);
	alarm(LIMIT_S);
	assert_int_equal(read(ends[0], &byte, 1), 0);
	alarm(0);
	close(ends[0]);
}

static int helper_dies(void)
{
	struct freeze freeze = { .duration_ns = FROZEN_NS };

	if (freeze_open(&freeze) != 0)
		return 10;
	kill(freeze.helper, SIGKILL);
	if (freeze_now(&freeze) != -EIO)
		return 11;
	freeze_close(&freeze);
	return no_child_is_left() ? 0 : 12;
}

static void a_helper_that_died_is_an_error(void **state)
{
	(void)state;
	assert_int_equal(in_child(helper_dies), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_threads_stand_still_for_as_long_as_told),
		cmocka_unit_test(a_helper_that_was_not_needed_is_reaped),
		cmocka_unit_test(a_helper_leaves_when_its_rank_dies),
		cmocka_unit_test(a_helper_that_died_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
