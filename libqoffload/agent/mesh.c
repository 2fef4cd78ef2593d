/* SPDX-License-Identifier: BSD-3-Clause */
#include "libqoffload/agent/mesh.h"

#include <errno.h>

void qoi_round_read(struct qo_mesh *mesh, struct qoi_round *round)
{
	while (round->arrived < mesh->in_count) {
		const struct qoi_edge *edge =
			&mesh->edges[mesh->in[round->arrived]];

		if (!qoi_edge_arrived(edge, round->round)) {
			const void *slot = qoi_slot(edge->slots, &edge->shape,
						    round->round);

			qoi_request_await(round->request, slot,
					  round->round + 1);
			return;
		}
		round->arrived++;
	}
	qoi_request_finish(round->request, 0, QO_RANK_NONE);
}

/* What the provider must still carry over an edge out of here. */
static int edge_put_seams(struct qo_mesh *mesh, struct qoi_edge *edge)
{
	while (edge->put != mesh->next && qoi_edge_fate(edge) == 0) {
		const uint8_t *slot =
			qoi_slot(edge->staging, &edge->shape, edge->put);
		uint64_t offset = edge->out_slots_offset +
				  (uint64_t)(slot - edge->staging);
		struct qo_put put = {
			.offset = offset + 8,
			.data = slot + 8,
			.bytes = QOI_SLOT_HEADER_BYTES - 8 +
				 (uint64_t)qoi_slot_bytes(slot),
			.word_offset = offset,
			.word = edge->put + 1,
		};

		if (edge->conn->endpoint->provider->ops->put(edge->remote,
							     &put) != 0)
			return 1;
		edge->put++;
	}
	return 0;
}

static int edge_put_credit(struct qo_mesh *mesh, struct qoi_edge *edge)
{
	struct qo_put put = {
		.word_offset = edge->credit_out_offset,
		.word = mesh->released,
	};

	if (edge->credit_sent == mesh->released || qoi_edge_fate(edge) != 0)
		return 0;
	if (edge->conn->endpoint->provider->ops->put(edge->remote, &put) != 0)
		return 1;
	edge->credit_sent = put.word;
	return 0;
}

static int is_unmapped(const struct qoi_edge *edge)
{
	return edge->remote != NULL && edge->remote->base == NULL;
}

int qoi_mesh_owes(const struct qo_mesh *mesh)
{
	for (uint32_t i = 0; i < mesh->edge_count; i++) {
		const struct qoi_edge *edge = &mesh->edges[i];

		if (!is_unmapped(edge) || qoi_edge_fate(edge) != 0)
			continue;
		if ((edge->roles & QOI_ROLE_OUT) != 0 && edge->put != mesh->next)
			return 1;
		if ((edge->roles & QOI_ROLE_IN) != 0 &&
		    edge->credit_sent != mesh->released)
			return 1;
	}
	return 0;
}

static int mesh_advance(struct qoi_work *work, struct qoi_budget *budget)
{
	struct qo_mesh *mesh = (struct qo_mesh *)work;
	int owes = 0;

	if (!budget->in_cycle)
		return qoi_mesh_owes(mesh);
	for (uint32_t i = 0; i < mesh->edge_count; i++) {
		struct qoi_edge *edge = &mesh->edges[i];

		if (!is_unmapped(edge))
			continue;
		if ((edge->roles & QOI_ROLE_OUT) != 0)
			owes |= edge_put_seams(mesh, edge);
		if ((edge->roles & QOI_ROLE_IN) != 0)
			owes |= edge_put_credit(mesh, edge);
	}
	return owes;
}

/* The first edge that this round still waits for and whose source is gone. */
static const struct qoi_edge *round_orphan(const struct qo_mesh *mesh,
					   const struct qoi_round *round)
{
	for (uint32_t i = round->arrived; i < mesh->in_count; i++) {
		const struct qoi_edge *edge = &mesh->edges[mesh->in[i]];

		/* In this order: what it sent before its end is here then. */
		if (qoi_edge_fate(edge) != 0 &&
		    !qoi_edge_arrived(edge, round->round))
			return edge;
	}
	return NULL;
}

static void mesh_peer_gone(struct qoi_work *work)
{
	struct qo_mesh *mesh = (struct qo_mesh *)work;

	for (uint32_t i = 0; i < mesh->depth; i++) {
		struct qoi_round *round = &mesh->rounds[i];
		const struct qoi_edge *orphan;

		if (!round->open || !qoi_request_pending(round->request))
			continue;
		qoi_round_read(mesh, round);
		if (!qoi_request_pending(round->request))
			continue;
		orphan = round_orphan(mesh, round);
		if (orphan != NULL)
			qoi_request_finish(round->request, qoi_edge_fate(orphan),
					   (int32_t)orphan->peer);
	}
}

static void mesh_read(struct qoi_work *work, struct qoi_request *request,
		      struct qoi_budget *budget)
{
	struct qo_mesh *mesh = (struct qo_mesh *)work;
	struct qoi_round *round = qoi_mesh_round_of(mesh, request);

	(void)budget;
	if (round != NULL && round->open && qoi_request_pending(request))
		qoi_round_read(mesh, round);
}

const struct qoi_work_ops qoi_mesh_work_ops = {
	.advance = mesh_advance,
	.peer_gone = mesh_peer_gone,
	.read = mesh_read,
};
