/* SPDX-License-Identifier: BSD-3-Clause */
#include "libqoffload/attach/segment.h"

#include <errno.h>
#include <inttypes.h>

#include "libqoffload/base/error.h"

#define PAGE_BYTES UINT64_C(4096)
#define LINE_BYTES UINT64_C(128)
/* The bell lies somewhere in a page of a few lines. */
#define BELL_PAGE_MAX (UINT64_C(1) << 20)
/* No request has it: generations have 32 bits. */
#define SEQUENCE_NONE UINT64_MAX

_Static_assert(sizeof(struct qoi_layout_attach_page) == LINE_BYTES,
	       "the bell follows the page");
_Static_assert(sizeof(struct qoi_layout_bell) == LINE_BYTES,
	       "the lanes follow the bell");
_Static_assert(QOI_COMMAND_PAYLOAD_BYTES == sizeof(struct qoi_command),
	       "a command fills its slot");

static uint64_t round_up(uint64_t bytes, uint64_t step)
{
	return (bytes + step - 1) / step * step;
}

static int check_bell(const struct qoi_layout_attach_offer *offer)
{
	if (offer->bell_bytes == 0 && offer->bell_offset == 0)
		return 0;
	if (offer->bell_bytes <= BELL_PAGE_MAX &&
	    offer->bell_bytes >= sizeof(struct qoi_layout_bell) &&
	    offer->bell_offset % sizeof(uint32_t) == 0 &&
	    offer->bell_offset <=
		    offer->bell_bytes - sizeof(struct qoi_layout_bell))
		return 0;
	return qoi_fail(-EBADMSG,
			"attach: a bell at %" PRIu32 " of a page of %" PRIu64
			" bytes",
			offer->bell_offset, offer->bell_bytes);
}

int qoi_attach_places(const struct qoi_layout_attach_offer *offer,
		      struct qoi_attach_places *places_out)
{
	struct qoi_attach_places places = {
		.lane_shape = {
			.slot_count = offer->lane_slots,
			.payload_bytes = QOI_COMMAND_PAYLOAD_BYTES,
			.encoding = QOI_ENCODING_CLASSIC,
		},
		.bell = sizeof(struct qoi_layout_attach_page),
	};
	int error = check_bell(offer);

	if (error != 0)
		return error;
	if (offer->lane_count == 0 || offer->lane_count > QOI_LANES_MAX ||
	    offer->lane_slots > QOI_LANE_SLOTS_MAX ||
	    qoi_queue_shape_check(&places.lane_shape) != 0)
		return qoi_fail(-EBADMSG,
				"attach: %" PRIu32 " lanes of %" PRIu32
				" slots; want 1 to %d lanes, and a power of two"
				" up to %d",
				offer->lane_count, offer->lane_slots,
				QOI_LANES_MAX, QOI_LANE_SLOTS_MAX);
	if (offer->completion_count == 0 ||
	    offer->completion_count > QOI_COMPLETIONS_MAX)
		return qoi_fail(-EBADMSG,
				"attach: %" PRIu32
				" completion slots; want 1 to %" PRIu32,
				offer->completion_count, QOI_COMPLETIONS_MAX);
	places.lanes = places.bell + sizeof(struct qoi_layout_bell);
	places.lane_stride =
		QOI_CREDIT_BYTES + qoi_queue_bytes(&places.lane_shape);
	places.completions =
		places.lanes + offer->lane_count * places.lane_stride;
	places.bytes = round_up(
		places.completions +
			(uint64_t)offer->completion_count *
				sizeof(struct qoi_layout_completion_slot),
		PAGE_BYTES);
	*places_out = places;
	return 0;
}

void qoi_attach_format(const struct qoi_attach_places *places,
		       const struct qoi_layout_attach_offer *offer,
		       uint8_t *base)
{
	memset(base, 0, places->lanes);
	for (uint32_t i = 0; i < offer->lane_count; i++) {
		uint8_t *slots = qoi_attach_lane_slots(places, base, i);

		qoi_credit_format(qoi_attach_lane_credit(places, base, i), 0);
		/* It can't fail: the shape was checked with the places. */
		(void)qoi_queue_format(&places->lane_shape, slots, 0);
	}
	for (uint32_t i = 0; i < offer->completion_count; i++) {
		struct qoi_layout_completion_slot *slot =
			qoi_attach_completion(places, base, i);

		slot->sequence = SEQUENCE_NONE;
		slot->word = 0;
	}
}

void qoi_attach_complete(struct qoi_layout_completion_slot *slot, uint64_t word,
			 uint32_t generation)
{
	qoi_set_own64(&slot->word, word);
	/* P6 -> O6: the result and the word before the sequence */
	qoi_publish64_at(QOI_EDGE_P6, &slot->sequence, generation);
}

int qoi_attach_completed(const struct qoi_layout_completion_slot *slot,
			 uint32_t generation, uint64_t *word_out)
{
	/* P6 -> O6: the result and the word before the sequence */
	if (qoi_observe64_at(QOI_EDGE_O6, &slot->sequence) != generation)
		return 0;
	*word_out = qoi_own64(&slot->word);
	return 1;
}
