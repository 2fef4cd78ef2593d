/* SPDX-License-Identifier: BSD-3-Clause */
#include "libqoffload/shm/queue.h"

#include <inttypes.h>

#include "libqoffload/base/error.h"

_Static_assert(sizeof(struct qoi_layout_edge_slot) == QOI_SLOT_HEADER_BYTES,
	       "the slot header is the edge slot of the contract");

static uint32_t chunk_bytes(uint32_t encoding)
{
	return encoding == QOI_ENCODING_CHUNK16 ? 16 : 8;
}

static uint64_t chunk_count(const struct qoi_queue_shape *shape)
{
	uint64_t piece = chunk_bytes(shape->encoding) - QOI_CHUNK_TAG_BYTES;

	return (QOI_CHUNK_PREFIX_BYTES + (uint64_t)shape->payload_bytes +
		piece - 1) /
	       piece;
}

int qoi_queue_shape_check(const struct qoi_queue_shape *shape)
{
	uint32_t n = shape->slot_count;

	if (n == 0 || (n & (n - 1)) != 0 || n > QOI_QUEUE_SLOTS_MAX)
		return -EINVAL;
	if (shape->payload_bytes > QOI_QUEUE_PAYLOAD_MAX)
		return -EINVAL;
	switch (shape->encoding) {
	case QOI_ENCODING_CLASSIC:
		return 0;
	case QOI_ENCODING_CHUNK16:
		if (!QOI_CHUNK16_HERE)
			return -EOPNOTSUPP;
		break;
	case QOI_ENCODING_CHUNK8:
		break;
	default:
		return -EINVAL;
	}
	return chunk_count(shape) <= QOI_QUEUE_CHUNKS_MAX ? 0 : -EINVAL;
}

uint32_t qoi_slot_stride(const struct qoi_queue_shape *shape)
{
	uint64_t bytes;

	if (shape->encoding == QOI_ENCODING_CLASSIC)
		return qoi_slot_stride_classic(shape->payload_bytes);
	bytes = chunk_count(shape) * chunk_bytes(shape->encoding);
	return (uint32_t)((bytes + 63) & ~UINT64_C(63));
}

uint64_t qoi_queue_bytes(const struct qoi_queue_shape *shape)
{
	uint64_t bytes = (uint64_t)shape->slot_count * qoi_slot_stride(shape);

	return (bytes + 127) & ~UINT64_C(127);
}

uint64_t qoi_queue_staging_bytes(const struct qoi_queue_shape *shape)
{
	uint32_t piece;

	if (shape->encoding == QOI_ENCODING_CLASSIC)
		return 0;
	/* A piece is moved with its tag's bytes: the last one hangs over. */
	piece = chunk_bytes(shape->encoding) - QOI_CHUNK_TAG_BYTES;
	return (chunk_count(shape) * piece + QOI_CHUNK_TAG_BYTES + 15) &
	       ~UINT64_C(15);
}

/* The lap before the first one that uses this slot. */
static void stamp_chunks(const struct qoi_queue_shape *shape, uint8_t *slot,
			 uint64_t first)
{
	uint64_t lap = first >> __builtin_ctz(shape->slot_count);
	uint64_t word = (lap - 1) << 48;
	uint32_t width = chunk_bytes(shape->encoding);
	uint32_t end = qoi_slot_stride(shape);
	uint32_t at;

	/* The tag is in the last two bytes of either width. */
	for (at = width - 8; at < end; at += width)
		qoi_chunk8_store(slot + at, word);
}

int qoi_queue_format(const struct qoi_queue_shape *shape, void *slots,
		     uint64_t start)
{
	uint64_t mask = (uint64_t)shape->slot_count - 1;
	uint64_t stride;
	uint64_t i;
	int error = qoi_queue_shape_check(shape);

	if (error != 0)
		return error;
	stride = qoi_slot_stride(shape);
	memset(slots, 0, qoi_queue_bytes(shape));
	for (i = 0; i < shape->slot_count; i++) {
		uint8_t *slot = (uint8_t *)slots + i * stride;
		uint64_t first = start + ((i - start) & mask);
		struct qoi_layout_edge_slot *header = (void *)slot;

		if (shape->encoding == QOI_ENCODING_CLASSIC)
			qoi_set_own64(&header->sequence,
				      first + 1 - shape->slot_count);
		else
			stamp_chunks(shape, slot, first);
	}
	return 0;
}

void qoi_credit_format(uint64_t *credit, uint64_t start)
{
	memset(credit, 0, QOI_CREDIT_BYTES);
	qoi_set_own64(credit, start);
}

void qoi_producer_init(struct qoi_producer *producer,
		       const struct qoi_queue_shape *shape, void *slots,
		       const uint64_t *credit, uint64_t start)
{
	memset(producer, 0, sizeof(*producer));
	producer->slots = slots;
	producer->credit = credit;
	producer->position = start;
	producer->limit = start + shape->slot_count;
	producer->slot_count = shape->slot_count;
	producer->stride = qoi_slot_stride(shape);
	producer->payload_bytes = shape->payload_bytes;
	producer->encoding = shape->encoding;
}

