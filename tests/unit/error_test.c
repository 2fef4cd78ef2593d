/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "libqoffload/base/error.h"
#include "tests/unit/capture.h"

static struct capture capture;

static void every_code_of_the_map_has_its_own_text(void **state)
{
	(void)state;
#define CHECK(name, text) assert_string_equal(qo_error_string(-name), text);
	QO_ERROR_MAP(CHECK)
#undef CHECK
	assert_string_equal(qo_error_string(0), "success");
}

static void an_unknown_or_positive_code_is_said_to_be_unknown(void **state)
{
	(void)state;
	assert_string_equal(qo_error_string(-99999), "unknown error");
	assert_string_equal(qo_error_string(EINVAL), "unknown error");
	assert_string_equal(qo_error_string(INT32_MIN), "unknown error");
}

static void a_failure_returns_its_code_and_keeps_and_logs_its_text(void **state)
{
	int code;

	(void)state;
	capture_start(&capture);
	code = qoi_fail(-EINVAL, "edge %d is odd", 7);
	capture_stop(&capture);
	assert_int_equal(code, -EINVAL);
	assert_string_equal(qo_error_detail(), "edge 7 is odd");
	assert_string_equal(capture.text, "qo: error edge 7 is odd\n");
}

static void a_quiet_thread_keeps_its_failures_to_itself(void **state)
{
	(void)state;
	capture_start(&capture);
	qoi_error_set_quiet(1);
	assert_int_equal(qoi_fail(-EINVAL, "edge %d is odd", 8), -EINVAL);
	qoi_error_set_quiet(0);
	capture_stop(&capture);
	assert_string_equal(qo_error_detail(), "edge 8 is odd");
	assert_string_equal(capture.text, "");
}

static void a_failure_keeps_errno_and_can_print_it(void **state)
{
	(void)state;
	capture_start(&capture);
	errno = ENOENT;
	qoi_fail(-EIO, "open x: %m");
	assert_int_equal(errno, ENOENT);
	capture_stop(&capture);
	assert_string_equal(qo_error_detail(),
			    "open x: No such file or directory");
}

static void a_detail_may_be_built_from_the_one_before(void **state)
{
	(void)state;
	capture_start(&capture);
	qoi_fail(-EIO, "inner");
	qoi_fail(-EIO, "outer: %s", qo_error_detail());
	capture_stop(&capture);
	assert_string_equal(qo_error_detail(), "outer: inner");
}

static void a_detail_that_is_too_long_is_cut(void **state)
{
	(void)state;
	capture_start(&capture);
	qoi_fail(-EIO, "%01000d", 1);
	capture_stop(&capture);
	assert_int_equal(strlen(qo_error_detail()), QOI_ERROR_DETAIL_BYTES - 1);
}

static void *read_detail_length(void *arg)
{
	*(size_t *)arg = strlen(qo_error_detail());
	return NULL;
}

static void each_thread_has_its_own_detail(void **state)
{
	size_t other_length = 1;
	pthread_t thread;

	(void)state;
	capture_start(&capture);
	qoi_fail(-EIO, "mine");
	capture_stop(&capture);
	pthread_create(&thread, NULL, read_detail_length, &other_length);
	pthread_join(thread, NULL);
	assert_int_equal(other_length, 0);
	assert_string_equal(qo_error_detail(), "mine");
}

static void a_foreign_errno_becomes_one_of_the_map(void **state)
{
	(void)state;
	assert_int_equal(qoi_error_from_errno(ENOMEM), -ENOMEM);
	assert_int_equal(qoi_error_from_errno(EACCES), -EPERM);
	assert_int_equal(qoi_error_from_errno(ENOTTY), -EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_code_of_the_map_has_its_own_text),
		cmocka_unit_test(
			an_unknown_or_positive_code_is_said_to_be_unknown),
		cmocka_unit_test(
			a_failure_returns_its_code_and_keeps_and_logs_its_text),
		cmocka_unit_test(a_quiet_thread_keeps_its_failures_to_itself),
		cmocka_unit_test(a_failure_keeps_errno_and_can_print_it),
		cmocka_unit_test(a_detail_may_be_built_from_the_one_before),
		cmocka_unit_test(a_detail_that_is_too_long_is_cut),
		cmocka_unit_test(each_thread_has_its_own_detail),
		cmocka_unit_test(a_foreign_errno_becomes_one_of_the_map),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
