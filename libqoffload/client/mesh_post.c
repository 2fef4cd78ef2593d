/* SPDX-License-Identifier: BSD-3-Clause */
/* Rounds of a mesh: post, look at what arrived, release. */
#include <errno.h>
#include <string.h>

#include "libqoffload/agent/mesh.h"
#include "libqoffload/agent/ring.h"
#include "libqoffload/base/error.h"
#include "libqoffload/client/handle.h"
#include "libqoffload/client/reader.h"

static int seam_check(const struct qo_mesh *mesh, const struct qo_seam *seam)
{
	const struct qoi_edge *edge;

	if (seam->edge >= mesh->edge_count)
		return qoi_fail(-EINVAL, "qo_mesh_post: edge %u of %u",
				seam->edge, mesh->edge_count);
	edge = &mesh->edges[seam->edge];
	if ((edge->roles & QOI_ROLE_OUT) == 0)
		return qoi_fail(-EINVAL,
				"qo_mesh_post: edge %u does not start "
				"at this rank",
				seam->edge);
	if (seam->bytes > edge->shape.payload_bytes)
		return qoi_fail(-EMSGSIZE,
				"qo_mesh_post: edge %u: %u bytes, "
				"its slots hold %u",
				seam->edge, seam->bytes,
				edge->shape.payload_bytes);
	if (seam->bytes != 0 && seam->data == NULL)
		return qoi_fail(-EINVAL, "qo_mesh_post: edge %u: data is NULL",
				seam->edge);
	if (mesh->picked[seam->edge] != NULL)
		return qoi_fail(-EINVAL,
				"qo_mesh_post: edge %u is listed "
				"twice",
				seam->edge);
	return 0;
}

/* Sorts the seams by edge, so that an edge left out carries an empty one. */
static int seams_pick(struct qo_mesh *mesh, const struct qo_seam *seams,
		      size_t count)
{
	for (uint32_t i = 0; i < mesh->out_count; i++)
		mesh->picked[mesh->out[i]] = NULL;
	for (size_t i = 0; i < count; i++) {
		int error = seam_check(mesh, &seams[i]);

		if (error != 0)
			return error;
		mesh->picked[seams[i].edge] = &seams[i];
	}
	return 0;
}

/*
 * Signed: a destination that gave up a round returns the credit of a seam that
 * we have not sent yet.
 */
static int slots_left(const struct qoi_edge *edge, uint64_t round)
{
	return (int64_t)(round - edge->credit_seen) <
	       (int64_t)edge->shape.slot_count;
}

/* Whether the destination has a free slot for this round. */
static int has_credit(struct qoi_edge *edge, uint64_t round)
{
	if (slots_left(edge, round))
		return 1;
	edge->credit_seen = qoi_observe64_at(QOI_EDGE_O2, edge->credit_in);
	return slots_left(edge, round);
}

static int credits_check(struct qo_mesh *mesh, uint64_t round)
{
	for (uint32_t i = 0; i < mesh->out_count; i++) {
		struct qoi_edge *edge = &mesh->edges[mesh->out[i]];

		if (!has_credit(edge, round) && qoi_edge_fate(edge) == 0)
			return -EAGAIN;
	}
	return 0;
}

static void seam_write(struct qoi_edge *edge, uint64_t round,
		       const struct qo_seam *seam)
{
	uint8_t *slot = qoi_slot(edge->out_slots, &edge->shape, round);
	uint32_t bytes = seam == NULL ? 0 : seam->bytes;

	if (bytes != 0)
		memcpy(qoi_slot_payload(slot), seam->data, bytes);
	qoi_slot_publish(slot, round, bytes, 0, 0);
}

/* Returns a destination that is gone, which the round must report, or NULL. */
static const struct qoi_edge *seams_write(struct qo_mesh *mesh, uint64_t round)
{
	const struct qoi_edge *gone = NULL;

	for (uint32_t i = 0; i < mesh->out_count; i++) {
		struct qoi_edge *edge = &mesh->edges[mesh->out[i]];

		if (qoi_edge_fate(edge) != 0)
			gone = edge;
		else
			seam_write(edge, round, mesh->picked[mesh->out[i]]);
	}
	return gone;
}

