/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <time.h>

#include "libqoffload/base/clock.h"

static int64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * QOI_NS_PER_S + now.tv_nsec;
}

static void the_clock_is_the_monotonic_one(void **state)
{
	int64_t before = monotonic_ns();
	int64_t now = qoi_clock_ns();
	int64_t after = monotonic_ns();

	(void)state;
	assert_true(before <= now);
	assert_true(now <= after);
}

static int64_t step(void *arg)
{
	return *(int64_t *)arg += 5;
}

static void a_test_can_give_its_own_time_and_take_it_back(void **state)
{
	int64_t time_ns = 100;

	(void)state;
	qoi_clock_set_source(step, &time_ns);
	assert_true(qoi_clock_ns() == 105);
	assert_true(qoi_clock_ns() == 110);
	qoi_clock_set_source(NULL, NULL);
	assert_true(qoi_clock_ns() != 115);
	assert_true(time_ns == 110);
}

static void a_deadline_that_does_not_fit_never_comes(void **state)
{
	(void)state;
	assert_true(qoi_clock_after(10, 5) == 15);
	assert_true(qoi_clock_after(-10, 5) == -5);
	assert_true(qoi_clock_after(10, UINT64_MAX) == QOI_CLOCK_NEVER);
	assert_true(qoi_clock_after(10, INT64_MAX) == QOI_CLOCK_NEVER);
	assert_true(qoi_clock_after(QOI_CLOCK_NEVER, 1) == QOI_CLOCK_NEVER);
	assert_true(qoi_clock_after(QOI_CLOCK_NEVER - 2, 1) ==
		    QOI_CLOCK_NEVER - 1);
	assert_true(qoi_clock_after(0, 0) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_clock_is_the_monotonic_one),
		cmocka_unit_test(a_test_can_give_its_own_time_and_take_it_back),
		cmocka_unit_test(a_deadline_that_does_not_fit_never_comes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
