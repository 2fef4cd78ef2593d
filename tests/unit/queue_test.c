/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "tests/unit/queue_pair.h"

static const uint32_t encodings[] = { QOI_ENCODING_CLASSIC, QOI_ENCODING_CHUNK16,
				      QOI_ENCODING_CHUNK8 };
#define ENCODING_COUNT 3

/* Just before a count of 16, 32, 48 and 64 bits wraps, and plain ones. */
static const uint64_t starts[] = {
	0,
	1,
	5,
	(UINT64_C(1) << 16) - 8,
	(UINT64_C(1) << 32) - 8,
	(UINT64_C(1) << 48) - 3,
	UINT64_C(0) - 8,
	UINT64_C(0) - 1,
};
#define START_COUNT 8

static int encoding_is_here(uint32_t encoding)
{
	return encoding != QOI_ENCODING_CHUNK16 || QOI_CHUNK16_HERE;
}

/* What message n is made of: any offset, any length up to the limit. */
static uint32_t length_of(uint64_t n, uint32_t limit)
{
	return (uint32_t)((n * 2654435761u) % (limit + 1));
}

static void fill(uint8_t *payload, uint32_t bytes, uint64_t n)
{
	uint32_t i;

	for (i = 0; i < bytes; i++)
		payload[i] = (uint8_t)(n * 31 + i * 7 + 1);
}

static void expect_message(struct pair *pair, uint64_t n, uint32_t bytes)
{
	struct qoi_message message;
	uint8_t want[4096];

	assert_true(bytes <= sizeof(want));
	assert_int_equal(qoi_consumer_peek(&pair->consumer, &message), 0);
	assert_int_equal(message.bytes, bytes);
	assert_int_equal(message.kind, (uint16_t)n);
	assert_int_equal(message.flags, (uint16_t)~n);
	fill(want, bytes, n);
	assert_memory_equal(message.payload, want, bytes);
	qoi_consumer_release(&pair->consumer);
}

static void send_message(struct pair *pair, uint64_t n, uint32_t bytes,
			 uint32_t offset)
{
	uint8_t data[4096 + 64];

	assert_true(bytes <= 4096 && offset <= 64);
	fill(data + offset, bytes, n);
	assert_int_equal(qoi_producer_send(&pair->producer, data + offset,
					   bytes, (uint16_t)n, (uint16_t)~n),
			 0);
}

/* E1, E3, E6. */
static void run_wrap(uint32_t encoding, uint64_t start, uint32_t slot_count)
{
	struct pair pair;
	struct qoi_message message;
	uint64_t n;

	assert_int_equal(pair_create(&pair, slot_count, 100, encoding, start,
				     slot_count / 2),
			 0);
	for (n = 0; n < 40; n++) {
		assert_int_equal(qoi_consumer_peek(&pair.consumer, &message),
				 -EAGAIN);
		send_message(&pair, n, length_of(n, 100), (uint32_t)n % 64);
		expect_message(&pair, n, length_of(n, 100));
	}
	assert_int_equal(pair.consumer.position, start + 40);
	pair_destroy(&pair);
}

static void messages_come_in_order_across_every_wrap(void **state)
{
	uint32_t e, s, slot_count;

	(void)state;
	for (e = 0; e < ENCODING_COUNT; e++)
		for (s = 0; s < START_COUNT; s++)
			for (slot_count = 1; slot_count <= 16; slot_count *= 2)
				if (encoding_is_here(encodings[e]))
					run_wrap(encodings[e], starts[s],
						 slot_count);
}

static void a_full_queue_takes_nothing_and_says_so(void **state)
{
	struct pair pair;
	void *payload = NULL;
	uint32_t e, i;

	(void)state;
	for (e = 0; e < ENCODING_COUNT; e++) {
		if (!encoding_is_here(encodings[e]))
			continue;
		assert_int_equal(pair_create(&pair, 4, 40, encodings[e],
					     UINT64_C(0) - 2, 1),
				 0);
		for (i = 0; i < 4; i++)
			send_message(&pair, i, i, 1);
		assert_int_equal(qoi_producer_claim(&pair.producer, &payload),
				 -EAGAIN);
		assert_int_equal(qoi_producer_send(&pair.producer, "x", 1, 0, 0),
				 -EAGAIN);
		for (i = 0; i < 4; i++)
			expect_message(&pair, i, i);
		send_message(&pair, 4, 4, 1);
		expect_message(&pair, 4, 4);
		pair_destroy(&pair);
	}
}

