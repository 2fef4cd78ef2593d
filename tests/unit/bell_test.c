/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "libqoffload/base/clock.h"
#include "libqoffload/shm/atomic.h"
#include "libqoffload/shm/bell.h"

static struct qoi_bell bell;

static int clear_bell(void **state)
{
	(void)state;
	memset(&bell, 0, sizeof(bell));
	return 0;
}

static void nobody_is_woken_while_nobody_sleeps(void **state)
{
	(void)state;
	assert_int_equal(qoi_bell_wanted(&bell, QOI_BELL_AGENT_DATA), 0);
	assert_int_equal(qoi_bell_wanted(&bell, QOI_BELL_AGENT_IDLE), 0);
}

static void a_waiter_is_wanted_from_its_announcement_on(void **state)
{
	(void)state;
	qoi_bell_announce(&bell);
	qoi_bell_announce(&bell);
	assert_int_equal(qoi_bell_wanted(&bell, QOI_BELL_AGENT_DATA),
			 QOI_BELL_WAKE_WAITERS);
	qoi_bell_cancel(&bell);
	assert_int_equal(qoi_bell_wanted(&bell, QOI_BELL_AGENT_DATA),
			 QOI_BELL_WAKE_WAITERS);
	qoi_bell_cancel(&bell);
	assert_int_equal(qoi_bell_wanted(&bell, QOI_BELL_AGENT_DATA), 0);
}

static void the_agent_is_wanted_at_its_level_only(void **state)
{
	(void)state;
	qoi_bell_agent_set(&bell, QOI_BELL_AGENT_IDLE);
	assert_int_equal(qoi_bell_wanted(&bell, QOI_BELL_AGENT_DATA), 0);
	assert_int_equal(qoi_bell_wanted(&bell, QOI_BELL_AGENT_IDLE),
			 QOI_BELL_WAKE_AGENT);
	qoi_bell_agent_set(&bell, QOI_BELL_AGENT_DATA);
	assert_int_equal(qoi_bell_wanted(&bell, QOI_BELL_AGENT_DATA),
			 QOI_BELL_WAKE_AGENT);
	assert_int_equal(qoi_bell_wanted(&bell, QOI_BELL_AGENT_IDLE),
			 QOI_BELL_WAKE_AGENT);
	qoi_bell_agent_set(&bell, QOI_BELL_AGENT_AWAKE);
	assert_int_equal(qoi_bell_wanted(&bell, QOI_BELL_AGENT_IDLE), 0);
}

static void a_ring_before_the_sleep_is_not_lost(void **state)
{
	uint32_t sequence = qoi_bell_announce(&bell);

	(void)state;
	qoi_bell_ring_waiters(&bell);
	assert_int_equal(qoi_bell_sleep(&bell, sequence, QOI_CLOCK_NEVER), 0);
	assert_int_equal(bell.waiters, 0);
	assert_int_equal(bell.sequence, 1);
}

static void a_sleep_ends_at_its_deadline(void **state)
{
	int64_t deadline = qoi_clock_ns() + QOI_NS_PER_MS;
	uint32_t sequence = qoi_bell_announce(&bell);

	(void)state;
	assert_int_equal(qoi_bell_sleep(&bell, sequence, deadline), -ETIMEDOUT);
	assert_true(qoi_clock_ns() >= deadline);
	assert_int_equal(bell.waiters, 0);
}

static void a_deadline_in_the_past_does_not_sleep(void **state)
{
	static const int64_t past[] = { INT64_MIN, -1, 0, 1 };
	int i;

	(void)state;
	for (i = 0; i < 4; i++) {
		uint32_t sequence = qoi_bell_announce(&bell);

		assert_int_equal(qoi_bell_sleep(&bell, sequence, past[i]),
				 -ETIMEDOUT);
	}
}

static void *sleep_on_bell(void *result)
{
	uint32_t sequence = qoi_bell_announce(&bell);

	*(int *)result = qoi_bell_sleep(&bell, sequence,
					qoi_clock_ns() + 10 * QOI_NS_PER_S);
	return NULL;
}

static void one_ring_wakes_every_waiter(void **state)
{
	pthread_t threads[3];
	int results[3] = { 1, 1, 1 };
	int i;

	(void)state;
	for (i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL,
						sleep_on_bell, &results[i]),
				 0);
	/* Announced is enough: whoever isn't asleep yet won't fall asleep. */
	while (qoi_observe32(&bell.waiters) != 3)
		qoi_pause();
	qoi_bell_ring_waiters(&bell);
	for (i = 0; i < 3; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(results[i], 0);
	}
	assert_int_equal(bell.waiters, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(nobody_is_woken_while_nobody_sleeps,
				       clear_bell),
		cmocka_unit_test_setup(
			a_waiter_is_wanted_from_its_announcement_on, clear_bell),
		cmocka_unit_test_setup(the_agent_is_wanted_at_its_level_only,
				       clear_bell),
		cmocka_unit_test_setup(a_ring_before_the_sleep_is_not_lost,
				       clear_bell),
		cmocka_unit_test_setup(a_sleep_ends_at_its_deadline, clear_bell),
		cmocka_unit_test_setup(a_deadline_in_the_past_does_not_sleep,
				       clear_bell),
		cmocka_unit_test_setup(one_ring_wakes_every_waiter, clear_bell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
