/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "examples/qwindow/pace.h"
#include "examples/qwindow/stats.h"

static void percentiles_are_within_an_eighth(void **state)
{
	struct stats stats = { 0 };

	(void)state;
	for (uint64_t ns = 1; ns <= 100000; ns++)
		stats_add(&stats, ns);
	assert_float_equal(50000.5, stats_mean(&stats), 0.001);
	assert_in_range(stats_percentile(&stats, 0.5), 50000, 56250);
	assert_in_range(stats_percentile(&stats, 0.99), 99000, 100000);
	assert_int_equal(100000, stats_percentile(&stats, 1));
	assert_in_range(stats_percentile(&stats, 0.00001), 1, 1);
}

static void the_longest_time_has_a_bin(void **state)
{
	struct stats stats = { 0 };

	(void)state;
	stats_add(&stats, UINT64_MAX);
	stats_add(&stats, 0);
	assert_int_equal(UINT64_MAX, stats_percentile(&stats, 1));
	assert_int_equal(0, stats_percentile(&stats, 0.5));
}

static void nothing_counted_is_zero(void **state)
{
	struct stats stats = { 0 };

	(void)state;
	assert_int_equal(0, stats_percentile(&stats, 0.99));
	assert_float_equal(0, stats_mean(&stats), 0);
}

static void a_frame_after_its_time_is_a_miss(void **state)
{
	struct pace pace = {
		.round_ns = 1000,
		.period_ns = 15000,
		.periods_allowed = 1,
	};

	(void)state;
	pace_start(&pace);
	pace.start_ns -= 40000; /* 40 rounds are measured */
	pace_wait(&pace, 10);
	assert_in_range(pace.backlog_last_ns, 30000, 1000000000);
	pace_done(&pace, 10);
	assert_int_equal(1, pace.misses);
	pace.start_ns += 1000000000;
	pace_done(&pace, 10);
	assert_int_equal(1, pace.misses);
	assert_int_equal(2, pace.steps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(percentiles_are_within_an_eighth),
		cmocka_unit_test(the_longest_time_has_a_bin),
		cmocka_unit_test(nothing_counted_is_zero),
		cmocka_unit_test(a_frame_after_its_time_is_a_miss),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
