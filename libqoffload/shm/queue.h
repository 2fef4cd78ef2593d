/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The queue: one producer, one consumer, fixed slots in the consumer's window,
 * credits in the producer's window; each side polls its own memory only.
 *
 * Positions are free-running 64-bit counts.  The sequence word of position p
 * holds p + 1, published last.  Slots: see edge_slot in docs/contract.md.
 * Everything that the other side wrote is checked before it is used.
 */
#ifndef QOI_QUEUE_H
#define QOI_QUEUE_H

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "libqoffload/shm/atomic.h"
#include "libqoffload/shm/layout.h"

#define QOI_SLOT_HEADER_BYTES 16
/* The producer's line for the consumed count, at its start. */
#define QOI_CREDIT_BYTES 128

#define QOI_QUEUE_SLOTS_MAX (UINT32_C(1) << 20)
#define QOI_QUEUE_PAYLOAD_MAX (UINT32_C(1) << 30)
/* The sweep rewrites each chunk within so many laps, of 65536. */
#define QOI_QUEUE_CHUNKS_MAX UINT32_C(16384)

struct qoi_queue_shape {
	uint32_t slot_count; /* a power of two */
	uint32_t payload_bytes;
	uint32_t encoding; /* QOI_ENCODING_CLASSIC, _CHUNK16 or _CHUNK8 */
};

/*
 * Returns 0; -EINVAL: slot count, payload or encoding out of range;
 * -EOPNOTSUPP: no 16-byte access on this architecture.
 */
int qoi_queue_shape_check(const struct qoi_queue_shape *shape);

static inline uint32_t qoi_slot_stride_classic(uint32_t payload_bytes)
{
	return (QOI_SLOT_HEADER_BYTES + payload_bytes + 63) & ~UINT32_C(63);
}

/* Bytes from one slot to the next; a multiple of 64.  The shape is valid. */
uint32_t qoi_slot_stride(const struct qoi_queue_shape *shape);

/* Bytes of the slots in the consumer's window; a multiple of 128. */
uint64_t qoi_queue_bytes(const struct qoi_queue_shape *shape);

/*
 * Bytes of private memory that each side of a chunked queue needs to stage a
 * payload; 0 for the classic encoding.
 */
uint64_t qoi_queue_staging_bytes(const struct qoi_queue_shape *shape);

/*
 * Stamps every slot with the lap before the first, so that nothing seems to
 * have arrived from `start` on, whatever its value.  By the consumer, before
 * the memory is shared; slots: 64-byte aligned.  Returns as the shape check.
 */
int qoi_queue_format(const struct qoi_queue_shape *shape, void *slots,
		     uint64_t start);

/* Makes a credit line say "nothing consumed"; by the producer, likewise. */
void qoi_credit_format(uint64_t *credit, uint64_t start);

/*
 * Raw slots of the classic encoding.
 */
static inline uint8_t *qoi_slot(void *slots, const struct qoi_queue_shape *shape,
				uint64_t position)
{
	uint64_t index = position & (shape->slot_count - 1);

	return (uint8_t *)slots +
	       index * qoi_slot_stride_classic(shape->payload_bytes);
}

static inline int qoi_slot_arrived(const void *slot, uint64_t position)
{
	const struct qoi_layout_edge_slot *header = slot;

	/* P1 -> O1: payload and header before the sequence */
	return qoi_observe64_at(QOI_EDGE_O1, &header->sequence) == position + 1;
}

static inline void *qoi_slot_payload(void *slot)
{
	return (uint8_t *)slot + QOI_SLOT_HEADER_BYTES;
}

/* Read once and kept: a hostile producer may change them at any time. */
static inline uint32_t qoi_slot_bytes(const void *slot)
{
	return qoi_own32(&((const struct qoi_layout_edge_slot *)slot)->bytes);
}

static inline uint16_t qoi_slot_kind(const void *slot)
{
	return qoi_own16(&((const struct qoi_layout_edge_slot *)slot)->kind);
}