void qoi_consumer_init(struct qoi_consumer *consumer,
		       const struct qoi_queue_shape *shape, void *slots,
		       uint64_t *credit, uint64_t start, uint32_t credit_batch)
{
	memset(consumer, 0, sizeof(*consumer));
	consumer->slots = slots;
	consumer->credit = credit;
	consumer->position = start;
	consumer->returned = start;
	consumer->slot_count = shape->slot_count;
	consumer->stride = qoi_slot_stride(shape);
	consumer->payload_bytes = shape->payload_bytes;
	consumer->encoding = shape->encoding;
	if (credit_batch == 0)
		credit_batch = 1;
	if (credit_batch > shape->slot_count)
		credit_batch = shape->slot_count;
	consumer->credit_batch = credit_batch;
}

void qoi_producer_set_staging(struct qoi_producer *producer, void *staging)
{
	producer->staging = staging;
}

void qoi_consumer_set_staging(struct qoi_consumer *consumer, void *staging)
{
	consumer->staging = staging;
}

/*
 * Learns how far the consumer is, when what was known is used up.  The count
 * may only have moved forward, and not past what was sent.
 */
int qoi_producer_refresh(struct qoi_producer *producer)
{
	uint64_t known = producer->limit - producer->slot_count;
	/* P2 -> O2: reads of the slots before their credit */
	uint64_t consumed = qoi_observe64_at(QOI_EDGE_O2, producer->credit);

	if (consumed - known > producer->position - known)
		return -EBADMSG;
	producer->limit = consumed + producer->slot_count;
	return producer->position == producer->limit ? -EAGAIN : 0;
}

void qoi_queue_header_publish(struct qoi_layout_queue_header *header,
			      const struct qoi_queue_shape *shape,
			      uint64_t start, uint64_t epoch)
{
	/* Not the magic: somebody may be looking at it already. */
	memset(&header->version, 0,
	       sizeof(*header) -
		       offsetof(struct qoi_layout_queue_header, version));
	qoi_set_own32(&header->encoding, shape->encoding);
	qoi_set_own32(&header->slot_count, shape->slot_count);
	qoi_set_own32(&header->payload_bytes, shape->payload_bytes);
	qoi_set_own32(&header->slot_stride, qoi_slot_stride(shape));
	qoi_set_own64(&header->start, start);
	qoi_set_own64(&header->epoch, epoch);
	qoi_set_own32(&header->version, QOI_LAYOUT_VERSION);
	qoi_set_own64(&header->layout_hash, QOI_LAYOUT_HASH);
	/* P3 -> O3: stamps and the rest of the header before the magic */
	qoi_publish64_at(QOI_EDGE_P3, &header->magic, QOI_QUEUE_MAGIC);
}

int qoi_queue_header_read(const struct qoi_layout_queue_header *header,
			  struct qoi_queue_shape *shape_out,
			  uint64_t *start_out, uint64_t *epoch_out)
{
	struct qoi_queue_shape shape;
	uint32_t version;
	uint64_t hash;
	/* P3 -> O3: stamps and the rest of the header before the magic */
	uint64_t magic = qoi_observe64_at(QOI_EDGE_O3, &header->magic);
	int error;

	if (magic == 0)
		return -EAGAIN;
	if (magic != QOI_QUEUE_MAGIC)
		return qoi_fail(-EBADMSG, "not a queue: magic 0x%" PRIx64,
				magic);
	version = qoi_own32(&header->version);
	hash = qoi_own64(&header->layout_hash);
	if (version != QOI_LAYOUT_VERSION || hash != QOI_LAYOUT_HASH)
		return qoi_fail(
			-EPROTONOSUPPORT,
			"the queue has layout %" PRIu32 " hash 0x%" PRIx64
			", this library has %d hash 0x%" PRIx64
			": use one version of libqoffload on both sides",
			version, hash, QOI_LAYOUT_VERSION, QOI_LAYOUT_HASH);
	shape.encoding = qoi_own32(&header->encoding);
	shape.slot_count = qoi_own32(&header->slot_count);
	shape.payload_bytes = qoi_own32(&header->payload_bytes);
	error = qoi_queue_shape_check(&shape);
	if (error == -EOPNOTSUPP)
		return qoi_fail(error, "no 16-byte chunks on this machine");
	if (error != 0 ||
	    qoi_own32(&header->slot_stride) != qoi_slot_stride(&shape))
		return qoi_fail(-EBADMSG,
				"queue header: %" PRIu32 " slots of %" PRIu32
				" bytes, encoding %" PRIu32 ", do not fit",
				shape.slot_count, shape.payload_bytes,
				shape.encoding);
	*shape_out = shape;
	*start_out = qoi_own64(&header->start);
	*epoch_out = qoi_own64(&header->epoch);
	return 0;
}
