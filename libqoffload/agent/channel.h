/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A channel: the two queues between this rank and one peer for one operation
 * or mesh edge.  Where the peer's window is mapped, the producer writes into
 * it; elsewhere it builds a slot here and the provider puts it there.
 */
#ifndef QOI_CHANNEL_H
#define QOI_CHANNEL_H

#include "libqoffload/shm/queue.h"
#include "providers/provider.h"

/* Where one rank's end of a channel lies in its own window; 0: no such end. */
struct qoi_channel_place {
	uint64_t slots_offset;	/* slots that the peer fills */
	uint64_t credit_offset; /* credit line that the peer writes */
};

/* What a slot holds (kind in its header). */
#define QOI_SLOT_DATA 1 /* bytes of the message */
#define QOI_SLOT_GET 2	/* struct qoi_get_notice: fetch it yourself */

/*
 * Flag of a notice whose sender gave up: its memory is the user's again.  Set
 * before that, and looked at after each fetch.
 */
#define QOI_SLOT_REVOKED 0x8000u /* with the rank to blame below */

struct qoi_get_notice {
	uint64_t address; /* in the sender's memory; one agent: the offset */
	uint64_t bytes;
	uint32_t buffer; /* where one agent has both: enum qoi_buffer */
	uint32_t reserved;
};

struct qoi_exec;

struct qoi_channel {
	struct qo_conn *conn;	  /* NULL: to oneself.  Owner: the team */
	struct qo_remote *remote; /* owner: whoever created the channel */
	/*
	 * Where one agent carries out both ends: the peer's, as long as it is
	 * there.  Long messages then go from buffer to buffer.
	 */
	const struct qoi_exec *peer_exec;
	uint32_t peer;	       /* team rank */
	uint32_t rung;	       /* 1: published since the last ring */
	uint32_t credit_batch; /* slots per credit */
	uint32_t credit_due;   /* released since the last credit */
	uint32_t foreseen; /* messages looked at ahead; qoi_exec_orphaned() */
	uint32_t blamed;   /* by a notice that was revoked: rank + 1; 0: none */
	struct qoi_queue_shape out_shape; /* towards the peer */
	struct qoi_queue_shape in_shape;  /* from the peer */
	uint64_t out_slots_offset;	  /* in the peer's window */
	uint64_t out_credit_offset; /* in the peer's window: its credit line */
	uint8_t *image; /* unmapped: one slot being built.  Owner: channel */
	uint64_t get_bytes;   /* the peer fetches messages from this size on */
	uint64_t credit_sent; /* unmapped: last credit put to the peer */
	uint64_t credit_shadow[QOI_CREDIT_BYTES / 8]; /* unmapped: for consumer */
	struct qoi_producer producer;
	struct qoi_consumer consumer;
};

struct qoi_channel_params {
	struct qo_conn *conn;
	struct qo_remote *remote; /* NULL with own_base: to oneself */
	uint8_t *own_base;	  /* own window */
	uint32_t peer;
	struct qoi_queue_shape out_shape; /* slot_count 0: nothing goes out */
	struct qoi_queue_shape in_shape;  /* slot_count 0: nothing comes in */
	struct qoi_channel_place own;	  /* in the own window */
	struct qoi_channel_place peers;	  /* in the peer's window */
	uint32_t credit_batch;
	uint64_t start;	    /* position of the first slot */
	uint64_t get_bytes; /* from which the peer fetches; UINT64_MAX: never */
};

/*
 * Puts a channel together over formatted windows; checks that the peer's
 * offsets lie inside its window.  Returns 0, -EBADMSG, -ENOMEM.
 */
int qoi_channel_init(struct qoi_channel *channel,
		     const struct qoi_channel_params *params);
void qoi_channel_fini(struct qoi_channel *channel);

static inline int qoi_channel_mapped(const struct qoi_channel *channel)
{
	return channel->image == NULL;
}

/* As qoi_producer_claim(). */
static inline int qoi_channel_claim(struct qoi_channel *channel,
				    void **payload_out)
{
	return qoi_producer_claim(&channel->producer, payload_out);
}

/*
 * Publishes the claimed slot.  Unmapped: only from the duty cycle; -EAGAIN:
 * the provider took nothing, the claim is undone; -ECONNRESET.
 */
int qoi_channel_commit_put(struct qoi_channel *channel, uint32_t bytes,
			   uint16_t kind);
static inline int qoi_channel_commit(struct qoi_channel *channel,
				     uint32_t bytes, uint16_t kind)
{
	if (!qoi_channel_mapped(channel))
		return qoi_channel_commit_put(channel, bytes, kind);
	qoi_producer_commit(&channel->producer, bytes, kind, 0);
	channel->rung = 1;
	return 0;
}

/* Gives back the slot that was peeked; returns its credit in batches. */
void qoi_channel_release(struct qoi_channel *channel);
/* Returns what credit is due now.  Unmapped: from the duty cycle; -EAGAIN. */
int qoi_channel_flush(struct qoi_channel *channel);
/* Unmapped: 1 while a credit is due that no put has carried yet. */
int qoi_channel_owes(const struct qoi_channel *channel);

/* How many slots the peer has consumed. */
static inline uint64_t qoi_channel_consumed(const struct qoi_channel *channel)
{
	return qoi_observe64(channel->producer.credit);
}

/* 0, or why the peer won't come any more. */
static inline int qoi_channel_fate(const struct qoi_channel *channel)
{
	if (channel->conn == NULL)
		return 0;
	return (int)qoi_observe32((const uint32_t *)&channel->conn->fate);
}

#endif