static inline uint16_t qoi_slot_flags(const void *slot)
{
	return qoi_own16(&((const struct qoi_layout_edge_slot *)slot)->flags);
}

static inline void qoi_slot_publish(void *slot, uint64_t position,
				    uint32_t bytes, uint16_t kind,
				    uint16_t flags)
{
	struct qoi_layout_edge_slot *header = slot;

	qoi_set_own32(&header->bytes, bytes);
	qoi_set_own16(&header->kind, kind);
	qoi_set_own16(&header->flags, flags);
	/* P1 -> O1: payload and header before the sequence */
	qoi_publish64_at(QOI_EDGE_P1, &header->sequence, position + 1);
}

/*
 * The two ends, each private to one thread, and padded so that two of them
 * side by side share no cache line.
 */
struct qoi_producer {
	uint8_t *slots;		/* owner: the consumer's window */
	const uint64_t *credit; /* owner: the producer's window */
	uint8_t *staging;	/* owner: the caller; NULL if classic */
	uint64_t position;	/* of the next message */
	uint64_t limit;		/* the first position without credit */
	uint32_t slot_count;
	uint32_t stride;
	uint32_t payload_bytes;
	uint32_t encoding;
	uint8_t separation[128];
};

struct qoi_consumer {
	uint8_t *slots;	   /* owner: the consumer's window */
	uint64_t *credit;  /* owner: the producer's window */
	uint8_t *staging;  /* owner: the caller; NULL if classic */
	uint64_t position; /* of the next message */
	uint64_t returned; /* the count that credit says */
	uint32_t slot_count;
	uint32_t stride;
	uint32_t payload_bytes;
	uint32_t encoding;
	uint32_t credit_batch;
	uint32_t chunks_ready; /* of the next message, gathered so far */
	uint8_t separation[128];
};

struct qoi_message {
	const void *payload; /* in place, or in the staging; until release */
	uint32_t bytes;
	uint16_t kind;
	uint16_t flags;
};

/* The shape is valid; the start is that of the format. */
void qoi_producer_init(struct qoi_producer *producer,
		       const struct qoi_queue_shape *shape, void *slots,
		       const uint64_t *credit, uint64_t start);
/* credit_batch: slots per returned credit; 0 means 1, too many means all. */
void qoi_consumer_init(struct qoi_consumer *consumer,
		       const struct qoi_queue_shape *shape, void *slots,
		       uint64_t *credit, uint64_t start, uint32_t credit_batch);

/* Chunked: qoi_queue_staging_bytes(), 8-byte aligned, before the first use. */
void qoi_producer_set_staging(struct qoi_producer *producer, void *staging);
void qoi_consumer_set_staging(struct qoi_consumer *consumer, void *staging);

/* Out of line, for the functions below. */
int qoi_producer_refresh(struct qoi_producer *producer);
void qoi_producer_commit_chunks(struct qoi_producer *producer, uint32_t bytes,
				uint16_t kind, uint16_t flags);
int qoi_consumer_peek_chunks(struct qoi_consumer *consumer,
			     struct qoi_message *message_out);

/*
 * Where to write the next payload, 8-byte aligned at least; until commit or
 * abort.  Reads the credit only when what it knew is used up.
 * Returns 0; -EAGAIN: full, nothing was taken; -EBADMSG: an impossible credit.
 */
static inline int qoi_producer_claim(struct qoi_producer *producer,
				     void **payload_out)
{
	uint64_t index = producer->position & (producer->slot_count - 1);

	if (producer->position == producer->limit) {
		int error = qoi_producer_refresh(producer);

		if (error != 0)
			return error;
	}
	if (producer->encoding == QOI_ENCODING_CLASSIC)
		*payload_out = qoi_slot_payload(producer->slots +
						index * producer->stride);
	else
		*payload_out = producer->staging + QOI_CHUNK_PREFIX_BYTES;
	return 0;
}

