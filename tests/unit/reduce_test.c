/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

#include <qoffload/types.h>

#include "libqoffload/coll/schedule.h"

#define ELEMENTS_MAX 70u
#define BYTES_MAX (8u * ELEMENTS_MAX)
#define ALIGNMENTS 16u

/* Bit patterns of a type's width that have gone wrong somewhere. */
static const uint64_t patterns[] = {
	0,
	1,
	UINT64_MAX,
	INT64_MAX,
	UINT64_C(1) << 63,
	UINT64_C(0x80000000),	      /* float -0, int32 minimum */
	UINT64_C(0x7f800000),	      /* float infinity */
	UINT64_C(0xff800000),	      /* and minus infinity */
	UINT64_C(0x7fc12345),	      /* float NaN with a payload */
	UINT64_C(0xffc00001),	      /* another, negative */
	UINT64_C(0x7f800001),	      /* a signalling one */
	UINT64_C(0x3f800000),	      /* float 1 */
	UINT64_C(0x7ff0000000000000), /* double infinity */
	UINT64_C(0xfff0000000000000),
	UINT64_C(0x7ff8000000012345), /* double NaN with a payload */
	UINT64_C(0xfff8000000000001),
	UINT64_C(0x7ff0000000000001),
	UINT64_C(0x3ff0000000000000), /* double 1 */
	UINT64_C(0x8000),
	UINT64_C(0x80),
	UINT64_C(0x7f7f7f7f7f7f7f7f),
};
#define PATTERNS (sizeof(patterns) / sizeof(*patterns))

static uint64_t combine(int32_t type, int32_t reduce, uint64_t a, uint64_t b)
{
	const uint32_t bytes = qoi_type_bytes(type);
	uint64_t result = 0;

	memcpy(&result, &a, bytes);
	qoi_reduce_apply(type, reduce, &result, &b, 1);
	return result;
}

/* Calls check for each pair of type and reduction that goes together. */
static void for_each_pair(void (*check)(int32_t type, int32_t reduce))
{
	int pairs = 0;

	for (int32_t type = QO_INT8; type <= QO_DOUBLE; type++)
		for (int32_t reduce = QO_SUM; reduce <= QO_XOR; reduce++)
			if (type < QO_FLOAT || reduce <= QO_MAX) {
				check(type, reduce);
				pairs++;
			}
	assert_int_equal(pairs, 8 * 6 + 2 * 3);
}

static void check_commutes(int32_t type, int32_t reduce)
{
	for (size_t i = 0; i < PATTERNS; i++)
		for (size_t j = 0; j < PATTERNS; j++)
			assert_true(
				combine(type, reduce, patterns[i], patterns[j]) ==
				combine(type, reduce, patterns[j], patterns[i]));
}

static void every_reduction_commutes_to_the_bit(void **state)
{
	(void)state;
	for_each_pair(check_commutes);
}

static void check_associates(int32_t type, int32_t reduce)
{
	if (type >= QO_FLOAT && reduce == QO_SUM)
		return;
	for (size_t i = 0; i < PATTERNS; i++)
		for (size_t j = 0; j < PATTERNS; j++)
			for (size_t k = 0; k < PATTERNS; k++) {
				uint64_t left = combine(
					type, reduce, patterns[i], patterns[j]);
				uint64_t right = combine(
					type, reduce, patterns[j], patterns[k]);

				assert_true(combine(type, reduce, left,
						    patterns[k]) ==
					    combine(type, reduce, patterns[i],
						    right));
			}
}

static void all_but_sums_of_numbers_take_any_order(void **state)
{
	(void)state;
	for_each_pair(check_associates);
}

