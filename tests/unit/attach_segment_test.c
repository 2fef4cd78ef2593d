/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libqoffload/attach/segment.h"

static const struct qoi_layout_attach_offer usual = {
	.lane_count = 3,
	.lane_slots = 64,
	.completion_count = 1000,
};

static void everything_has_its_place_and_nothing_overlaps(void **state)
{
	struct qoi_attach_places places;
	uint64_t lane_bytes;

	(void)state;
	assert_int_equal(qoi_attach_places(&usual, &places), 0);
	assert_int_equal(places.bell, 128);
	assert_int_equal(places.lanes, 256);
	lane_bytes = QOI_CREDIT_BYTES + 64 * QOI_LAYOUT_COMMAND_SLOT_BYTES;
	assert_int_equal(places.lane_stride, lane_bytes);
	assert_int_equal(places.completions, 256 + 3 * lane_bytes);
	assert_int_equal(places.completions % 128, 0);
	assert_int_equal(places.bytes % 4096, 0);
	assert_true(places.bytes >=
		    places.completions +
			    sizeof(struct qoi_layout_completion_slot) * 1000);
	assert_true(places.bytes <
		    places.completions +
			    sizeof(struct qoi_layout_completion_slot) * 1000 +
			    4096);
}

static void assert_refused(struct qoi_layout_attach_offer offer)
{
	struct qoi_attach_places places = { .bytes = 7 };

	assert_int_equal(qoi_attach_places(&offer, &places), -EBADMSG);
	assert_int_equal(places.bytes, 7);
}

static void an_offer_out_of_range_is_refused(void **state)
{
	struct qoi_layout_attach_offer offer = usual;

	(void)state;
	offer.lane_count = 0;
	assert_refused(offer);
	offer.lane_count = QOI_LANES_MAX + 1;
	assert_refused(offer);
	offer.lane_count = UINT32_MAX;
	assert_refused(offer);
	offer = usual;
	offer.lane_slots = 0;
	assert_refused(offer);
	offer.lane_slots = 48;
	assert_refused(offer);
	offer.lane_slots = QOI_LANE_SLOTS_MAX * 2;
	assert_refused(offer);
	offer = usual;
	offer.completion_count = 0;
	assert_refused(offer);
	offer.completion_count = QOI_COMPLETIONS_MAX + 1;
	assert_refused(offer);
	offer.completion_count = UINT32_MAX;
	assert_refused(offer);
}

static void the_largest_offer_is_computed_without_overflow(void **state)
{
	struct qoi_layout_attach_offer offer = {
		.lane_count = QOI_LANES_MAX,
		.lane_slots = QOI_LANE_SLOTS_MAX,
		.completion_count = QOI_COMPLETIONS_MAX,
	};
	struct qoi_attach_places places;

	(void)state;
	assert_int_equal(qoi_attach_places(&offer, &places), 0);
	assert_true(places.bytes >
		    (uint64_t)QOI_LANES_MAX * QOI_LANE_SLOTS_MAX * 64 +
			    (uint64_t)QOI_COMPLETIONS_MAX *
				    sizeof(struct qoi_layout_completion_slot));
}

static void a_bell_lies_within_its_page(void **state)
{
	struct qoi_layout_attach_offer offer = usual;
	struct qoi_attach_places places;

	(void)state;
	offer.bell_bytes = 4096;
	offer.bell_offset = 4096 - 128;
	assert_int_equal(qoi_attach_places(&offer, &places), 0);
	offer.bell_offset += 4;
	assert_refused(offer);
	offer.bell_offset = 2;
	assert_refused(offer);
	offer.bell_offset = UINT32_MAX - 3;
	assert_refused(offer);
	offer.bell_offset = 0;
	offer.bell_bytes = 127;
	assert_refused(offer);
	offer.bell_bytes = UINT64_MAX;
	assert_refused(offer);
	/* An offset into no page at all. */
	offer.bell_bytes = 0;
	offer.bell_offset = 64;
	assert_refused(offer);
}

/* Where the segment would be; dirty, so that the format has work. */
static uint8_t *make_segment(struct qoi_attach_places *places)
{
	uint8_t *base;

	assert_int_equal(qoi_attach_places(&usual, places), 0);
	base = aligned_alloc(4096, places->bytes);
	assert_non_null(base);
	memset(base, 0x5a, places->bytes);
	qoi_attach_format(places, &usual, base);
	return base;
}

