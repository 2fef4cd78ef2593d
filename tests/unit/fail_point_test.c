/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libqoffload/base/fail_point.h"

#define PASSES 5

/* Passes two points in turn; its status is how often it passed both. */
static void child_passes(const char *setting)
{
	setenv("QO_TEST_FAIL_POINT", setting, 1);
	for (int i = 0; i < PASSES; i++) {
		QOI_FAIL_POINT("one");
		QOI_FAIL_POINT("two");
	}
	_exit(10 + PASSES);
}

static int status_of(const char *setting)
{
	int status = -1;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0)
		child_passes(setting);
	assert_int_equal(waitpid(child, &status, WUNTRACED), child);
	if (WIFSTOPPED(status)) {
		kill(child, SIGCONT);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFEXITED(status));
		return 1000 + WEXITSTATUS(status);
	}
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static void need_hooks(void)
{
#ifndef QO_DEBUG_HOOKS
	print_message("built without --enable-debug-hooks\n");
	skip();
#endif
}

static void nothing_happens_where_nothing_is_set(void **state)
{
	(void)state;
	assert_int_equal(status_of(""), 10 + PASSES);
	assert_int_equal(status_of("three"), 10 + PASSES);
}

static void a_point_kills_the_process_at_its_count(void **state)
{
	(void)state;
	need_hooks();
	assert_int_equal(status_of("one"), -SIGKILL);
	assert_int_equal(status_of("two:5"), -SIGKILL);
	assert_int_equal(status_of("two:5:kill"), -SIGKILL);
	assert_int_equal(status_of("two:6"), 10 + PASSES);
}

static void a_point_stops_the_process_once(void **state)
{
	(void)state;
	need_hooks();
	assert_int_equal(status_of("one:2:stop"), 1000 + 10 + PASSES);
}

static void a_point_exits(void **state)
{
	(void)state;
	need_hooks();
	assert_int_equal(status_of("two:3:exit"), EXIT_FAILURE);
}

static void a_setting_that_is_wrong_ends_the_process(void **state)
{
	(void)state;
	need_hooks();
	assert_int_equal(status_of(":1"), -SIGABRT);
	assert_int_equal(status_of("one:0"), -SIGABRT);
	assert_int_equal(status_of("one:x"), -SIGABRT);
	assert_int_equal(status_of("one:1:explode"), -SIGABRT);
	assert_int_equal(status_of("one:1x"), -SIGABRT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_happens_where_nothing_is_set),
		cmocka_unit_test(a_point_kills_the_process_at_its_count),
		cmocka_unit_test(a_point_stops_the_process_once),
		cmocka_unit_test(a_point_exits),
		cmocka_unit_test(a_setting_that_is_wrong_ends_the_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