/* Sends what was claimed.  bytes <= payload_bytes. */
static inline void qoi_producer_commit(struct qoi_producer *producer,
				       uint32_t bytes, uint16_t kind,
				       uint16_t flags)
{
	uint64_t position = producer->position;
	uint64_t index = position & (producer->slot_count - 1);

	assert(bytes <= producer->payload_bytes);
	assert(position != producer->limit);
	if (producer->encoding == QOI_ENCODING_CLASSIC)
		qoi_slot_publish(producer->slots + index * producer->stride,
				 position, bytes, kind, flags);
	else
		qoi_producer_commit_chunks(producer, bytes, kind, flags);
	producer->position = position + 1;
}

/* Gives a claim back: nothing was sent, the next claim is the same slot. */
static inline void qoi_producer_abort(struct qoi_producer *producer)
{
	/* A claim moves nothing; the call is for the reader of the code. */
	(void)producer;
}

/*
 * Claims, copies and commits.  data: any alignment; NULL if bytes is 0.
 * Returns as claim, or -EMSGSIZE: more than payload_bytes.
 */
static inline int qoi_producer_send(struct qoi_producer *producer,
				    const void *data, uint32_t bytes,
				    uint16_t kind, uint16_t flags)
{
	void *payload;
	int error;

	if (bytes > producer->payload_bytes)
		return -EMSGSIZE;
	error = qoi_producer_claim(producer, &payload);
	if (error != 0)
		return error;
	if (bytes != 0)
		memcpy(payload, data, bytes);
	qoi_producer_commit(producer, bytes, kind, flags);
	return 0;
}

/*
 * Looks at the next message; it stays until released.
 * Returns 0; -EAGAIN: none yet; -EBADMSG: its length exceeds the slot, and
 * a release skips it.
 */
static inline int qoi_consumer_peek(struct qoi_consumer *consumer,
				    struct qoi_message *message_out)
{
	uint64_t index = consumer->position & (consumer->slot_count - 1);
	uint8_t *slot = consumer->slots + index * consumer->stride;
	uint32_t bytes;

	if (consumer->encoding != QOI_ENCODING_CLASSIC)
		return qoi_consumer_peek_chunks(consumer, message_out);
	if (!qoi_slot_arrived(slot, consumer->position))
		return -EAGAIN;
	bytes = qoi_slot_bytes(slot);
	if (bytes > consumer->payload_bytes)
		return -EBADMSG;
	message_out->payload = qoi_slot_payload(slot);
	message_out->bytes = bytes;
	message_out->kind = qoi_slot_kind(slot);
	message_out->flags = qoi_slot_flags(slot);
	return 0;
}

/* Returns the credits that are still held back. */
static inline void qoi_consumer_flush(struct qoi_consumer *consumer)
{
	if (consumer->returned == consumer->position)
		return;
	consumer->returned = consumer->position;
	/* P2 -> O2: reads of the slots before their credit */
	qoi_publish64_at(QOI_EDGE_P2, consumer->credit, consumer->position);
}

/* Done with the message that peek showed; its slot will be reused. */
static inline void qoi_consumer_release(struct qoi_consumer *consumer)
{
	consumer->position++;
	consumer->chunks_ready = 0;
	if (consumer->position - consumer->returned >= consumer->credit_batch)
		qoi_consumer_flush(consumer);
}

/*
 * The queue's header, for whoever maps it: written last by its owner, into
 * memory that is zero.
 */
void qoi_queue_header_publish(struct qoi_layout_queue_header *header,
			      const struct qoi_queue_shape *shape,
			      uint64_t start, uint64_t epoch);

/*
 * Reads a header that another process wrote.
 * Returns 0; -EAGAIN: not published yet; -EPROTONOSUPPORT: another version or
 * layout; -EBADMSG: values that don't fit each other; -EOPNOTSUPP: encoding.
 */
int qoi_queue_header_read(const struct qoi_layout_queue_header *header,
			  struct qoi_queue_shape *shape_out,
			  uint64_t *start_out, uint64_t *epoch_out);

#endif
