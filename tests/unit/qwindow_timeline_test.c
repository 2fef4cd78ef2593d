/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "examples/qwindow/timeline.h"

static void what_ended_in_between_is_counted(void **state)
{
	struct timeline timeline = { 0 };

	(void)state;
	timeline_add(&timeline, 10, 19);
	timeline_add(&timeline, 15, 20);
	timeline_add(&timeline, 21, 29);
	timeline_add(&timeline, 25, 30);
	assert_int_equal(timeline_ended(&timeline, 20, 30), 2);
	assert_int_equal(timeline_ended(&timeline, 0, 100), 4);
	assert_int_equal(timeline_ended(&timeline, 31, 100), 0);
	timeline_release(&timeline);
}

static void the_longest_that_was_under_way_is_found(void **state)
{
	struct timeline timeline = { 0 };

	(void)state;
	timeline_add(&timeline, 0, 19);	  /* over before */
	timeline_add(&timeline, 18, 21);  /* 3, from before */
	timeline_add(&timeline, 29, 36);  /* 7, to beyond */
	timeline_add(&timeline, 30, 100); /* begun afterwards */
	assert_int_equal(timeline_longest(&timeline, 20, 30), 7);
	assert_int_equal(timeline_longest(&timeline, 22, 28), 0);
	timeline_add(&timeline, 10, 90); /* 80, all the time */
	assert_int_equal(timeline_longest(&timeline, 22, 28), 80);
	timeline_release(&timeline);
}

static void many_are_kept_and_none_without_a_timeline(void **state)
{
	struct timeline timeline = { 0 };

	(void)state;
	for (int64_t i = 0; i < 20000; i++)
		timeline_add(&timeline, i, i + 1);
	assert_int_equal(timeline_ended(&timeline, 1, 20001), 20000);
	assert_int_equal(timeline.lost, 0);
	timeline_release(&timeline);
	assert_int_equal(timeline.count, 0);
	timeline_add(NULL, 1, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_ended_in_between_is_counted),
		cmocka_unit_test(the_longest_that_was_under_way_is_found),
		cmocka_unit_test(many_are_kept_and_none_without_a_timeline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
