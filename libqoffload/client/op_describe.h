/* SPDX-License-Identifier: BSD-3-Clause */
/* What ranks tell each other about an operation, and how they compare it. */
#ifndef QOI_OP_DESCRIBE_H
#define QOI_OP_DESCRIBE_H

#include "libqoffload/agent/channel.h"
#include "libqoffload/coll/schedule.h"

struct qoi_descriptor {
	uint32_t kind;
	int32_t type;
	int32_t reduce;
	uint32_t root;
	uint32_t count;	   /* ranks */
	uint32_t direct;   /* 1: this rank needs no agent for it */
	uint64_t elements; /* of kinds where all ranks give the same; else 0 */
	uint64_t to_you;   /* v: elements that this rank sends to the reader */
	uint64_t from_you; /* v: elements that it expects from the reader */
	char algorithm[24];
	struct qoi_channel_place place; /* in this rank's window, for reader */
	uint32_t slot_count;		/* what the reader fills; 0: nothing */
	uint32_t payload_bytes;		/* of each slot */
	uint64_t get_bytes; /* it fetches messages from this size on */
};

/* What this rank says to `peer`; place and slots are filled in elsewhere. */
void qoi_descriptor_fill(struct qoi_descriptor *descriptor,
			 const struct qoi_coll *coll, const char *algorithm,
			 uint32_t peer);

/*
 * Whether two ranks mean the same operation.
 * Returns 0, or -EPROTO naming both sides.
 */
int qoi_descriptor_compare(const struct qoi_descriptor *own, uint32_t own_rank,
			   const struct qoi_descriptor *peer, uint32_t peer_rank,
			   uint64_t team_id, uint32_t sequence);

#endif
