/* SPDX-License-Identifier: BSD-3-Clause */
/* The arithmetic under the benchmarks: a wrong one would flatter quietly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/bounce.h"
#include "common/clock.h"
#include "common/payload.h"
#include "common/report.h"
#include "common/shared.h"
#include "common/stats.h"
#include "common/task.h"
#include "common/work.h"

static void median_takes_the_middle(void **state)
{
	const double odd[] = { 9.0, 1.0, 5.0 };
	const double even[] = { 9.0, 1.0, 5.0, 2.0 };

	(void)state;
	assert_true(bench_median(odd, 3) == 5.0);
	assert_true(bench_median(even, 4) == 3.5);
	assert_true(bench_median(even, 1) == 9.0);
	assert_true(bench_median(even, 0) == 0.0);
}

static void percentiles_are_nearest_ranks(void **state)
{
	uint64_t samples[1000];
	struct bench_summary summary;

	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		samples[i] = 1000 - i;
	bench_samples_sort(samples, 1000);
	summary = bench_samples_summarise(samples, 1000);
	assert_int_equal(summary.p50_ns, 500);
	assert_int_equal(summary.p90_ns, 900);
	assert_int_equal(summary.p99_ns, 990);
	assert_int_equal(summary.p999_ns, 999);
	assert_int_equal(summary.max_ns, 1000);
	assert_true(bench_samples_median(samples, 1000) == 500.5);
	assert_true(bench_samples_mean(samples, 1000) == 500.5);
	summary = bench_samples_summarise(samples, 1);
	assert_int_equal(summary.p50_ns, 1);
	assert_int_equal(summary.max_ns, 1);
}

static void payload_of_another_run_rank_or_place_is_refused(void **state)
{
	static const uint64_t sizes[] = { 1, 7, 8, 64, 70, 8192, 100003 };
	static unsigned char block[100008];
	const struct bench_block_id id = { 5, 1, 2 };
	const struct bench_block_id others[] = {
		{ 4, 1, 2 }, { 5, 0, 2 }, { 5, 1, 3 }, { 5, 2, 1 }
	};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		memset(block, 0xee, sizeof(block));
		bench_payload_fill(block, sizes[i], id, i % 2 == 0);
		assert_int_equal(block[sizes[i]], 0xee);
		assert_true(bench_payload_check(block, sizes[i], id, i % 2 == 0));
		for (size_t j = 0; j < 4; j++)
			assert_false(bench_payload_check(block, sizes[i],
							 others[j], false));
	}
}

static void whole_payload_check_sees_every_byte(void **state)
{
	static unsigned char block[20011];
	const struct bench_block_id id = { 77, 0, 1 };

	(void)state;
	bench_payload_fill(block, sizeof(block), id, true);
	for (size_t i = 0; i < sizeof(block); i++) {
		block[i] ^= 1;
		assert_false(bench_payload_check(block, sizeof(block), id, true));
		block[i] ^= 1;
	}
	assert_true(bench_payload_check(block, sizeof(block), id, true));
}

static void row_is_judged_by_its_rule(void **state)
{
	struct bench_row row = { .target = 0.5, .value = 0.6 };

	(void)state;
	row.rule = BENCH_NO_TARGET;
	assert_true(bench_row_passes(&row));
	row.rule = BENCH_AT_MOST;
	assert_false(bench_row_passes(&row));
	row.rule = BENCH_AT_LEAST;
	assert_true(bench_row_passes(&row));
}

static void ratio_and_its_spread_are_of_the_medians(void **state)
{
	struct bench_options options = { .repetitions = 2 };
	struct bench_report *report = bench_report_create("test", &options);
	double medians[2][2] = { { 10.0, 30.0 }, { 20.0, 20.0 } };
	struct bench_measurement m = { .repetitions = 2, .side_count = 2 };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		m.sides[i].name = "side";
		m.sides[i].medians_ns = medians[i];
		m.sides[i].value_ns = bench_median(medians[i], 2);
	}
	bench_report_ratio(report, &m, 0, 1, BENCH_AT_MOST, 0.9);
	assert_true(report->rows[0].value == 1.0);
	assert_true(report->rows[0].low == 0.5);
	assert_true(report->rows[0].high == 1.5);
	assert_false(bench_row_passes(&report->rows[0]));
	bench_report_ratio(report, &m, 0, 1, BENCH_AT_LEAST, 0.9);
	assert_true(fabs(report->rows[1].low - 1.0 / 1.5) < 1e-9);
	assert_true(report->rows[1].high == 2.0);
	options.limit = 1.2;
	bench_report_ratio(report, &m, 0, 1, BENCH_AT_MOST, 0.9);
	assert_true(bench_row_passes(&report->rows[2]));
	bench_report_destroy(report);
}

static void bandwidth_is_the_inverse_of_time(void **state)
{
	struct bench_options options = { .limit = 0.1 };
	struct bench_report *report = bench_report_create("test", &options);
	double medians[2][2] = { { 10.0, 30.0 }, { 20.0, 20.0 } };
	struct bench_measurement m = { .repetitions = 2, .side_count = 2 };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		m.sides[i].name = "side";
		m.sides[i].medians_ns = medians[i];
	}
	m.sides[0].value_ns = 10.0;
	m.sides[1].value_ns = 20.0;
	bench_report_bandwidth(report, &m, 0, 1, 0.9);
	assert_true(report->rows[0].value == 2.0);
	assert_true(report->rows[0].high == 2.0);
	assert_true(fabs(report->rows[0].low - 20.0 / 30.0) < 1e-9);
	assert_true(bench_row_passes(&report->rows[0]));
	bench_report_bandwidth(report, &m, 1, 0, 0.9);
	assert_true(report->rows[1].value == 0.5);
	assert_false(bench_row_passes(&report->rows[1]));
	bench_report_bandwidth(report, &m, 1, 0, 0.0);
	assert_true(bench_row_passes(&report->rows[2]));
	bench_report_destroy(report);
}

#define BOUNCE_TURNS 200

static int child_status(pid_t child)
{
	int status = -1;

	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void bounce_comes_back_only_when_both_ends_are_there(void **state)
{
	struct bench_bounce *bounce = bench_bounce_create();
	_Atomic uint64_t *reached = bench_shared_create(sizeof(*reached));
	pid_t middle = fork();
	pid_t other;

	(void)state;
	if (middle == 0) {
		bench_bounce_middle(bounce, 1, BOUNCE_TURNS, 2);
		_exit(0);
	}
	other = fork();
	if (other == 0) {
		uint64_t work = 88172645463325252;

		for (uint64_t i = 1; i <= BOUNCE_TURNS; i++) {
			/* Late each time: the first end would run ahead. */
			work = bench_work_run(work, 20000);
			atomic_store(reached, i);
			bench_bounce_end(bounce, 1, i);
		}
		_exit(work == 0);
	}
	assert_true(middle > 0 && other > 0);
	for (uint64_t i = 1; i <= BOUNCE_TURNS; i++) {
		bench_bounce_end(bounce, 0, i);
		assert_true(atomic_load(reached) >= i);
	}
	assert_int_equal(child_status(middle), 0);
	assert_int_equal(child_status(other), 0);
}