static void credits_return_in_batches_and_by_flush(void **state)
{
	struct pair pair;
	uint64_t n;

	(void)state;
	assert_int_equal(pair_create(&pair, 8, 16, QOI_ENCODING_CLASSIC, 100, 3),
			 0);
	for (n = 0; n < 8; n++)
		send_message(&pair, n, 8, 0);
	expect_message(&pair, 0, 8);
	expect_message(&pair, 1, 8);
	assert_int_equal(*pair.credit, 100);
	expect_message(&pair, 2, 8);
	assert_int_equal(*pair.credit, 103);
	expect_message(&pair, 3, 8);
	assert_int_equal(*pair.credit, 103);
	qoi_consumer_flush(&pair.consumer);
	assert_int_equal(*pair.credit, 104);
	qoi_consumer_flush(&pair.consumer);
	assert_int_equal(*pair.credit, 104);
	pair_destroy(&pair);
}

static void a_claim_is_invisible_until_committed(void **state)
{
	struct pair pair;
	struct qoi_message message;
	void *first = NULL, *again = NULL;
	uint32_t e;

	(void)state;
	for (e = 0; e < ENCODING_COUNT; e++) {
		if (!encoding_is_here(encodings[e]))
			continue;
		assert_int_equal(pair_create(&pair, 2, 64, encodings[e], 0, 1),
				 0);
		assert_int_equal(qoi_producer_claim(&pair.producer, &first), 0);
		assert_int_equal((uintptr_t)first % 8, 0);
		memset(first, 0x11, 64);
		assert_int_equal(qoi_consumer_peek(&pair.consumer, &message),
				 -EAGAIN);
		qoi_producer_abort(&pair.producer);
		assert_int_equal(qoi_producer_claim(&pair.producer, &again), 0);
		assert_ptr_equal(first, again);
		fill(again, 64, 9);
		qoi_producer_commit(&pair.producer, 64, 9, (uint16_t)~9);
		expect_message(&pair, 9, 64);
		assert_int_equal(qoi_consumer_peek(&pair.consumer, &message),
				 -EAGAIN);
		pair_destroy(&pair);
	}
}

static void a_peeked_message_stays_until_released(void **state)
{
	struct pair pair;
	struct qoi_message message;
	uint32_t e;

	(void)state;
	for (e = 0; e < ENCODING_COUNT; e++) {
		if (!encoding_is_here(encodings[e]))
			continue;
		assert_int_equal(pair_create(&pair, 4, 90, encodings[e], 7, 1),
				 0);
		send_message(&pair, 1, 90, 3);
		send_message(&pair, 2, 0, 0);
		assert_int_equal(qoi_consumer_peek(&pair.consumer, &message), 0);
		expect_message(&pair, 1, 90);
		expect_message(&pair, 2, 0);
		pair_destroy(&pair);
	}
}

static void a_message_over_the_slot_is_refused_whole(void **state)
{
	struct pair pair;
	struct qoi_message message;
	uint8_t data[32] = { 0 };

	(void)state;
	assert_int_equal(pair_create(&pair, 2, 31, QOI_ENCODING_CLASSIC, 0, 1),
			 0);
	assert_int_equal(qoi_producer_send(&pair.producer, data, 32, 0, 0),
			 -EMSGSIZE);
	assert_int_equal(qoi_consumer_peek(&pair.consumer, &message), -EAGAIN);
	pair_destroy(&pair);
}

/* Writes a length that no slot can hold, as a hostile producer would. */
static void forge_length(struct pair *pair, uint32_t bytes)
{
	struct qoi_layout_edge_slot *header = (void *)pair->slots;
	struct qoi_chunk16 both;

	switch (pair->shape.encoding) {
	case QOI_ENCODING_CLASSIC:
		qoi_set_own32(&header->bytes, bytes);
		break;
	case QOI_ENCODING_CHUNK16:
		both = qoi_chunk16_load(pair->slots);
		both.low = (both.low & ~UINT64_C(0xffffffff)) | bytes;
		qoi_chunk16_store(pair->slots, both);
		break;
	default:
		qoi_chunk8_store(pair->slots, (qoi_chunk8_load(pair->slots) &
					       ~UINT64_C(0xffffffff)) |
						      bytes);
	}
}

static void a_hostile_length_is_an_error_and_can_be_skipped(void **state)
{
	static const uint32_t lengths[] = { 65, 0x7fffffff, 0xfffffff8,
					    0xffffffff };
	struct pair pair;
	struct qoi_message message = { NULL, 77, 0, 0 };
	uint32_t e, i;

	(void)state;
	for (e = 0; e < ENCODING_COUNT; e++) {
		if (!encoding_is_here(encodings[e]))
			continue;
		for (i = 0; i < 4; i++) {
			pair_create(&pair, 2, 64, encodings[e], 0, 1);
			send_message(&pair, 0, 64, 0);
			send_message(&pair, 1, 10, 0);
			forge_length(&pair, lengths[i]);
			assert_int_equal(qoi_consumer_peek(&pair.consumer,
							   &message),
					 -EBADMSG);
			assert_int_equal(qoi_consumer_peek(&pair.consumer,
							   &message),
					 -EBADMSG);
			assert_int_equal(message.bytes, 77);
			qoi_consumer_release(&pair.consumer);
			expect_message(&pair, 1, 10);
			pair_destroy(&pair);
		}
	}
}

