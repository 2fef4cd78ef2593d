/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "libqoffload/agent/mesh.h"
#include "libqoffload/base/error.h"
#include "libqoffload/client/exchange.h"
#include "libqoffload/client/mesh_check.h"
#include "libqoffload/client/mesh_window.h"

/* One edge as its two ends must agree on it. */
struct edge_note {
	uint32_t source;
	uint32_t destination;
	uint32_t tag;
	uint32_t slot_bytes;
	uint32_t depth;
	uint32_t reserved;
	uint64_t offset; /* in the sender's window: slots or credit line */
};

struct note_list {
	uint32_t reserved;
	uint32_t count;
	struct edge_note notes[];
};

#define NOTES_MAX                                                              \
	((QO_CONTROL_BYTES_MAX - sizeof(struct note_list)) /                   \
	 sizeof(struct edge_note))

struct plan {
	struct qo_mesh *mesh;
	struct qo_team *team;
	const struct qo_edge *edges;
	uint64_t *offsets;	/* by edge, of the own end in the own window */
	struct note_list *list; /* being told */
};

static void edge_set(struct qo_mesh *mesh, const struct qo_edge *from,
		     uint32_t index, uint32_t rank)
{
	struct qoi_edge *edge = &mesh->edges[index];

	edge->tag = from->tag;
	edge->shape.slot_count = from->depth;
	edge->shape.payload_bytes = from->slot_bytes;
	edge->shape.encoding = QOI_ENCODING_CLASSIC;
	if (from->destination == rank) {
		edge->roles |= QOI_ROLE_IN;
		edge->peer = from->source;
		mesh->in[mesh->in_count++] = index;
	}
	if (from->source == rank) {
		edge->roles |= QOI_ROLE_OUT;
		edge->peer = from->destination;
		mesh->out[mesh->out_count++] = index;
	}
	if (edge->roles != 0 && from->depth > mesh->depth)
		mesh->depth = from->depth;
}

static int rounds_make(struct qo_mesh *mesh)
{
	int error = 0;

	mesh->rounds = calloc(mesh->depth, sizeof(*mesh->rounds));
	if (mesh->rounds == NULL)
		return qoi_fail(-ENOMEM, "no memory for a mesh");
	for (uint32_t i = 0; i < mesh->depth; i++) {
		mesh->rounds[i].seen = calloc((mesh->in_count + 63) / 64 + 1,
					      sizeof(uint64_t));
		if (mesh->rounds[i].seen == NULL)
			return qoi_fail(-ENOMEM, "no memory for a mesh");
	}
	pthread_mutex_lock(&mesh->agent->table_lock);
	for (uint32_t i = 0; error == 0 && i < mesh->depth; i++)
		error = qoi_request_take(mesh->agent->context_number,
					 &mesh->work, &mesh->rounds[i].request);
	pthread_mutex_unlock(&mesh->agent->table_lock);
	return error;
}

static const void *plan_message(void *arg, uint32_t rank, size_t *bytes_out)
{
	struct plan *plan = arg;
	struct note_list *list = plan->list;

	list->reserved = 0;
	list->count = 0;
	for (uint32_t i = 0; i < plan->mesh->edge_count; i++) {
		const struct qo_edge *edge = &plan->edges[i];

		if (plan->mesh->edges[i].roles == 0 ||
		    plan->mesh->edges[i].peer != rank)
			continue;
		list->notes[list->count++] = (struct edge_note){
			edge->source,	  edge->destination, edge->tag,
			edge->slot_bytes, edge->depth,	     0,
			plan->offsets[i],
		};
	}
	*bytes_out = sizeof(*list) + list->count * sizeof(list->notes[0]);
	return list;
}

static int edge_disagree(const struct plan *plan, uint32_t rank,
			 const struct qo_edge *edge, const char *how)
{
	return qoi_fail(-EPROTO,
			"mesh, collective call %u: edge %u -> %u "
			"tag %u: ranks %u and %u %s",
			plan->mesh->sequence, edge->source, edge->destination,
			edge->tag, plan->team->rank, rank, how);
}

