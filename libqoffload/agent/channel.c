/* SPDX-License-Identifier: BSD-3-Clause */
#include "libqoffload/agent/channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libqoffload/base/error.h"

/* Whether [offset, offset + bytes) lies inside a window of `limit` bytes. */
static int inside(uint64_t offset, uint64_t bytes, uint64_t limit)
{
	return offset <= limit && bytes <= limit - offset;
}

static int places_check(const struct qoi_channel_params *params)
{
	const struct qo_remote *remote = params->remote;

	if (remote == NULL)
		return 0;
	if (params->out_shape.slot_count != 0 &&
	    !inside(params->peers.slots_offset,
		    qoi_queue_bytes(&params->out_shape), remote->bytes))
		return qoi_fail(-EBADMSG,
				"rank %u offers slots outside its "
				"window",
				params->peer);
	if (params->in_shape.slot_count != 0 &&
	    !inside(params->peers.credit_offset, QOI_CREDIT_BYTES, remote->bytes))
		return qoi_fail(-EBADMSG,
				"rank %u offers a credit line "
				"outside its window",
				params->peer);
	if (((params->peers.slots_offset | params->peers.credit_offset) & 15) !=
	    0)
		return qoi_fail(-EBADMSG, "rank %u offers a misaligned window",
				params->peer);
	return 0;
}

/* Both ends mapped: the queue works in place. */
static void init_mapped(struct qoi_channel *channel,
			const struct qoi_channel_params *params, uint8_t *base)
{
	uint8_t *own = params->own_base;

	if (params->out_shape.slot_count != 0)
		qoi_producer_init(
			&channel->producer, &channel->out_shape,
			base + params->peers.slots_offset,
			(uint64_t *)(void *)(own + params->own.credit_offset),
			params->start);
	if (params->in_shape.slot_count != 0)
		qoi_consumer_init(
			&channel->consumer, &channel->in_shape,
			own + params->own.slots_offset,
			(uint64_t *)(void *)(base + params->peers.credit_offset),
			params->start, params->credit_batch);
}

/*
 * Not mapped: the producer builds each slot in `image`, a ring of one, and
 * the consumer's credit stays in a shadow until a put carries it.
 */
static int init_unmapped(struct qoi_channel *channel,
			 const struct qoi_channel_params *params)
{
	uint32_t stride = 64;

	if (params->out_shape.slot_count != 0)
		stride = qoi_slot_stride(&channel->out_shape);
	channel->image = aligned_alloc(64, stride);
	if (channel->image == NULL)
		return qoi_fail(-ENOMEM, "no memory for a channel");
	memset(channel->image, 0, stride);
	if (params->out_shape.slot_count != 0) {
		qoi_producer_init(
			&channel->producer, &channel->out_shape, channel->image,
			(uint64_t *)(void *)(params->own_base +
					     params->own.credit_offset),
			params->start);
		/* Every position is built in the one image. */
		channel->producer.stride = 0;
	}
	if (params->in_shape.slot_count != 0)
		qoi_consumer_init(&channel->consumer, &channel->in_shape,
				  params->own_base + params->own.slots_offset,
				  channel->credit_shadow, params->start,
				  params->credit_batch);
	channel->credit_sent = params->start;
	channel->credit_shadow[0] = params->start;
	return 0;
}

int qoi_channel_init(struct qoi_channel *channel,
		     const struct qoi_channel_params *params)
{
	int error = places_check(params);

	if (error != 0)
		return error;
	memset(channel, 0, sizeof(*channel));
	channel->conn = params->conn;
	channel->remote = params->remote;
	channel->peer = params->peer;
	channel->out_shape = params->out_shape;
	channel->in_shape = params->in_shape;
	channel->out_slots_offset = params->peers.slots_offset;
	channel->out_credit_offset = params->peers.credit_offset;
	channel->credit_batch = params->credit_batch;
	channel->get_bytes = params->get_bytes;
	if (params->remote == NULL)
		init_mapped(channel, params, params->own_base);
	else if (params->remote->base != NULL)
		init_mapped(channel, params, params->remote->base);
	else
		return init_unmapped(channel, params);
	return 0;
}

void qoi_channel_fini(struct qoi_channel *channel)
{
	free(channel->image);
	channel->image = NULL;
}

int qoi_channel_commit_put(struct qoi_channel *channel, uint32_t bytes,
			   uint16_t kind)
{
	struct qoi_producer *producer = &channel->producer;
	struct qoi_layout_edge_slot *header = (void *)channel->image;
	uint64_t position = producer->position;
	uint64_t index = position & (channel->out_shape.slot_count - 1);
	uint64_t slot_offset = channel->out_slots_offset +
			       index * qoi_slot_stride(&channel->out_shape);
	struct qo_put put = {
		.offset = slot_offset + 8,
		.data = channel->image + 8,
		.bytes = QOI_SLOT_HEADER_BYTES - 8 + (uint64_t)bytes,
		.word_offset = slot_offset,
		.word = position + 1,
	};
	int error;

	header->bytes = bytes;
	header->kind = kind;
	header->flags = 0;
	error = channel->conn->endpoint->provider->ops->put(channel->remote,
							    &put);
	if (error != 0) {
		qoi_producer_abort(producer);
		return error;
	}
	producer->position = position + 1;
	return 0;
}

static void credit_count(struct qoi_channel *channel)
{
	if (++channel->credit_due < channel->credit_batch)
		return;
	channel->credit_due = 0;
	channel->rung = 1;
}

void qoi_channel_release(struct qoi_channel *channel)
{
	qoi_consumer_release(&channel->consumer);
	credit_count(channel);
}

int qoi_channel_owes(const struct qoi_channel *channel)
{
	return channel->image != NULL &&
	       channel->credit_shadow[0] != channel->credit_sent;
}

int qoi_channel_flush(struct qoi_channel *channel)
{
	struct qo_put put = { 0 };
	int error;

	if (channel->in_shape.slot_count == 0)
		return 0;
	if (channel->credit_due != 0) {
		qoi_consumer_flush(&channel->consumer);
		channel->credit_due = 0;
		channel->rung = 1;
	}
	if (!qoi_channel_owes(channel))
		return 0;
	put.word_offset = channel->out_credit_offset;
	put.word = channel->credit_shadow[0];
	error = channel->conn->endpoint->provider->ops->put(channel->remote,
							    &put);
	if (error == 0)
		channel->credit_sent = put.word;
	return error;
}