static void an_impossible_credit_is_an_error(void **state)
{
	static const uint64_t forged[] = { 9, 15, 0, UINT64_MAX, 1000 };
	struct pair pair;
	void *payload = NULL;
	uint32_t i;

	(void)state;
	for (i = 0; i < 5; i++) {
		pair_create(&pair, 4, 8, QOI_ENCODING_CLASSIC, 10, 1);
		for (uint64_t n = 0; n < 4; n++)
			send_message(&pair, n, 8, 0);
		*pair.credit = forged[i];
		assert_int_equal(qoi_producer_claim(&pair.producer, &payload),
				 -EBADMSG);
		*pair.credit = 11;
		assert_int_equal(qoi_producer_claim(&pair.producer, &payload),
				 0);
		pair_destroy(&pair);
	}
}

/* Chunks may land in any order, and each is usable by itself. */
static void chunks_that_land_backwards_make_one_message(void **state)
{
	struct pair pair;
	struct qoi_message message;
	uint8_t copy[1024], stale[1024];
	uint32_t e, at;

	(void)state;
	for (e = 1; e < ENCODING_COUNT; e++) {
		uint32_t width = encodings[e] == QOI_ENCODING_CHUNK16 ? 16 : 8;

		if (!encoding_is_here(encodings[e]))
			continue;
		pair_create(&pair, 1, 90, encodings[e], UINT64_C(0) - 3, 1);
		for (uint64_t n = 0; n < 6; n++) {
			uint32_t bytes = qoi_slot_stride(&pair.shape);

			assert_true(bytes <= sizeof(copy));
			memcpy(stale, pair.slots, bytes);
			send_message(&pair, n, 90, 0);
			memcpy(copy, pair.slots, bytes);
			memcpy(pair.slots, stale, bytes);
			for (at = bytes; at > 0; at -= width) {
				assert_int_equal(qoi_consumer_peek(&pair.consumer,
								   &message),
						 -EAGAIN);
				memcpy(pair.slots + at - width,
				       copy + at - width, width);
			}
			expect_message(&pair, n, 90);
		}
		pair_destroy(&pair);
	}
}

/*
 * Without the sweep, the last chunk of a slot that saw only short messages
 * for 65536 laps would pass for new.
 */
static void a_stale_chunk_never_comes_round_again(void **state)
{
	struct pair pair;
	struct qoi_message message;
	uint64_t n, laps = (UINT64_C(1) << 16);
	uint32_t e, width;

	(void)state;
	for (e = 1; e < ENCODING_COUNT; e++) {
		if (!encoding_is_here(encodings[e]))
			continue;
		width = encodings[e] == QOI_ENCODING_CHUNK16 ? 16 : 8;
		pair_create(&pair, 1, 200, encodings[e], 0, 1);
		send_message(&pair, 0, 200, 0);
		expect_message(&pair, 0, 200);
		for (n = 1; n < laps; n++) {
			send_message(&pair, n, 1, 0);
			expect_message(&pair, n, 1);
		}
		/* Only the first chunk of a long message has landed. */
		uint8_t before[512], after[16];

		memcpy(before, pair.slots, qoi_slot_stride(&pair.shape));
		send_message(&pair, n, 200, 0);
		memcpy(after, pair.slots, width);
		memcpy(pair.slots, before, qoi_slot_stride(&pair.shape));
		memcpy(pair.slots, after, width);
		assert_int_equal(qoi_consumer_peek(&pair.consumer, &message),
				 -EAGAIN);
		assert_int_equal(pair.consumer.chunks_ready, 1);
		/* Nor does any other chunk have the tag already. */
		for (uint32_t at = width;
		     at + width <= qoi_slot_stride(&pair.shape); at += width)
			assert_true(memcmp(pair.slots + at + width - 2,
					   after + width - 2, 2) != 0);
		pair_destroy(&pair);
	}
}

static void shapes_out_of_range_are_refused(void **state)
{
	static const struct qoi_queue_shape bad[] = {
		{ 0, 64, QOI_ENCODING_CLASSIC },
		{ 3, 64, QOI_ENCODING_CLASSIC },
		{ 2 * QOI_QUEUE_SLOTS_MAX, 64, QOI_ENCODING_CLASSIC },
		{ 4, QOI_QUEUE_PAYLOAD_MAX + 1, QOI_ENCODING_CLASSIC },
		{ 4, UINT32_MAX, QOI_ENCODING_CLASSIC },
		{ 4, 64, 0 },
		{ 4, 64, 4 },
		{ 4, 6 * QOI_QUEUE_CHUNKS_MAX, QOI_ENCODING_CHUNK8 },
	};
	uint64_t slots[64];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(qoi_queue_shape_check(&bad[i]), -EINVAL);
		assert_int_equal(qoi_queue_format(&bad[i], slots, 0), -EINVAL);
	}
}