/* Any length at any address is as one element after the other. */
static void check_lengths(int32_t type, int32_t reduce)
{
	const uint32_t unit = qoi_type_bytes(type);
	uint8_t to[BYTES_MAX + ALIGNMENTS + 1], from[sizeof(to)];
	uint8_t expected[sizeof(to)];

	for (uint32_t count = 0; count <= ELEMENTS_MAX; count++) {
		const uint32_t at = (count * 7 + 1) % ALIGNMENTS;
		const uint32_t from_at = (count * 5 + 3) % ALIGNMENTS;

		for (size_t i = 0; i < sizeof(to); i++) {
			to[i] = (uint8_t)(i * 37 + count);
			from[i] = (uint8_t)(i * 101 + 3 * count);
		}
		memcpy(expected, to, sizeof(to));
		for (uint32_t i = 0; i < count; i++) {
			uint64_t a = 0, b = 0, result;

			memcpy(&a, to + at + i * unit, unit);
			memcpy(&b, from + from_at + i * unit, unit);
			result = combine(type, reduce, a, b);
			memcpy(expected + at + i * unit, &result, unit);
		}
		qoi_reduce_apply(type, reduce, to + at, from + from_at, count);
		assert_memory_equal(to, expected, sizeof(to));
	}
}

static void any_length_at_any_address_is_element_by_element(void **state)
{
	(void)state;
	for_each_pair(check_lengths);
}

static void integers_wrap_and_are_compared_with_their_sign(void **state)
{
	(void)state;
	assert_true(combine(QO_INT8, QO_SUM, 0x7f, 1) == 0x80);
	assert_true(combine(QO_UINT8, QO_SUM, 0xff, 2) == 1);
	assert_true(combine(QO_INT16, QO_SUM, 0x7fff, 0x7fff) == 0xfffe);
	assert_true(combine(QO_UINT32, QO_SUM, UINT32_MAX, 1) == 0);
	assert_true(combine(QO_INT64, QO_SUM, INT64_MAX, 1) == UINT64_C(1)
								       << 63);
	assert_true(combine(QO_UINT64, QO_MIN, 0, UINT64_MAX) == 0);
	assert_true(combine(QO_INT64, QO_MIN, 0, UINT64_MAX) == UINT64_MAX);
	assert_true(combine(QO_UINT64, QO_MAX, 0, UINT64_MAX) == UINT64_MAX);
	assert_true(combine(QO_INT64, QO_MAX, 0, UINT64_MAX) == 0);
	assert_true(combine(QO_INT8, QO_MAX, 0x80, 1) == 1);
	assert_true(combine(QO_UINT8, QO_MAX, 0x80, 1) == 0x80);
	assert_true(combine(QO_INT16, QO_MIN, 0x8000, 1) == 0x8000);
	assert_true(combine(QO_UINT16, QO_MIN, 0x8000, 1) == 1);
	assert_true(combine(QO_INT32, QO_MIN, 0x80000000, 1) == 0x80000000);
	assert_true(combine(QO_UINT32, QO_MIN, 0x80000000, 1) == 1);
}

static void bits_are_combined_by_the_named_operation(void **state)
{
	(void)state;
	for (int32_t type = QO_INT8; type <= QO_UINT64; type++) {
		const uint32_t bits = 8 * qoi_type_bytes(type);
		const uint64_t ones = UINT64_MAX >> (64 - bits);

		assert_true(combine(type, QO_XOR, ones, ones) == 0);
		assert_true(combine(type, QO_OR, ones, 5) == ones);
		assert_true(combine(type, QO_AND, ones, 5) == 5);
		assert_true(combine(type, QO_XOR, 6, 5) == 3);
		assert_true(combine(type, QO_OR, 6, 5) == 7);
		assert_true(combine(type, QO_AND, 6, 5) == 4);
	}
}

static double combine_doubles(int32_t reduce, double a, double b)
{
	qoi_reduce_apply(QO_DOUBLE, reduce, &a, &b, 1);
	return a;
}

static float combine_floats(int32_t reduce, float a, float b)
{
	qoi_reduce_apply(QO_FLOAT, reduce, &a, &b, 1);
	return a;
}

static void numbers_are_added_and_compared(void **state)
{
	(void)state;
	assert_true(combine_doubles(QO_SUM, 0.1, 0.2) == 0.1 + 0.2);
	assert_true(combine_floats(QO_SUM, 0.1f, 0.2f) == 0.1f + 0.2f);
	assert_true(combine_doubles(QO_MIN, -2, 1) == -2);
	assert_true(combine_doubles(QO_MAX, -2, 1) == 1);
	assert_true(combine_floats(QO_MIN, 1, -2) == -2);
	assert_true(combine_floats(QO_MAX, 1, -2) == 1);
	assert_true(combine_doubles(QO_MIN, -__builtin_inf(), 1) ==
		    -__builtin_inf());
	assert_true(combine_doubles(QO_MAX, __builtin_inf(), 1) ==
		    __builtin_inf());
}

