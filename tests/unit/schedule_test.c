/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

#include <qoffload/error.h>
#include <qoffload/types.h>

#include "libqoffload/coll/schedule.h"

#define RANKS 4u
#define HUGE_ELEMENTS (UINT64_MAX / 8)

static const uint64_t counts[RANKS] = { 5, 5, 5, 5 };
static const uint64_t displacements[RANKS] = { 0, 5, 10, 15 };

static struct qoi_coll valid_coll(uint32_t kind)
{
	return (struct qoi_coll){ .kind = kind,
				  .rank = 1,
				  .count = RANKS,
				  .type = QO_DOUBLE,
				  .reduce = QO_SUM,
				  .elements = 5,
				  .send_counts = counts,
				  .send_displacements = displacements,
				  .recv_counts = counts,
				  .recv_displacements = displacements };
}

static int compile_result(const struct qoi_coll *coll, const char *algorithm)
{
	struct qoi_schedule *schedule = NULL;
	int error = qoi_schedule_compile(coll, algorithm, NULL, &schedule);

	/* Outputs are written on success only. */
	assert_int_equal(error == 0, schedule != NULL);
	qoi_schedule_destroy(schedule);
	return error;
}

static struct qoi_schedule *compile(const struct qoi_coll *coll,
				    const char *algorithm)
{
	struct qoi_schedule *schedule;

	assert_int_equal(qoi_schedule_compile(coll, algorithm, NULL, &schedule),
			 0);
	return schedule;
}

static void bad_arguments_are_refused(void **state)
{
	static const struct {
		uint32_t kind, rank, count, root;
		int32_t type, reduce;
	} bad[] = {
		{ QOI_COLL_KIND_COUNT, 0, 2, 0, QO_INT8, 0 },
		{ QOI_ALLTOALL, 2, 2, 0, QO_INT8, 0 },
		{ QOI_ALLTOALL, 0, 0, 0, QO_INT8, 0 },
		{ QOI_BCAST, 0, 2, 2, QO_INT8, 0 },
		{ QOI_ALLGATHER, 0, 2, 0, 0, 0 },
		{ QOI_ALLGATHER, 0, 2, 0, QO_DOUBLE + 1, 0 },
		{ QOI_ALLREDUCE, 0, 2, 0, QO_INT8, 0 },
		{ QOI_ALLREDUCE, 0, 2, 0, QO_INT8, QO_XOR + 1 },
		{ QOI_ALLREDUCE, 0, 2, 0, QO_DOUBLE, QO_XOR },
		{ QOI_ALLREDUCE, 0, 2, 0, QO_FLOAT, QO_AND },
		{ QOI_ALLREDUCE, 0, 2, 0, -1, QO_SUM },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct qoi_coll coll = valid_coll(bad[i].kind);

		coll.rank = bad[i].rank;
		coll.count = bad[i].count;
		coll.root = bad[i].root;
		coll.type = bad[i].type;
		coll.reduce = bad[i].reduce;
		assert_int_equal(compile_result(&coll, NULL), -EINVAL);
	}
}

static void v_variants_need_counts_that_agree_with_themselves(void **state)
{
	static const uint64_t others[RANKS] = { 5, 4, 5, 5 };
	struct qoi_coll coll;

	(void)state;
	coll = valid_coll(QOI_ALLTOALLV);
	coll.send_counts = others;
	assert_int_equal(compile_result(&coll, NULL), -EINVAL);
	coll.in_place = 1;
	assert_int_equal(compile_result(&coll, NULL), 0);
	coll.recv_displacements = NULL;
	assert_int_equal(compile_result(&coll, NULL), -EINVAL);
	coll = valid_coll(QOI_ALLTOALLV);
	coll.send_displacements = NULL;
	assert_int_equal(compile_result(&coll, NULL), -EINVAL);
	coll = valid_coll(QOI_ALLGATHERV);
	assert_int_equal(compile_result(&coll, NULL), 0);
	coll.elements = 4;
	assert_int_equal(compile_result(&coll, NULL), -EINVAL);
	coll.in_place = 1;
	assert_int_equal(compile_result(&coll, NULL), 0);
}

static void an_unknown_algorithm_is_answered_with_the_known_ones(void **state)
{
	struct qoi_coll coll = valid_coll(QOI_ALLTOALL);

	(void)state;
	assert_int_equal(compile_result(&coll, "fast"), -EINVAL);
	assert_non_null(strstr(qo_error_detail(), "auto, flat, pairwise, bruck"));
	assert_int_equal(compile_result(&coll, "auto"), 0);
	assert_null(qoi_coll_algorithms(QOI_COLL_KIND_COUNT));
	assert_null(qoi_coll_kind_name(QOI_COLL_KIND_COUNT));
}