static void sizes_of_large_queues_do_not_overflow(void **state)
{
	struct qoi_queue_shape shape = { QOI_QUEUE_SLOTS_MAX,
					 QOI_QUEUE_PAYLOAD_MAX,
					 QOI_ENCODING_CLASSIC };

	(void)state;
	assert_int_equal(qoi_queue_shape_check(&shape), 0);
	assert_int_equal(qoi_slot_stride(&shape), (UINT32_C(1) << 30) + 64);
	assert_true(qoi_queue_bytes(&shape) == ((UINT64_C(1) << 30) + 64) << 20);
}

static void a_raw_slot_arrives_at_its_position_only(void **state)
{
	struct pair pair;
	uint64_t position = UINT64_C(0) - 2;
	uint8_t *slot;
	int i;

	(void)state;
	pair_create(&pair, 2, 24, QOI_ENCODING_CLASSIC, position, 1);
	for (i = 0; i < 5; i++, position++) {
		slot = qoi_slot(pair.slots, &pair.shape, position);
		assert_false(qoi_slot_arrived(slot, position));
		qoi_slot_publish(slot, position, 5, 6, 7);
		assert_true(qoi_slot_arrived(slot, position));
		assert_false(qoi_slot_arrived(slot, position + 2));
		assert_int_equal(qoi_slot_bytes(slot), 5);
		assert_int_equal(qoi_slot_kind(slot), 6);
		assert_int_equal(qoi_slot_flags(slot), 7);
		assert_int_equal((uintptr_t)qoi_slot_payload(slot) % 16, 0);
	}
	pair_destroy(&pair);
}

static void a_header_tells_the_shape_or_what_is_wrong(void **state)
{
	static const struct qoi_queue_shape shape = { 8, 100,
						      QOI_ENCODING_CHUNK8 };
	struct qoi_layout_queue_header header, forged;
	struct qoi_queue_shape read;
	uint64_t start, epoch;

	(void)state;
	memset(&header, 0, sizeof(header));
	assert_int_equal(qoi_queue_header_read(&header, &read, &start, &epoch),
			 -EAGAIN);
	qoi_queue_header_publish(&header, &shape, UINT64_MAX, 3);
	assert_int_equal(qoi_queue_header_read(&header, &read, &start, &epoch),
			 0);
	assert_memory_equal(&read, &shape, sizeof(shape));
	assert_true(start == UINT64_MAX && epoch == 3);
	forged = header;
	forged.version++;
	assert_int_equal(qoi_queue_header_read(&forged, &read, &start, &epoch),
			 -EPROTONOSUPPORT);
	forged = header;
	forged.layout_hash ^= 1;
	assert_int_equal(qoi_queue_header_read(&forged, &read, &start, &epoch),
			 -EPROTONOSUPPORT);
	forged = header;
	forged.magic ^= 1;
	assert_int_equal(qoi_queue_header_read(&forged, &read, &start, &epoch),
			 -EBADMSG);
	forged = header;
	forged.slot_count = 7;
	assert_int_equal(qoi_queue_header_read(&forged, &read, &start, &epoch),
			 -EBADMSG);
	forged = header;
	forged.slot_stride = 64;
	assert_int_equal(qoi_queue_header_read(&forged, &read, &start, &epoch),
			 -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_come_in_order_across_every_wrap),
		cmocka_unit_test(a_full_queue_takes_nothing_and_says_so),
		cmocka_unit_test(credits_return_in_batches_and_by_flush),
		cmocka_unit_test(a_claim_is_invisible_until_committed),
		cmocka_unit_test(a_peeked_message_stays_until_released),
		cmocka_unit_test(a_message_over_the_slot_is_refused_whole),
		cmocka_unit_test(a_hostile_length_is_an_error_and_can_be_skipped),
		cmocka_unit_test(an_impossible_credit_is_an_error),
		cmocka_unit_test(chunks_that_land_backwards_make_one_message),
		cmocka_unit_test(a_stale_chunk_never_comes_round_again),
		cmocka_unit_test(shapes_out_of_range_are_refused),
		cmocka_unit_test(sizes_of_large_queues_do_not_overflow),
		cmocka_unit_test(a_raw_slot_arrives_at_its_position_only),
		cmocka_unit_test(a_header_tells_the_shape_or_what_is_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
