/* SPDX-License-Identifier: BSD-3-Clause */
#include "libqoffload/client/mesh_window.h"

#include <errno.h>

#include "libqoffload/client/handle.h"

/* Places slots and credit lines in the own window. */
static uint64_t window_plan(const struct qo_mesh *mesh, uint64_t *offsets)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < mesh->edge_count; i++) {
		const struct qoi_edge *edge = &mesh->edges[i];

		offsets[i] = bytes;
		if ((edge->roles & QOI_ROLE_IN) != 0)
			bytes += qoi_queue_bytes(&edge->shape);
		/* One to oneself: its credit line is behind its slots. */
		if ((edge->roles & QOI_ROLE_OUT) != 0)
			bytes += QOI_CREDIT_BYTES;
	}
	return bytes;
}

static struct qo_endpoint *endpoint_any(const struct qo_team *team)
{
	for (uint32_t rank = 0; rank < team->count; rank++) {
		if (team->conns[rank] != NULL)
			return team->conns[rank]->endpoint;
	}
	return team->context->agent.endpoints[0];
}

static void edge_place(struct qoi_edge *edge, uint8_t *base)
{
	uint8_t *credit = base;

	if ((edge->roles & QOI_ROLE_IN) != 0) {
		edge->slots = base;
		qoi_queue_format(&edge->shape, base, 0);
		credit += qoi_queue_bytes(&edge->shape);
	}
	if ((edge->roles & QOI_ROLE_OUT) != 0) {
		edge->credit_in = (uint64_t *)(void *)credit;
		qoi_credit_format((uint64_t *)(void *)credit, 0);
	}
	if (edge->roles == (QOI_ROLE_IN | QOI_ROLE_OUT)) {
		edge->out_slots = edge->slots;
		edge->credit_out = (uint64_t *)(void *)credit;
	}
}

int qoi_mesh_window_make(struct qo_mesh *mesh, uint64_t *offsets)
{
	struct qo_endpoint *endpoint = endpoint_any(mesh->team);
	uint64_t bytes = window_plan(mesh, offsets);

	if (bytes == 0)
		return 0;
	if (endpoint->provider->ops->window_create(endpoint, bytes,
						   &mesh->window) != 0)
		return -ENOSPC; /* told by the provider */
	for (uint32_t i = 0; i < mesh->edge_count; i++) {
		if (mesh->edges[i].roles != 0)
			edge_place(&mesh->edges[i],
				   mesh->window->base + offsets[i]);
	}
	return 0;
}