static void nan_wins_in_one_form_and_minus_zero_is_less(void **state)
{
	const uint64_t quiet = UINT64_C(0x7ff8000000000000);
	const uint64_t one = UINT64_C(0x3ff0000000000000);
	const uint64_t minus_zero = UINT64_C(1) << 63;
	const uint64_t infinity = UINT64_C(0x7ff0000000000000);

	(void)state;
	for (int32_t reduce = QO_SUM; reduce <= QO_MAX; reduce++) {
		assert_true(combine(QO_DOUBLE, reduce, one,
				    UINT64_C(0xfff8000000000007)) == quiet);
		assert_true(combine(QO_DOUBLE, reduce,
				    UINT64_C(0x7ff8000000000007), one) == quiet);
		assert_true(combine(QO_FLOAT, reduce, 0x3f800000, 0xffc00007) ==
			    0x7fc00000);
	}
	assert_true(combine(QO_DOUBLE, QO_SUM, infinity,
			    infinity | minus_zero) == quiet);
	assert_true(combine(QO_DOUBLE, QO_MIN, 0, minus_zero) == minus_zero);
	assert_true(combine(QO_DOUBLE, QO_MAX, minus_zero, 0) == 0);
	assert_true(combine(QO_FLOAT, QO_MIN, 0, 0x80000000) == 0x80000000);
	assert_true(combine(QO_FLOAT, QO_MAX, 0, 0x80000000) == 0);
}

static void a_pair_that_does_not_go_together_is_refused(void **state)
{
	(void)state;
	assert_int_equal(qoi_reduce_check(QO_DOUBLE, QO_XOR), -EINVAL);
	assert_int_equal(qoi_reduce_check(QO_FLOAT, QO_OR), -EINVAL);
	assert_int_equal(qoi_reduce_check(QO_DOUBLE, QO_AND), -EINVAL);
	assert_int_equal(qoi_reduce_check(0, QO_SUM), -EINVAL);
	assert_int_equal(qoi_reduce_check(QO_DOUBLE + 1, QO_SUM), -EINVAL);
	assert_int_equal(qoi_reduce_check(QO_INT8, 0), -EINVAL);
	assert_int_equal(qoi_reduce_check(QO_INT8, QO_XOR + 1), -EINVAL);
	assert_int_equal(qoi_reduce_check(QO_UINT64, QO_XOR), 0);
	assert_int_equal(qoi_reduce_check(QO_DOUBLE, QO_MAX), 0);
}

static void types_and_reductions_have_names_and_sizes(void **state)
{
	(void)state;
	assert_int_equal(qoi_type_bytes(QO_INT8), 1);
	assert_int_equal(qoi_type_bytes(QO_UINT16), 2);
	assert_int_equal(qoi_type_bytes(QO_FLOAT), 4);
	assert_int_equal(qoi_type_bytes(QO_DOUBLE), 8);
	assert_int_equal(qoi_type_bytes(0), 0);
	assert_int_equal(qoi_type_bytes(QO_DOUBLE + 1), 0);
	assert_int_equal(qoi_type_bytes(INT32_MIN), 0);
	assert_string_equal(qoi_type_name(QO_UINT32), "uint32");
	assert_null(qoi_type_name(0));
	assert_string_equal(qoi_reduce_name(QO_XOR), "xor");
	assert_null(qoi_reduce_name(0));
	assert_null(qoi_reduce_name(QO_XOR + 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_reduction_commutes_to_the_bit),
		cmocka_unit_test(all_but_sums_of_numbers_take_any_order),
		cmocka_unit_test(any_length_at_any_address_is_element_by_element),
		cmocka_unit_test(integers_wrap_and_are_compared_with_their_sign),
		cmocka_unit_test(bits_are_combined_by_the_named_operation),
		cmocka_unit_test(numbers_are_added_and_compared),
		cmocka_unit_test(nan_wins_in_one_form_and_minus_zero_is_less),
		cmocka_unit_test(a_pair_that_does_not_go_together_is_refused),
		cmocka_unit_test(types_and_reductions_have_names_and_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