static int is_mapped(const struct qo_remote *remote)
{
	return remote->base != NULL;
}

/* Ties our end of an edge to the peer's end in its window. */
static int edge_tie(struct qo_mesh *mesh, struct qoi_edge *edge,
		    struct qo_remote *remote, uint64_t offset)
{
	uint64_t bytes = QOI_CREDIT_BYTES;

	if ((edge->roles & QOI_ROLE_OUT) != 0)
		bytes = qoi_queue_bytes(&edge->shape);
	if (remote == NULL || offset > remote->bytes ||
	    bytes > remote->bytes - offset || (offset & 63) != 0)
		return qoi_fail(-EBADMSG,
				"rank %u offers an edge outside its "
				"window",
				edge->peer);
	edge->remote = remote;
	edge->conn = remote->conn;
	if (!is_mapped(remote))
		mesh->unmapped = 1;
	if ((edge->roles & QOI_ROLE_IN) != 0) {
		edge->credit_out_offset = offset;
		if (is_mapped(remote))
			edge->credit_out =
				(uint64_t *)(void *)(remote->base + offset);
		return 0;
	}
	edge->out_slots_offset = offset;
	if (is_mapped(remote)) {
		edge->out_slots = remote->base + offset;
		return 0;
	}
	edge->staging = aligned_alloc(128, bytes);
	if (edge->staging == NULL)
		return qoi_fail(-ENOMEM, "no memory to stage an edge");
	memset(edge->staging, 0, bytes);
	edge->out_slots = edge->staging;
	return 0;
}

static int note_match(struct plan *plan, uint32_t rank,
		      const struct edge_note *note)
{
	struct qo_mesh *mesh = plan->mesh;

	for (uint32_t i = 0; i < mesh->edge_count; i++) {
		const struct qo_edge *edge = &plan->edges[i];

		if (mesh->edges[i].roles == 0 || mesh->edges[i].peer != rank ||
		    edge->source != note->source ||
		    edge->destination != note->destination ||
		    edge->tag != note->tag)
			continue;
		if (mesh->edges[i].remote != NULL)
			return edge_disagree(plan, rank, edge,
					     "count it differently");
		if (edge->slot_bytes != note->slot_bytes ||
		    edge->depth != note->depth)
			return edge_disagree(plan, rank, edge,
					     "differ in slot_bytes or depth");
		return edge_tie(mesh, &mesh->edges[i], mesh->remotes[rank],
				note->offset);
	}
	return qoi_fail(-EPROTO,
			"mesh, collective call %u: rank %u has edge "
			"%u -> %u tag %u, rank %u has not",
			mesh->sequence, rank, note->source, note->destination,
			note->tag, plan->team->rank);
}

static int plan_take(void *arg, uint32_t rank, const void *data, size_t bytes,
		     struct qo_remote *remote)
{
	struct plan *plan = arg;
	const struct note_list *list = data;

	plan->mesh->remotes[rank] = remote;
	if (bytes < sizeof(*list) || list->count > NOTES_MAX ||
	    bytes != sizeof(*list) + list->count * sizeof(list->notes[0]))
		return qoi_fail(-EBADMSG,
				"rank %u sent an impossible list of "
				"edges",
				rank);
	for (uint32_t i = 0; i < list->count; i++) {
		int error = note_match(plan, rank, &list->notes[i]);

		if (error != 0)
			return error;
	}
	return 0;
}

/* Every edge of ours to a peer must have been named by it. */
static int edges_tied(const struct plan *plan)
{
	const struct qo_mesh *mesh = plan->mesh;

	for (uint32_t i = 0; i < mesh->edge_count; i++) {
		const struct qoi_edge *edge = &mesh->edges[i];

		if (edge->roles == 0 || edge->peer == plan->team->rank ||
		    edge->remote != NULL)
			continue;
		return qoi_fail(-EPROTO,
				"mesh, collective call %u: rank %u "
				"has edge %u -> %u tag %u, rank %u has not",
				mesh->sequence, plan->team->rank,
				plan->edges[i].source,
				plan->edges[i].destination, edge->tag,
				edge->peer);
	}
	return 0;
}

