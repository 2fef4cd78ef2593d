/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "libqoffload/base/clock.h"
#include "libqoffload/client/patience.h"

#define FAR (INT64_MAX - 1)

static struct qoi_config config_of(uint64_t spin_ns, uint64_t yield_ns)
{
	struct qoi_config config;

	memset(&config, 0, sizeof(config));
	config.wait_spin_ns = spin_ns;
	config.wait_yield_ns = yield_ns;
	return config;
}

/* Steps until something other than "again", at most so many. */
static enum qoi_patience_verdict steps(struct qoi_patience *patience,
				       int64_t deadline_ns, uint32_t limit,
				       uint32_t *count_out)
{
	enum qoi_patience_verdict verdict = QOI_PATIENCE_AGAIN;

	*count_out = 0;
	while (verdict == QOI_PATIENCE_AGAIN && *count_out < limit) {
		verdict = qoi_patience_step(patience, deadline_ns);
		(*count_out)++;
	}
	return verdict;
}

static void a_deadline_that_has_passed_ends_it_at_the_first_step(void **state)
{
	const struct qoi_config config = config_of(1000000000, 1000000000);
	struct qoi_patience patience;

	(void)state;
	for (int crowded = 0; crowded < 2; crowded++) {
		qoi_patience_init(&patience, &config, crowded);
		assert_int_equal(qoi_patience_step(&patience, 1),
				 QOI_PATIENCE_OVER);
		assert_int_equal(qoi_patience_step(&patience, INT64_MIN),
				 QOI_PATIENCE_AGAIN);
	}
}

static void it_ends_after_its_deadline_and_not_before(void **state)
{
	const struct qoi_config config =
		config_of(3600 * UINT64_C(1000000000), 1);
	int64_t deadline = qoi_clock_ns() + 5000000;
	struct qoi_patience patience;
	uint32_t count;

	(void)state;
	qoi_patience_init(&patience, &config, 0);
	assert_int_equal(steps(&patience, deadline, UINT32_MAX, &count),
			 QOI_PATIENCE_OVER);
	assert_true(qoi_clock_ns() >= deadline);
	assert_true(count > 1);
}

static void it_sleeps_when_spin_and_yield_are_used_up(void **state)
{
	const struct qoi_config config = config_of(2000000, 2000000);
	struct qoi_patience patience;
	int64_t since = qoi_clock_ns();
	uint32_t count;

	(void)state;
	qoi_patience_init(&patience, &config, 0);
	assert_int_equal(steps(&patience, FAR, UINT32_MAX, &count),
			 QOI_PATIENCE_SLEEP);
	assert_true(qoi_clock_ns() - since >= 4000000);
	/* Something happened: from the start. */
	qoi_patience_reset(&patience);
	assert_int_equal(steps(&patience, INT64_MAX, 10, &count),
			 QOI_PATIENCE_AGAIN);
}

static void nothing_to_use_up_means_sleep_soon(void **state)
{
	const struct qoi_config config = config_of(0, 0);
	struct qoi_patience patience;
	uint32_t count;

	(void)state;
	qoi_patience_init(&patience, &config, 0);
	assert_int_equal(steps(&patience, INT64_MAX, 1000, &count),
			 QOI_PATIENCE_SLEEP);
}

/* Where others want the core, spin is not used up first. */
static void a_crowded_one_does_not_spin(void **state)
{
	const struct qoi_config config =
		config_of(3600 * UINT64_C(1000000000), 0);
	struct qoi_patience patience;
	uint32_t count;

	(void)state;
	qoi_patience_init(&patience, &config, 1);
	assert_int_equal(steps(&patience, INT64_MAX, 1000, &count),
			 QOI_PATIENCE_SLEEP);
	qoi_patience_init(&patience, &config, 0);
	assert_int_equal(steps(&patience, INT64_MAX, 1000, &count),
			 QOI_PATIENCE_AGAIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_deadline_that_has_passed_ends_it_at_the_first_step),
		cmocka_unit_test(it_ends_after_its_deadline_and_not_before),
		cmocka_unit_test(it_sleeps_when_spin_and_yield_are_used_up),
		cmocka_unit_test(nothing_to_use_up_means_sleep_soon),
		cmocka_unit_test(a_crowded_one_does_not_spin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