static void sizes_beyond_64_bits_are_an_overflow(void **state)
{
	static const uint64_t far[RANKS] = { 0, UINT64_MAX - 4, 10, 15 };
	static const uint64_t long_counts[RANKS] = { HUGE_ELEMENTS / 2,
						     HUGE_ELEMENTS / 2,
						     HUGE_ELEMENTS / 2,
						     HUGE_ELEMENTS / 2 };
	static const uint64_t zeros[RANKS] = { 0 };
	struct qoi_coll coll;

	(void)state;
	for (uint32_t kind = QOI_ALLTOALL; kind < QOI_BARRIER; kind++) {
		if (kind == QOI_ALLTOALLV || kind == QOI_ALLGATHERV)
			continue;
		coll = valid_coll(kind);
		coll.elements = HUGE_ELEMENTS + 1;
		assert_int_equal(compile_result(&coll, NULL), -EOVERFLOW);
	}
	/* Each block fits; all of them don't. */
	coll = valid_coll(QOI_ALLGATHER);
	coll.elements = HUGE_ELEMENTS / 2;
	assert_int_equal(compile_result(&coll, NULL), -EOVERFLOW);
	coll = valid_coll(QOI_ALLTOALLV);
	coll.recv_displacements = far;
	assert_int_equal(compile_result(&coll, NULL), -EOVERFLOW);
	/* The buffers fit; what has to be copied away does not. */
	coll = valid_coll(QOI_ALLREDUCE);
	coll.elements = HUGE_ELEMENTS;
	assert_int_equal(compile_result(&coll, "flat"), -EOVERFLOW);
	assert_int_equal(compile_result(&coll, "ring"), 0);
	coll = valid_coll(QOI_ALLTOALLV);
	coll.in_place = 1;
	coll.recv_counts = long_counts;
	coll.recv_displacements = zeros;
	assert_int_equal(compile_result(&coll, "flat"), -EOVERFLOW);
}

static void products_beyond_32_bits_are_exact(void **state)
{
	static const uint64_t far[RANKS] = { 0, UINT64_C(0x80000001), 10,
					     UINT64_C(0x300000000) };
	struct qoi_coll coll = valid_coll(QOI_ALLGATHERV);
	struct qoi_schedule *schedule;

	(void)state;
	coll.recv_displacements = far;
	schedule = compile(&coll, "flat");
	assert_int_equal(qoi_schedule_validate(schedule), 0);
	assert_true(schedule->buffer_bytes[QOI_BUFFER_RECV] ==
		    UINT64_C(0x300000005) * 8);
	for (uint32_t i = 0; i < schedule->step_count; i++)
		if (schedule->steps[i].kind == QOI_STEP_GET)
			assert_true(schedule->steps[i].to_offset ==
				    8 * far[schedule->steps[i].peer]);
	qoi_schedule_destroy(schedule);
}

/* Calls check for each kind, algorithm, some ranks, in place or not. */
static void for_each(struct qoi_coll (*make)(uint32_t kind),
		     void (*check)(const struct qoi_coll *coll,
				   const struct qoi_schedule *schedule))
{
	for (uint32_t kind = 0; kind < QOI_COLL_KIND_COUNT; kind++) {
		const char *const *name = qoi_coll_algorithms(kind);

		for (; *name != NULL; name++)
			for (uint32_t i = 0; i < 2 * RANKS; i++) {
				struct qoi_coll coll = make(kind);
				struct qoi_schedule *schedule;

				coll.rank = i % coll.count;
				coll.in_place = i / RANKS;
				schedule = compile(&coll, *name);
				check(&coll, schedule);
				qoi_schedule_destroy(schedule);
			}
	}
}

static struct qoi_coll empty_coll(uint32_t kind)
{
	static const uint64_t zeros[RANKS] = { 0 };
	struct qoi_coll coll = valid_coll(kind);

	coll.elements = 0;
	coll.send_counts = zeros;
	coll.recv_counts = zeros;
	return coll;
}

static void check_empty(const struct qoi_coll *coll,
			const struct qoi_schedule *schedule)
{
	assert_int_equal(qoi_schedule_validate(schedule), 0);
	if (coll->kind == QOI_BARRIER)
		return;
	assert_int_equal(schedule->step_count, 0);
	assert_int_equal(schedule->stage_count, 0);
	for (int i = 0; i < QOI_BUFFER_COUNT; i++)
		assert_true(schedule->buffer_bytes[i] == 0);
}

static void nothing_to_send_takes_no_steps(void **state)
{
	(void)state;
	for_each(empty_coll, check_empty);
}

static struct qoi_coll lone_coll(uint32_t kind)
{
	struct qoi_coll coll = valid_coll(kind);

	coll.count = 1;
	return coll;
}

static void check_lone(const struct qoi_coll *coll,
		       const struct qoi_schedule *schedule)
{
	const bool moves = coll->in_place == 0 && coll->kind != QOI_BCAST &&
			   coll->kind != QOI_BARRIER;

	assert_int_equal(schedule->step_count, moves ? 1 : 0);
	if (!moves)
		return;
	assert_int_equal(schedule->steps[0].kind, QOI_STEP_COPY);
	assert_true(schedule->steps[0].bytes == 40);
	assert_true(schedule->scratch_bytes == 0);
}