static void a_fresh_segment_has_no_command_and_no_completion(void **state)
{
	struct qoi_attach_places places;
	uint8_t *base = make_segment(&places);
	uint64_t word;

	(void)state;
	for (uint64_t i = 0; i < places.lanes; i++)
		assert_int_equal(base[i], 0);
	for (uint32_t i = 0; i < usual.lane_count; i++) {
		struct qoi_consumer consumer;
		struct qoi_message message;

		qoi_consumer_init(&consumer, &places.lane_shape,
				  qoi_attach_lane_slots(&places, base, i),
				  qoi_attach_lane_credit(&places, base, i), 0,
				  0);
		assert_int_equal(qoi_consumer_peek(&consumer, &message),
				 -EAGAIN);
	}
	for (uint32_t i = 0; i < usual.completion_count; i++) {
		const struct qoi_layout_completion_slot *slot =
			qoi_attach_completion(&places, base, i);

		assert_int_equal(qoi_attach_completed(slot, 0, &word), 0);
		assert_int_equal(qoi_attach_completed(slot, 1, &word), 0);
		assert_int_equal(qoi_attach_completed(slot, UINT32_MAX, &word),
				 0);
	}
	free(base);
}

/* Each lane is filled to the brim: a lane's slots are its own. */
static void lanes_carry_commands_side_by_side(void **state)
{
	struct qoi_attach_places places;
	uint8_t *base = make_segment(&places);

	(void)state;
	for (uint32_t i = 0; i < usual.lane_count; i++) {
		struct qoi_producer producer;

		qoi_producer_init(&producer, &places.lane_shape,
				  qoi_attach_lane_slots(&places, base, i),
				  qoi_attach_lane_credit(&places, base, i), 0);
		for (uint32_t n = 0; n < usual.lane_slots; n++) {
			struct qoi_command command = { .op_slot = i,
						       .round = n };

			assert_int_equal(qoi_producer_send(&producer, &command,
							   sizeof(command),
							   QOI_COMMAND_POST, 0),
					 0);
		}
		assert_int_equal(qoi_producer_send(&producer, NULL, 0, 0, 0),
				 -EAGAIN);
	}
	for (uint32_t i = 0; i < usual.lane_count; i++) {
		struct qoi_consumer consumer;
		struct qoi_message message;
		struct qoi_command command;

		qoi_consumer_init(&consumer, &places.lane_shape,
				  qoi_attach_lane_slots(&places, base, i),
				  qoi_attach_lane_credit(&places, base, i), 0,
				  0);
		for (uint32_t n = 0; n < usual.lane_slots; n++) {
			assert_int_equal(qoi_consumer_peek(&consumer, &message),
					 0);
			assert_int_equal(message.bytes, sizeof(command));
			memcpy(&command, message.payload, sizeof(command));
			assert_int_equal(command.op_slot, i);
			assert_int_equal(command.round, n);
			qoi_consumer_release(&consumer);
		}
		assert_int_equal(qoi_consumer_peek(&consumer, &message),
				 -EAGAIN);
	}
	/* Nothing of it reached the completions. */
	for (uint32_t i = 0; i < usual.completion_count; i++)
		assert_int_equal(qoi_attach_completion(&places, base, i)->word,
				 0);
	free(base);
}

static void a_completion_is_seen_for_its_own_generation_alone(void **state)
{
	struct qoi_attach_places places;
	uint8_t *base = make_segment(&places);
	struct qoi_layout_completion_slot *slot =
		qoi_attach_completion(&places, base, 999);
	uint64_t word = 0;

	(void)state;
	assert_true((uint8_t *)(slot + 1) <= base + places.bytes);
	qoi_attach_complete(slot, 0x1234, 7);
	assert_int_equal(qoi_attach_completed(slot, 6, &word), 0);
	assert_int_equal(qoi_attach_completed(slot, 8, &word), 0);
	assert_int_equal(word, 0);
	assert_int_equal(qoi_attach_completed(slot, 7, &word), 1);
	assert_int_equal(word, 0x1234);
	qoi_attach_complete(slot, 0x5678, UINT32_MAX);
	assert_int_equal(qoi_attach_completed(slot, 7, &word), 0);
	assert_int_equal(qoi_attach_completed(slot, UINT32_MAX, &word), 1);
	assert_int_equal(word, 0x5678);
	free(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_has_its_place_and_nothing_overlaps),
		cmocka_unit_test(an_offer_out_of_range_is_refused),
		cmocka_unit_test(the_largest_offer_is_computed_without_overflow),
		cmocka_unit_test(a_bell_lies_within_its_page),
		cmocka_unit_test(
			a_fresh_segment_has_no_command_and_no_completion),
		cmocka_unit_test(lanes_carry_commands_side_by_side),
		cmocka_unit_test(
			a_completion_is_seen_for_its_own_generation_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