static void mesh_free(struct qo_mesh *mesh)
{
	for (uint32_t i = 0; mesh->edges != NULL && i < mesh->edge_count; i++)
		free(mesh->edges[i].staging);
	pthread_mutex_lock(&mesh->agent->table_lock);
	for (uint32_t i = 0; mesh->rounds != NULL && i < mesh->depth; i++) {
		if (mesh->rounds[i].request != NULL)
			qoi_request_give(mesh->rounds[i].request);
		free(mesh->rounds[i].seen);
	}
	pthread_mutex_unlock(&mesh->agent->table_lock);
	for (uint32_t rank = 0;
	     mesh->remotes != NULL && rank < mesh->team->count; rank++) {
		struct qo_remote *remote = mesh->remotes[rank];

		if (remote != NULL)
			remote->conn->endpoint->provider->ops->remote_release(
				remote);
	}
	if (mesh->window != NULL)
		mesh->window->endpoint->provider->ops->window_destroy(
			mesh->window);
	free(mesh->rounds);
	free(mesh->remotes);
	free(mesh->picked);
	free(mesh->out);
	free(mesh->in);
	free(mesh->edges);
	free(mesh);
}

/* Off every list; then nobody knows it any more. */
static void mesh_end(struct qo_mesh *mesh)
{
	qoi_agent_forget(mesh->agent, &mesh->work);
	qoi_object_remove(&mesh->team->context->objects, &mesh->object);
	qoi_sub32(&mesh->team->held, 1);
	mesh_free(mesh);
}

static void mesh_left(struct qoi_object *object)
{
	mesh_end((struct qo_mesh *)((char *)object -
				    offsetof(struct qo_mesh, object)));
}

static int mesh_alloc(struct qo_team *team, uint32_t sequence, size_t count,
		      struct qo_mesh **mesh_out)
{
	struct qo_mesh *mesh = calloc(1, sizeof(*mesh));

	if (mesh == NULL)
		return qoi_fail(-ENOMEM, "no memory for a mesh");
	mesh->work.ops = &qoi_mesh_work_ops;
	mesh->work.readable = 1;
	mesh->agent = &team->context->agent;
	mesh->team = team;
	mesh->sequence = sequence;
	mesh->depth = 1;
	mesh->edge_count = (uint32_t)count;
	mesh->edges = calloc(count + 1, sizeof(*mesh->edges));
	mesh->in = calloc(count + 1, sizeof(*mesh->in));
	mesh->out = calloc(count + 1, sizeof(*mesh->out));
	mesh->picked = calloc(count + 1, sizeof(struct qo_seam *));
	mesh->remotes = calloc(team->count, sizeof(struct qo_remote *));
	if (mesh->edges == NULL || mesh->in == NULL || mesh->out == NULL ||
	    mesh->picked == NULL || mesh->remotes == NULL) {
		mesh_free(mesh);
		return qoi_fail(-ENOMEM, "no memory for a mesh of %zu edges",
				count);
	}
	*mesh_out = mesh;
	return 0;
}

/* All edges to one peer are told in one message. */
static int edges_count(const struct plan *plan)
{
	for (uint32_t rank = 0; rank < plan->team->count; rank++) {
		uint64_t shared = 0;

		for (uint32_t i = 0; i < plan->mesh->edge_count; i++)
			shared += plan->mesh->edges[i].roles != 0 &&
				  plan->mesh->edges[i].peer == rank;
		if (shared > NOTES_MAX)
			return qoi_fail(-EINVAL,
					"%llu edges between ranks %u "
					"and %u, at most %zu",
					(unsigned long long)shared,
					plan->team->rank, rank, NOTES_MAX);
	}
	return 0;
}

