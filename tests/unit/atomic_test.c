/* SPDX-License-Identifier: BSD-3-Clause */
/* Values only: that the orders hold is for tests/mutation to show. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>

#include "libqoffload/shm/atomic.h"

static void words_of_each_width_keep_their_value(void **state)
{
	uint64_t w64 = 0;
	uint32_t w32 = 0;
	uint16_t w16 = 0;
	uint8_t w8 = 0;

	(void)state;
	qoi_publish64(&w64, UINT64_MAX - 1);
	qoi_publish32(&w32, UINT32_MAX - 1);
	qoi_publish16(&w16, UINT16_MAX - 1);
	qoi_set_own8(&w8, UINT8_MAX - 1);
	assert_true(qoi_observe64(&w64) == UINT64_MAX - 1);
	assert_true(qoi_observe32(&w32) == UINT32_MAX - 1);
	assert_true(qoi_observe16(&w16) == UINT16_MAX - 1);
	assert_true(qoi_own8(&w8) == UINT8_MAX - 1);
	qoi_set_own64(&w64, 5);
	qoi_set_own32(&w32, 6);
	qoi_set_own16(&w16, 7);
	assert_true(qoi_own64(&w64) == 5);
	assert_true(qoi_own32(&w32) == 6);
	assert_true(qoi_own16(&w16) == 7);
}

static void a_lock_is_taken_once(void **state)
{
	uint32_t lock = 0;

	(void)state;
	assert_true(qoi_try_lock32(&lock));
	assert_false(qoi_try_lock32(&lock));
	qoi_unlock32(&lock);
	assert_true(qoi_try_lock32(&lock));
}

static void counts_and_swaps_give_what_they_say(void **state)
{
	uint64_t count = UINT64_MAX;
	uint32_t word = 5;

	(void)state;
	assert_true(qoi_count64(&count, 3) == UINT64_MAX);
	assert_true(count == 2);
	assert_int_equal(qoi_add32(&word, 2), 7);
	assert_int_equal(qoi_sub32(&word, 1), 6);
	assert_false(qoi_swap32_if(&word, 5, 1));
	assert_int_equal(word, 6);
	assert_true(qoi_swap32_if(&word, 6, 1));
	assert_int_equal(word, 1);
	qoi_store_load_barrier();
	qoi_pause();
}

/* E6: the private side of a chunk may lie anywhere. */
static void chunks_take_pieces_from_any_address(void **state)
{
	_Alignas(16) uint8_t chunk[16];
	uint8_t from[32], to[32];
	uint32_t at;

	(void)state;
	for (at = 0; at < 16; at++) {
		memset(from, 0xcc, sizeof(from));
		memset(from + at, (int)at + 1, 14);
		if (QOI_CHUNK16_HERE) {
			qoi_chunk16_put(chunk, from + at, 0x1234);
			assert_int_equal(chunk[14], 0x34);
			assert_int_equal(chunk[15], 0x12);
			assert_false(qoi_chunk16_take(chunk, to + at, 0x1235));
			assert_true(qoi_chunk16_take(chunk, to + at, 0x1234));
			assert_memory_equal(to + at, from + at, 14);
		}
		qoi_chunk8_put(chunk, from + at, 0xfffe);
		assert_int_equal(chunk[6], 0xfe);
		assert_int_equal(chunk[7], 0xff);
		assert_false(qoi_chunk8_take(chunk, to + at, 0xffff));
		assert_true(qoi_chunk8_take(chunk, to + at, 0xfffe));
		assert_memory_equal(to + at, from + at, 6);
	}
}

static void a_plain_build_has_no_mutant(void **state)
{
	uint32_t edge;

	(void)state;
	for (edge = 0; edge < 64; edge++)
		assert_false(qoi_edge_is_mutant(edge));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_of_each_width_keep_their_value),
		cmocka_unit_test(a_lock_is_taken_once),
		cmocka_unit_test(counts_and_swaps_give_what_they_say),
		cmocka_unit_test(chunks_take_pieces_from_any_address),
		cmocka_unit_test(a_plain_build_has_no_mutant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
