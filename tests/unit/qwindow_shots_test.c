/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>

#include <cmocka.h>

#include "examples/qwindow/bits.h"
#include "examples/qwindow/shots.h"
#include "tests/unit/qwindow_files.h"

#define READ(bytes, suffix, bits, limit, shots, problem)                       \
	read_bytes(bytes, sizeof(bytes) - 1, suffix, bits, limit, shots,       \
		   problem)

static int read_bytes(const char *bytes, size_t count, const char *suffix,
		      uint32_t bits, size_t limit, struct shots *shots,
		      struct problem *problem)
{
	const char *path = file_with(bytes, count, suffix);
	int rc;

	problem->text[0] = '\0';
	rc = shots_read(path, bits, limit, shots, problem);
	unlink(path);
	return rc;
}

/* Two shots of 10 bits: 3 and 9 set, then none. */
static void check_two_shots(struct shots *shots)
{
	assert_int_equal(2, shots->count);
	assert_int_equal(2, shots->stride);
	for (size_t i = 0; i < 10; i++) {
		assert_int_equal(i == 3 || i == 9,
				 bits_get(shots_row(shots, 0), i));
		assert_int_equal(0, bits_get(shots_row(shots, 1), i));
	}
	shots_release(shots);
}

static void the_three_formats_give_the_same_bits(void **state)
{
	struct problem problem;
	struct shots shots;

	(void)state;
	assert_int_equal(0, READ("\x08\x02\x00\x00", ".b8", 10, 0, &shots,
				 &problem));
	check_two_shots(&shots);
	assert_int_equal(0, READ("\x03\x05\x00\x0a", ".r8", 10, 0, &shots,
				 &problem));
	check_two_shots(&shots);
	assert_int_equal(0, READ("0001000001\n0000000000\n", ".01", 10, 0,
				 &shots, &problem));
	check_two_shots(&shots);
}

static void a_long_run_continues_over_bytes_of_255(void **state)
{
	struct problem problem;
	struct shots shots;

	(void)state;
	/* 255 + 45 zeros, a one at 300, then 255 + 4 zeros, the end at 560;
	 * and a shot of 560 zeros. */
	assert_int_equal(0, READ("\xff\x2d\xff\x04\xff\xff\x32", ".r8", 560, 0,
				 &shots, &problem));
	assert_int_equal(2, shots.count);
	for (size_t i = 0; i < 560; i++) {
		assert_int_equal(i == 300, bits_get(shots_row(&shots, 0), i));
		assert_int_equal(0, bits_get(shots_row(&shots, 1), i));
	}
	shots_release(&shots);
}

static void a_limit_ends_the_reading(void **state)
{
	struct problem problem;
	struct shots shots;

	(void)state;
	assert_int_equal(0, READ("\x01\x00\x02", ".b8", 8, 2, &shots, &problem));
	assert_int_equal(2, shots.count);
	shots_release(&shots);
}

static void a_file_that_is_cut_short_is_told(void **state)
{
	struct problem problem;
	struct shots shots;

	(void)state;
	assert_int_equal(-EINVAL,
			 READ("\x08\x02\x00", ".b8", 10, 0, &shots, &problem));
	assert_non_null(strstr(problem.text, "shot 1, byte 3: the file ends"));
	assert_int_equal(-EINVAL, READ("\x03\x05\x00\x03", ".r8", 10, 0, &shots,
				       &problem));
	assert_non_null(strstr(problem.text, "shot 1, byte 4: the file ends"));
	assert_int_equal(-EINVAL, READ("0001000001\n000", ".01", 10, 0, &shots,
				       &problem));
	assert_non_null(strstr(problem.text, "shot 1, byte 14: the file ends"));
}

static void shots_of_another_size_are_told(void **state)
{
	struct problem problem;
	struct shots shots;

	(void)state;
	assert_int_equal(-EINVAL,
			 READ("\x08\x04", ".b8", 10, 0, &shots, &problem));
	assert_non_null(strstr(problem.text, "does not fit the model's 10"));
	assert_int_equal(-EINVAL,
			 READ("\x03\x09", ".r8", 10, 0, &shots, &problem));
	assert_non_null(strstr(problem.text, "shot 0, byte 2"));
	assert_int_equal(-EINVAL,
			 READ("000100000\n", ".01", 10, 0, &shots, &problem));
	assert_non_null(strstr(problem.text, "does not fit"));
	assert_int_equal(-EINVAL,
			 READ("00010000010\n", ".01", 10, 0, &shots, &problem));
	assert_non_null(strstr(problem.text, "does not fit"));
}

static void other_mistakes_are_told(void **state)
{
	struct problem problem;
	struct shots shots;

	(void)state;
	assert_int_equal(-EINVAL, READ("0002", ".01", 10, 0, &shots, &problem));
	assert_non_null(strstr(problem.text, "not a 0 or 1"));
	assert_int_equal(-EINVAL, READ("", ".b8", 10, 0, &shots, &problem));
	assert_non_null(strstr(problem.text, "no shots in it"));
	assert_int_equal(-EINVAL, READ("x", ".txt", 10, 0, &shots, &problem));
	assert_non_null(strstr(problem.text, "names no format"));
	assert_int_equal(-ENOENT,
			 shots_read("/nowhere/x.b8", 10, 0, &shots,
				    (problem.text[0] = '\0', &problem)));
	assert_non_null(strstr(problem.text, "cannot be opened"));
}

static void bits_move_to_any_offset(void **state)
{
	uint8_t from[8], to[8], back[9];

	(void)state;
	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)bits_mix(i);
	for (size_t first = 0; first < 20; first++) {
		for (size_t count = 1; first + count <= 64; count++) {
			memset(to, 0xff, sizeof(to));
			memset(back, 0, sizeof(back));
			bits_extract(to, from, first, count);
			for (size_t i = 0; i < 8 * bits_bytes(count); i++)
				assert_int_equal(
					i < count && bits_get(from, first + i),
					bits_get(to, i));
			bits_xor_into(back, first, to, count);
			for (size_t i = 0; i < count; i++)
				assert_int_equal(bits_get(from, first + i),
						 bits_get(back, first + i));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_three_formats_give_the_same_bits),
		cmocka_unit_test(a_long_run_continues_over_bytes_of_255),
		cmocka_unit_test(a_limit_ends_the_reading),
		cmocka_unit_test(a_file_that_is_cut_short_is_told),
		cmocka_unit_test(shots_of_another_size_are_told),
		cmocka_unit_test(other_mistakes_are_told),
		cmocka_unit_test(bits_move_to_any_offset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
