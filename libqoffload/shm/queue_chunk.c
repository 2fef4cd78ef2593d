/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The chunk encodings: a message is a stream of bytes (length, kind, flags,
 * payload), cut into pieces that carry the low 16 bits of their lap.  See
 * "Chunk encodings" in docs/contract.md.
 */
#include "libqoffload/shm/queue.h"

/* The prefix of the stream. */
struct prefix {
	uint32_t bytes;
	uint16_t kind;
	uint16_t flags;
};
_Static_assert(sizeof(struct prefix) == QOI_CHUNK_PREFIX_BYTES, "prefix");

static uint64_t lap_of(uint64_t position, uint32_t slot_count)
{
	return position >> __builtin_ctz(slot_count);
}

static uint32_t pieces_of(uint32_t encoding, uint64_t bytes)
{
	uint64_t stream = QOI_CHUNK_PREFIX_BYTES + bytes;

	/* Constants, so that the divisions are multiplications. */
	if (encoding == QOI_ENCODING_CHUNK16)
		return (uint32_t)((stream + 13) / 14);
	return (uint32_t)((stream + 5) / 6);
}

static void put_chunks(uint32_t encoding, uint8_t *slot, const uint8_t *stream,
		       uint32_t count, uint16_t tag)
{
	uint64_t i;

	if (encoding == QOI_ENCODING_CHUNK16) {
		for (i = 0; i < count; i++)
			qoi_chunk16_put(slot + i * 16, stream + i * 14, tag);
	} else {
		for (i = 0; i < count; i++)
			qoi_chunk8_put(slot + i * 8, stream + i * 6, tag);
	}
}

/* Rewrites the chunk whose turn it is, so that no tag gets 65536 laps old. */
static void sweep_chunk(const struct qoi_producer *producer, uint8_t *slot,
			uint32_t used, uint64_t lap)
{
	static const uint8_t zeros[16];
	uint32_t chunks = pieces_of(producer->encoding, producer->payload_bytes);
	uint32_t turn = (uint32_t)(lap % chunks);
	uint32_t width = producer->encoding == QOI_ENCODING_CHUNK16 ? 16 : 8;

	if (turn >= used)
		put_chunks(producer->encoding, slot + (uint64_t)turn * width,
			   zeros, 1, (uint16_t)lap);
}

void qoi_producer_commit_chunks(struct qoi_producer *producer, uint32_t bytes,
				uint16_t kind, uint16_t flags)
{
	struct prefix prefix = { bytes, kind, flags };
	uint64_t index = producer->position & (producer->slot_count - 1);
	uint8_t *slot = producer->slots + index * producer->stride;
	uint64_t lap = lap_of(producer->position, producer->slot_count);
	uint32_t used = pieces_of(producer->encoding, bytes);
	uint32_t piece = producer->encoding == QOI_ENCODING_CHUNK16 ? 14 : 6;
	uint64_t end = QOI_CHUNK_PREFIX_BYTES + (uint64_t)bytes;

	memcpy(producer->staging, &prefix, sizeof(prefix));
	memset(producer->staging + end, 0, (uint64_t)used * piece - end);
	put_chunks(producer->encoding, slot, producer->staging, used,
		   (uint16_t)lap);
	sweep_chunk(producer, slot, used, lap);
}

/* Gathers what has landed, in order, from piece i on; gives where it stopped. */
static uint32_t take_chunks(uint32_t encoding, const uint8_t *slot,
			    uint8_t *stream, uint32_t i, uint32_t count,
			    uint16_t tag)
{
	if (encoding == QOI_ENCODING_CHUNK16) {
		while (i < count &&
		       qoi_chunk16_take(slot + (uint64_t)i * 16,
					stream + (uint64_t)i * 14, tag))
			i++;
	} else {
		while (i < count &&
		       qoi_chunk8_take(slot + (uint64_t)i * 8,
				       stream + (uint64_t)i * 6, tag))
			i++;
	}
	return i;
}

int qoi_consumer_peek_chunks(struct qoi_consumer *consumer,
			     struct qoi_message *message_out)
{
	uint64_t index = consumer->position & (consumer->slot_count - 1);
	const uint8_t *slot = consumer->slots + index * consumer->stride;
	uint16_t tag =
		(uint16_t)lap_of(consumer->position, consumer->slot_count);
	uint8_t *stream = consumer->staging;
	struct prefix prefix;
	uint32_t used;

	if (consumer->chunks_ready == 0)
		consumer->chunks_ready = take_chunks(consumer->encoding, slot,
						     stream, 0, 1, tag);
	if (consumer->chunks_ready == 0)
		return -EAGAIN;
	/* From here on our own copy counts: the slot may still change. */
	memcpy(&prefix.bytes, stream, sizeof(prefix.bytes));
	if (prefix.bytes > consumer->payload_bytes)
		return -EBADMSG;
	used = pieces_of(consumer->encoding, prefix.bytes);
	consumer->chunks_ready = take_chunks(consumer->encoding, slot, stream,
					     consumer->chunks_ready, used, tag);
	if (consumer->chunks_ready < used)
		return -EAGAIN;
	memcpy(&prefix, stream, sizeof(prefix));
	message_out->payload = stream + QOI_CHUNK_PREFIX_BYTES;
	message_out->bytes = prefix.bytes;
	message_out->kind = prefix.kind;
	message_out->flags = prefix.flags;
	return 0;
}