static void memory_and_time_of_a_process_grow_with_use(void **state)
{
	const size_t bytes = (size_t)16 << 20;
	struct bench_task_memory memory[2];
	struct bench_task_use use[2];
	unsigned char *block;

	(void)state;
	bench_task_memory_read(getpid(), &memory[0]);
	bench_task_use_read(getpid(), &use[0]);
	block = malloc(bytes);
	assert_non_null(block);
	for (size_t i = 0; i < bytes; i += 4096)
		block[i] = 1;
	assert_true(bench_work_calibrate() > 0.0);
	bench_task_memory_read(getpid(), &memory[1]);
	bench_task_use_read(getpid(), &use[1]);
	free(block);
	assert_true(memory[1].anonymous >= memory[0].anonymous + bytes * 9 / 10);
	assert_true(memory[1].resident >= memory[0].resident + bytes * 9 / 10);
	assert_true(memory[1].share >= memory[0].share + bytes * 9 / 10);
	/* The calibration alone computes for longer. */
	assert_true(use[1].run_ns > use[0].run_ns + 1000000);
}

static void computation_grows_with_its_turns(void **state)
{
	uint64_t once = bench_work_run(88172645463325252, 1000);

	(void)state;
	assert_true(once != bench_work_run(88172645463325252, 1001));
	assert_true(bench_work_run(once, 500) ==
		    bench_work_run(88172645463325252, 1500));
	/* A turn is six dependent instructions: no compiler drops them. */
	assert_true(bench_work_calibrate() > 0.3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(median_takes_the_middle),
		cmocka_unit_test(percentiles_are_nearest_ranks),
		cmocka_unit_test(payload_of_another_run_rank_or_place_is_refused),
		cmocka_unit_test(whole_payload_check_sees_every_byte),
		cmocka_unit_test(row_is_judged_by_its_rule),
		cmocka_unit_test(ratio_and_its_spread_are_of_the_medians),
		cmocka_unit_test(bandwidth_is_the_inverse_of_time),
		cmocka_unit_test(bounce_comes_back_only_when_both_ends_are_there),
		cmocka_unit_test(memory_and_time_of_a_process_grow_with_use),
		cmocka_unit_test(computation_grows_with_its_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
