/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The segment that a client shares with the daemon: where things lie in it.
 * The client makes it, the daemon maps it, both compute the same places from
 * the offer, and the daemon checks them against the size.
 *
 *	page (128)          what the daemon says: whether it sleeps
 *	bell (128)          of the client, unless a provider's page has it
 *	lanes               each: credit line (128), then the slots
 *	completion table    32 bytes for each request slot
 */
#ifndef QOI_ATTACH_SEGMENT_H
#define QOI_ATTACH_SEGMENT_H

#include <stdint.h>

#include "libqoffload/shm/bell.h"
#include "libqoffload/shm/layout.h"
#include "libqoffload/shm/queue.h"

#define QOI_LANES_MAX 16
#define QOI_LANE_SLOTS_MAX 4096
#define QOI_COMPLETIONS_MAX (UINT32_C(1) << 20)
/* What a command slot has behind its header. */
#define QOI_COMMAND_PAYLOAD_BYTES                                              \
	(QOI_LAYOUT_COMMAND_SLOT_BYTES - QOI_SLOT_HEADER_BYTES)

struct qoi_command {
	uint32_t op_slot;
	uint32_t generation;
	uint64_t round;
	uint64_t argument[4];
};

struct qoi_attach_places {
	struct qoi_queue_shape lane_shape;
	uint64_t bell;
	uint64_t lanes; /* of lane 0 */
	uint64_t lane_stride;
	uint64_t completions;
	uint64_t bytes; /* of the whole segment, a multiple of 4096 */
};

/*
 * Computes the places.  Returns 0, or -EBADMSG (told): counts out of range or
 * not powers of two.
 */
int qoi_attach_places(const struct qoi_layout_attach_offer *offer,
		      struct qoi_attach_places *places_out);

/* Formats a fresh segment; by the client, before it is shared. */
void qoi_attach_format(const struct qoi_attach_places *places,
		       const struct qoi_layout_attach_offer *offer,
		       uint8_t *base);

static inline uint64_t *
qoi_attach_lane_credit(const struct qoi_attach_places *places, uint8_t *base,
		       uint32_t lane)
{
	return (uint64_t *)(void *)(base + places->lanes +
				    lane * places->lane_stride);
}

static inline uint8_t *
qoi_attach_lane_slots(const struct qoi_attach_places *places, uint8_t *base,
		      uint32_t lane)
{
	return (uint8_t *)qoi_attach_lane_credit(places, base, lane) +
	       QOI_CREDIT_BYTES;
}

static inline struct qoi_layout_completion_slot *
qoi_attach_completion(const struct qoi_attach_places *places, uint8_t *base,
		      uint32_t index)
{
	return (struct qoi_layout_completion_slot *)(void *)(base +
							     places->completions) +
	       index;
}

/* Ends a request: P6 -> O6, the word before the sequence. */
void qoi_attach_complete(struct qoi_layout_completion_slot *slot, uint64_t word,
			 uint32_t generation);
/* 1 and the word when the request of this generation has ended, else 0. */
int qoi_attach_completed(const struct qoi_layout_completion_slot *slot,
			 uint32_t generation, uint64_t *word_out);

/*
 * What a rank copies to itself in an operation of one stage can be done by a
 * thread that waits for it, or by the daemon: who claims it first.
 */
static inline uint32_t qoi_attach_local_word(uint32_t generation, uint32_t state)
{
	return generation << 2 | state;
}

static inline void qoi_attach_local_reset(struct qoi_layout_completion_slot *slot,
					  uint32_t generation)
{
	qoi_set_own32(&slot->own_copies,
		      qoi_attach_local_word(generation, QOI_LOCAL_FREE));
}

/* A thread of the client has done what it claimed. */
static inline void qoi_attach_local_done(struct qoi_layout_completion_slot *slot,
					 uint32_t generation)
{
	qoi_publish32(&slot->own_copies,
		      qoi_attach_local_word(generation, QOI_LOCAL_DONE));
}

/* 1 while a thread of the client is at it. */
static inline int
qoi_attach_local_busy(const struct qoi_layout_completion_slot *slot,
		      uint32_t generation)
{
	return qoi_observe32(&slot->own_copies) ==
	       qoi_attach_local_word(generation, QOI_LOCAL_CLIENT);
}

/* 1 when the claim is the caller's; state: QOI_LOCAL_CLIENT or _DAEMON. */
static inline int qoi_attach_local_claim(struct qoi_layout_completion_slot *slot,
					 uint32_t generation, uint32_t state)
{
	return qoi_swap32_if(&slot->own_copies,
			     qoi_attach_local_word(generation, QOI_LOCAL_FREE),
			     qoi_attach_local_word(generation, state));
}

#endif