static void peers_ring(const struct qo_mesh *mesh)
{
	qoi_store_load_barrier();
	for (uint32_t i = 0; i < mesh->out_count; i++) {
		const struct qoi_edge *edge = &mesh->edges[mesh->out[i]];

		if (edge->conn != NULL && edge->conn->peer_bell != NULL &&
		    edge->staging == NULL)
			qoi_ring_peer(edge->conn);
	}
}

static void round_open(struct qo_mesh *mesh, struct qoi_round *round,
		       uint64_t number, int64_t deadline_ns)
{
	round->round = number;
	round->arrived = 0;
	round->open = 1;
	memset(round->seen, 0, (mesh->in_count + 63) / 64 * sizeof(uint64_t));
	qoi_request_start(round->request, deadline_ns);
}

/* Holding the lock. */
static int round_post(struct qo_mesh *mesh, uint64_t number, int64_t deadline_ns)
{
	struct qoi_round *round = qoi_mesh_round(mesh, number);
	const struct qoi_edge *gone;
	int error;

	if (round->open)
		return -EAGAIN;
	error = credits_check(mesh, number);
	if (error != 0)
		return error;
	gone = seams_write(mesh, number);
	round_open(mesh, round, number, deadline_ns);
	mesh->next = number + 1;
	peers_ring(mesh);
	if (gone != NULL) {
		qoi_request_finish(round->request, qoi_edge_fate(gone),
				   (int32_t)gone->peer);
		return 0;
	}
	qoi_round_read(mesh, round);
	/* A loss that nobody saw this round wait for. */
	if (qoi_request_pending(round->request))
		mesh->work.ops->peer_gone(&mesh->work);
	return 0;
}

int qo_mesh_post(qo_mesh_t mesh, uint64_t round, const struct qo_seam *seams,
		 size_t count, int64_t deadline_ns, qo_request_t *request_out)
{
	struct qoi_request *request;
	int error;

	if (mesh == NULL || request_out == NULL)
		return qoi_fail(-EINVAL, "qo_mesh_post: NULL argument");
	if (round != mesh->next)
		return qoi_fail(-EINVAL,
				"qo_mesh_post: round %llu, the next "
				"one is %llu",
				(unsigned long long)round,
				(unsigned long long)mesh->next);
	error = seams_pick(mesh, seams, count);
	if (error != 0)
		return error;
	qoi_work_lock(&mesh->work);
	error = round_post(mesh, round, deadline_ns);
	qoi_work_unlock(&mesh->work);
	if (error != 0)
		return error;
	request = qoi_mesh_round(mesh, round)->request;
	if (mesh->unmapped)
		qoi_agent_submit(mesh->agent, request, &mesh->work);
	*request_out = qoi_request_handle(request, mesh->agent->context_number);
	return 0;
}

static struct qo_mesh *mesh_of(qo_request_t handle, struct qoi_round **round_out)
{
	struct qoi_request *request = qoi_request_find(handle);
	struct qo_mesh *mesh;

	if (request == NULL || request->work == NULL ||
	    request->work->ops != &qoi_mesh_work_ops ||
	    qoi_request_generation(request) != (uint32_t)(handle.id >> 32))
		return NULL;
	mesh = (struct qo_mesh *)request->work;
	*round_out = qoi_mesh_round_of(mesh, request);
	if (*round_out == NULL || !(*round_out)->open)
		return NULL;
	return mesh;
}

static int view_fill(struct qo_mesh *mesh, struct qoi_round *round, uint32_t at,
		     struct qo_view *view_out)
{
	const struct qoi_edge *edge = &mesh->edges[at];
	uint8_t *slot = qoi_slot(edge->slots, &edge->shape, round->round);
	uint32_t bytes = qoi_slot_bytes(slot);