static int prepare(struct plan *plan, size_t count)
{
	struct qo_mesh *mesh = plan->mesh;
	int error;

	for (uint32_t i = 0; i < count; i++)
		edge_set(mesh, &plan->edges[i], i, plan->team->rank);
	error = qoi_edges_check(plan->team, plan->edges, count);
	if (error == 0)
		error = edges_count(plan);
	if (error == 0)
		error = rounds_make(mesh);
	if (error == 0)
		error = qoi_mesh_window_make(plan->mesh, plan->offsets);
	return error;
}

static int agree(struct plan *plan)
{
	struct qoi_exchange exchange = {
		.team = plan->team,
		.kind = QOI_CONTROL_MESH,
		.sequence = plan->mesh->sequence,
		.window = plan->mesh->window,
		.arg = plan,
		.message = plan_message,
		.take = plan_take,
	};
	int error = qoi_exchange_run(&exchange);

	if (error == 0)
		error = edges_tied(plan);
	return qoi_exchange_verdict(plan->team, plan->mesh->sequence, error);
}

static int plan_alloc(struct plan *plan, uint32_t sequence, size_t count)
{
	int error;

	plan->list = malloc(QO_CONTROL_BYTES_MAX);
	plan->offsets = calloc(count + 1, sizeof(*plan->offsets));
	if (plan->list == NULL || plan->offsets == NULL)
		error = qoi_fail(-ENOMEM, "no memory for a mesh of %zu edges",
				 count);
	else
		error = mesh_alloc(plan->team, sequence, count, &plan->mesh);
	if (error == 0)
		return 0;
	free(plan->offsets);
	free(plan->list);
	return error;
}

static int arguments_check(const struct qo_edge *edges, size_t count,
			   const qo_mesh_t *mesh_out)
{
	if (mesh_out == NULL || (edges == NULL && count != 0))
		return qoi_fail(-EINVAL, "qo_mesh_create: NULL argument");
	if (count >= QO_ANY_EDGE)
		return qoi_fail(-EINVAL, "qo_mesh_create: %zu edges", count);
	return 0;
}

int qo_mesh_create(qo_team_t team, const struct qo_edge *edges, size_t count,
		   qo_mesh_t *mesh_out)
{
	struct plan plan = { .team = team, .edges = edges };
	uint32_t sequence;
	int error;

	if (team == NULL)
		return qoi_fail(-EINVAL, "qo_mesh_create: team is NULL");
	sequence = team->sequence++;
	error = arguments_check(edges, count, mesh_out);
	if (error == 0)
		error = plan_alloc(&plan, sequence, count);
	if (error != 0)
		return qoi_exchange_refuse(team, QOI_CONTROL_MESH, sequence,
					   error);
	error = prepare(&plan, count);
	if (error != 0)
		error = qoi_exchange_refuse(team, QOI_CONTROL_MESH, sequence,
					    error);
	else
		error = agree(&plan);
	if (error == 0) {
		qoi_add32(&team->held, 1);
		qoi_object_add(&team->context->objects, &plan.mesh->object,
			       mesh_left);
		*mesh_out = plan.mesh;
	} else {
		mesh_free(plan.mesh);
	}
	free(plan.offsets);
	free(plan.list);
	return error;
}

int qo_mesh_destroy(qo_mesh_t mesh)
{
	int owes;

	if (mesh == NULL)
		return qoi_fail(-EINVAL, "qo_mesh_destroy: mesh is NULL");
	/* Without a thread nobody else moves what is on its way. */
	if (!mesh->agent->threaded)
		qoi_agent_try_cycle(mesh->agent);
	qoi_work_lock(&mesh->work);
	owes = qoi_mesh_owes(mesh);
	qoi_work_unlock(&mesh->work);
	if (owes)
		return -EBUSY;
	mesh_end(mesh);
	return 0;
}