static void a_team_of_one_copies_or_does_nothing(void **state)
{
	(void)state;
	for_each(lone_coll, check_lone);
}

static void expect_choice(struct qoi_coll coll, uint32_t count,
			  uint64_t elements, const char *algorithm)
{
	const struct qoi_coll_limits limits = { .flat_bytes = 80,
						.flat_ranks = 5 };

	coll.count = count;
	coll.elements = elements;
	coll.type = QO_DOUBLE;
	for (uint32_t i = 0; i < 2 * count; i++) {
		struct qoi_schedule *schedule;

		coll.rank = i / 2;
		coll.in_place = i % 2;
		assert_int_equal(qoi_schedule_compile(&coll, NULL, &limits,
						      &schedule),
				 0);
		assert_string_equal(schedule->algorithm, algorithm);
		qoi_schedule_destroy(schedule);
	}
}

static void the_choice_goes_by_limits_and_is_the_same_on_all_ranks(void **state)
{
	(void)state;
	expect_choice(valid_coll(QOI_ALLTOALL), 5, 10, "flat");
	expect_choice(valid_coll(QOI_ALLTOALL), 5, 1000000, "flat");
	expect_choice(valid_coll(QOI_ALLTOALL), 6, 10, "bruck");
	expect_choice(valid_coll(QOI_ALLTOALL), 6, 100, "pairwise");
	expect_choice(valid_coll(QOI_ALLGATHER), 5, 1000000, "flat");
	expect_choice(valid_coll(QOI_ALLGATHER), 8, 10, "doubling");
	expect_choice(valid_coll(QOI_ALLGATHER), 7, 10, "ring");
	expect_choice(valid_coll(QOI_ALLGATHER), 8, 10000, "ring");
	expect_choice(valid_coll(QOI_ALLREDUCE), 5, 10, "flat");
	expect_choice(valid_coll(QOI_ALLREDUCE), 6, 10, "doubling");
	expect_choice(valid_coll(QOI_ALLREDUCE), 2, 10000, "ring");
	expect_choice(valid_coll(QOI_BCAST), 5, 10, "flat");
	expect_choice(valid_coll(QOI_BCAST), 6, 10, "binomial");
	expect_choice(valid_coll(QOI_BCAST), 2, 10000, "flat");
	expect_choice(valid_coll(QOI_BCAST), 6, 10000, "chain");
	expect_choice(valid_coll(QOI_BARRIER), 5, 0, "flat");
	expect_choice(valid_coll(QOI_BARRIER), 6, 0, "dissemination");
	expect_choice(valid_coll(QOI_ALLTOALLV), 4, 5, "flat");
	expect_choice(valid_coll(QOI_ALLGATHERV), 4, 5, "flat");
}

static void expect_own_copies(uint32_t kind, const char *algorithm,
			      uint32_t copies, uint64_t bytes)
{
	const struct qoi_coll coll = valid_coll(kind);
	struct qoi_schedule *schedule = compile(&coll, algorithm);
	uint64_t found = UINT64_MAX;

	assert_int_equal(qoi_schedule_own_copies(schedule, &found), copies);
	assert_int_equal(found, bytes);
	assert_int_equal(qoi_schedule_own_copies(schedule, NULL), copies);
	qoi_schedule_destroy(schedule);
}

/* Copies on which a later stage depends are not to be had by anybody. */
static void own_copies_are_those_that_nothing_depends_on(void **state)
{
	const struct qoi_coll coll = valid_coll(QOI_ALLTOALL);
	const uint64_t block = coll.elements * qoi_type_bytes(coll.type);

	(void)state;
	expect_own_copies(QOI_ALLTOALL, "flat", 1, block);
	expect_own_copies(QOI_ALLGATHER, "flat", 1, block);
	expect_own_copies(QOI_ALLTOALL, "bruck", 0, 0);
	expect_own_copies(QOI_ALLREDUCE, "ring", 0, 0);
	expect_own_copies(QOI_BCAST, "flat", 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_arguments_are_refused),
		cmocka_unit_test(
			v_variants_need_counts_that_agree_with_themselves),
		cmocka_unit_test(
			an_unknown_algorithm_is_answered_with_the_known_ones),
		cmocka_unit_test(sizes_beyond_64_bits_are_an_overflow),
		cmocka_unit_test(products_beyond_32_bits_are_exact),
		cmocka_unit_test(nothing_to_send_takes_no_steps),
		cmocka_unit_test(a_team_of_one_copies_or_does_nothing),
		cmocka_unit_test(
			the_choice_goes_by_limits_and_is_the_same_on_all_ranks),
		cmocka_unit_test(own_copies_are_those_that_nothing_depends_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
