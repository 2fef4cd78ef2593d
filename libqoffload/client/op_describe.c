/* SPDX-License-Identifier: BSD-3-Clause */
#include "libqoffload/client/op_describe.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "libqoffload/base/error.h"

static uint64_t count_of(const uint64_t *counts, uint32_t rank)
{
	return counts == NULL ? 0 : counts[rank];
}

static uint64_t sends(const struct qoi_coll *coll, uint32_t peer)
{
	if (coll->kind == QOI_ALLGATHERV)
		return count_of(coll->recv_counts, coll->rank);
	/* In place: what it receives from a peer is what it sends there. */
	if (coll->in_place)
		return count_of(coll->recv_counts, peer);
	return count_of(coll->send_counts, peer);
}

void qoi_descriptor_fill(struct qoi_descriptor *descriptor,
			 const struct qoi_coll *coll, const char *algorithm,
			 uint32_t peer)
{
	memset(descriptor, 0, sizeof(*descriptor));
	descriptor->kind = coll->kind;
	descriptor->type = coll->type;
	descriptor->reduce = coll->reduce;
	descriptor->root = coll->root;
	descriptor->count = coll->count;
	snprintf(descriptor->algorithm, sizeof(descriptor->algorithm), "%s",
		 algorithm);
	if (coll->kind == QOI_ALLTOALLV || coll->kind == QOI_ALLGATHERV) {
		descriptor->to_you = sends(coll, peer);
		descriptor->from_you = count_of(coll->recv_counts, peer);
	} else {
		descriptor->elements = coll->elements;
	}
}

static void describe(const struct qoi_descriptor *descriptor, char *text,
		     size_t bytes)
{
	const char *type = qoi_type_name(descriptor->type);
	const char *reduce = qoi_reduce_name(descriptor->reduce);
	const char *kind = qoi_coll_kind_name(descriptor->kind);
	char root[24] = "";

	if (descriptor->kind == QOI_BCAST)
		snprintf(root, sizeof(root), " root %u", descriptor->root);
	if (kind == NULL)
		kind = "unknown";
	snprintf(text, bytes, "%s of %llu x %s%s%s%s (%.24s)", kind,
		 (unsigned long long)descriptor->elements,
		 type == NULL ? "none" : type, reduce == NULL ? "" : " ",
		 reduce == NULL ? "" : reduce, root, descriptor->algorithm);
}

static int same(const struct qoi_descriptor *a, const struct qoi_descriptor *b)
{
	return a->kind == b->kind && a->type == b->type &&
	       a->reduce == b->reduce && a->root == b->root &&
	       a->count == b->count && a->elements == b->elements &&
	       strncmp(a->algorithm, b->algorithm, sizeof(a->algorithm)) == 0;
}

int qoi_descriptor_compare(const struct qoi_descriptor *own, uint32_t own_rank,
			   const struct qoi_descriptor *peer, uint32_t peer_rank,
			   uint64_t team_id, uint32_t sequence)
{
	char ours[96];
	char theirs[96];

	if (!same(own, peer)) {
		describe(own, ours, sizeof(ours));
		describe(peer, theirs, sizeof(theirs));
		return qoi_fail(-EPROTO,
				"team %016llx, collective call %u: "
				"rank %u has %s, rank %u has %s",
				(unsigned long long)team_id, sequence, own_rank,
				ours, peer_rank, theirs);
	}
	if (own->to_you != peer->from_you)
		return qoi_fail(-EPROTO,
				"team %016llx, collective call %u: "
				"rank %u sends %llu elements to rank %u, which "
				"expects %llu",
				(unsigned long long)team_id, sequence, own_rank,
				(unsigned long long)own->to_you, peer_rank,
				(unsigned long long)peer->from_you);
	return 0;
}