	/* The source wrote it: it may say anything. */
	if (bytes > edge->shape.payload_bytes)
		return qoi_fail(-EBADMSG,
				"edge %u from rank %u: a seam of %u "
				"bytes in slots of %u",
				at, edge->peer, bytes,
				edge->shape.payload_bytes);
	view_out->edge = at;
	view_out->bytes = bytes;
	view_out->round = round->round;
	view_out->data = qoi_slot_payload(slot);
	return 0;
}

static int arrived_any(struct qo_mesh *mesh, struct qoi_round *round,
		       struct qo_view *view_out)
{
	const struct qoi_edge *gone = NULL;
	uint32_t left = 0;

	for (uint32_t i = 0; i < mesh->in_count; i++) {
		uint64_t bit = UINT64_C(1) << (i & 63);
		const struct qoi_edge *edge = &mesh->edges[mesh->in[i]];

		if ((round->seen[i / 64] & bit) != 0)
			continue;
		if (qoi_edge_fate(edge) != 0)
			gone = edge;
		if (!qoi_edge_arrived(edge, round->round)) {
			left++;
			continue;
		}
		round->seen[i / 64] |= bit;
		return view_fill(mesh, round, mesh->in[i], view_out);
	}
	if (left == 0)
		return -ENOENT;
	return gone != NULL ? -ECONNRESET : -EAGAIN;
}

int qo_mesh_arrived(qo_request_t request, uint32_t edge,
		    struct qo_view *view_out)
{
	struct qoi_round *round;
	struct qo_mesh *mesh = mesh_of(request, &round);
	int fate;

	if (mesh == NULL)
		return qoi_answer(-EBADF, "qo_mesh_arrived: stale request");
	if (!mesh->agent->threaded)
		qoi_agent_try_cycle(mesh->agent);
	if (edge == QO_ANY_EDGE)
		return arrived_any(mesh, round, view_out);
	if (edge >= mesh->edge_count ||
	    (mesh->edges[edge].roles & QOI_ROLE_IN) == 0)
		return qoi_fail(-EINVAL,
				"qo_mesh_arrived: edge %u does not "
				"end at this rank",
				edge);
	/* In this order: what came before the loss is here then. */
	fate = qoi_edge_fate(&mesh->edges[edge]);
	if (qoi_edge_arrived(&mesh->edges[edge], round->round))
		return view_fill(mesh, round, edge, view_out);
	return fate != 0 ? -ECONNRESET : -EAGAIN;
}

/* Rounds may be released in any order; credits say "all below". */
static int released_advance(struct qo_mesh *mesh, uint64_t number)
{
	uint64_t before = mesh->released;

	mesh->released_ahead |= UINT64_C(1) << (number - mesh->released);
	while ((mesh->released_ahead & 1) != 0) {
		mesh->released_ahead >>= 1;
		mesh->released++;
	}
	return mesh->released != before;
}

static void credits_return(struct qo_mesh *mesh)
{
	for (uint32_t i = 0; i < mesh->in_count; i++) {
		struct qoi_edge *edge = &mesh->edges[mesh->in[i]];

		/* P2 -> O2: reads of the slots before their credit */
		if (edge->credit_out != NULL)
			qoi_publish64_at(QOI_EDGE_P2, edge->credit_out,
					 mesh->released);
	}
}

int qo_mesh_release(qo_request_t handle)
{
	struct qoi_round *round;
	struct qo_mesh *mesh = mesh_of(handle, &round);
	struct qoi_request *request;

	if (mesh == NULL)
		return qoi_answer(-EBADF, "qo_mesh_release: stale request");
	request = round->request;
	if (qoi_request_pending(request)) {
		qoi_reader_move(request, qoi_request_generation(request));
		if (qoi_request_pending(request))
			return qoi_answer(-EBUSY,
					  "qo_mesh_release: round %llu "
					  "is not complete: wait for it first",
					  (unsigned long long)round->round);
	}
	qoi_work_lock(&mesh->work);
	round->open = 0;
	qoi_request_retire(request);
	if (released_advance(mesh, round->round))
		credits_return(mesh);
	qoi_work_unlock(&mesh->work);
	if (mesh->unmapped)
		qoi_agent_submit(mesh->agent, request, &mesh->work);
	return 0;
}
