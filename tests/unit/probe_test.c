/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>

#include "libqoffload/shm/layout.h"
#include "libqoffload/shm/probe.h"

#define ROUNDS 100000
/* The scheduler may keep the two threads apart for a while. */
#define TRIES_MAX 20

static void aligned_8_byte_accesses_are_never_torn(void **state)
{
	struct qoi_probe_result result;

	(void)state;
	assert_int_equal(qoi_probe_atomic(8, ROUNDS, &result), 0);
	assert_true(result.reads > 0);
	assert_int_equal(result.torn, 0);
}

static void two_accesses_are_seen_to_be_torn(void **state)
{
	struct qoi_probe_result result = { 0, 0, 0 };
	int i;

	(void)state;
	for (i = 0; i < TRIES_MAX && result.torn == 0; i++)
		assert_int_equal(qoi_probe_torn(ROUNDS, &result), 0);
	assert_true(result.torn > 0);
	assert_true(result.changes > 0);
}

static void the_encoding_is_what_the_probe_bears_out(void **state)
{
	struct qoi_probe_result result;
	int error = qoi_probe_atomic(16, ROUNDS, &result);

	(void)state;
	if (error == -EOPNOTSUPP || result.torn != 0) {
		assert_int_equal(qoi_probe_encoding(), QOI_ENCODING_CHUNK8);
	} else {
		assert_int_equal(error, 0);
		assert_int_equal(qoi_probe_encoding(), QOI_ENCODING_CHUNK16);
	}
}

static void another_width_is_refused(void **state)
{
	struct qoi_probe_result result;

	(void)state;
	assert_int_equal(qoi_probe_atomic(4, ROUNDS, &result), -EINVAL);
	assert_int_equal(qoi_probe_atomic(32, ROUNDS, &result), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(aligned_8_byte_accesses_are_never_torn),
		cmocka_unit_test(two_accesses_are_seen_to_be_torn),
		cmocka_unit_test(the_encoding_is_what_the_probe_bears_out),
		cmocka_unit_test(another_width_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
