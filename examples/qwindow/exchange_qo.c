/* SPDX-License-Identifier: BSD-3-Clause */
/* The exchange through libqoffload: persistent operations for blocks and
 * frames, one mesh each for halo and seams; the agent makes progress. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <qoffload/mpi.h>
#include <qoffload/qoffload.h>

#include "examples/qwindow/clock.h"
#include "examples/qwindow/exchange.h"

#define CREDIT_WAIT_NS INT64_C(60000000000) /* then a peer must be stuck */
#define SPINS_BEFORE_YIELD 64
#define OUTGOING 0 /* index of the edge to rank - 1 */

struct edge_ring {
	qo_mesh_t mesh;	   /* owned */
	uint32_t incoming; /* index of the edge from rank + 1 */
	uint32_t depth;
	uint32_t bytes;
	qo_request_t *requests; /* owned, depth */
};

struct offload_backend {
	qo_context_t context;		      /* owned */
	qo_team_t team;			      /* owned */
	qo_op_t blocks[EXCHANGE_BLOCK_SLOTS]; /* owned */
	qo_op_t frames[EXCHANGE_FRAME_SLOTS]; /* owned */
	qo_request_t block_requests[EXCHANGE_BLOCK_SLOTS];
	qo_request_t frame_requests[EXCHANGE_FRAME_SLOTS];
	struct edge_ring edges[EXCHANGE_KINDS]; /* HALO and SEAM */
};

static int failed(struct exchange *x, const char *what, int rc)
{
	const char *detail = qo_error_detail();

	return problem_set(x->problem, rc, "exchange qo: %s: %s; %s", what,
			   qo_error_string(rc),
			   detail[0] != '\0'
				   ? detail
				   : "see whether a rank or the agent has died");
}

static int check(struct exchange *x, const char *what, int rc)
{
	return rc == 0 ? 0 : failed(x, what, rc);
}

static int check_done(struct exchange *x, const char *what, int rc,
		      const struct qo_status *status)
{
	char text[256];

	if (rc != 0)
		return failed(x, what, rc);
	if (status->state == QO_DONE)
		return 0;
	qo_status_describe(status, text, sizeof(text));
	return problem_set(x->problem, status->error,
			   "exchange qo: %s: %s; "
			   "see whether a rank or the agent has died",
			   what, text);
}

/* Runs an inline agent; lets others run when cores are few. */
static int make_progress(struct exchange *x, unsigned *spins,
			 int64_t deadline_ns)
{
	struct offload_backend *qo = x->backend;
	int rc = qo_progress(qo->context);

	if (rc != 0)
		return failed(x, "qo_progress", rc);
	if (++*spins % SPINS_BEFORE_YIELD != 0)
		return 0;
	if (clock_now_ns() > deadline_ns)
		return failed(x, "no credit in a minute", -ETIMEDOUT);
	sched_yield();
	return 0;
}

static int make_blocks(struct exchange *x, uint32_t slot)
{
	const struct exchange_shape *shape = &x->shape;
	struct offload_backend *qo = x->backend;
	size_t own = shape->block_bytes[shape->rank];
	uint64_t *numbers = calloc(4 * (size_t)shape->ranks, sizeof(*numbers));
	struct qo_blocks send = { .address = x->block_send[slot] };
	struct qo_blocks recv = { .address = x->block_recv[slot] };
	int rc;

	if (numbers == NULL)
		return -ENOMEM;
	send.counts = numbers;
	send.displacements = numbers + shape->ranks;
	recv.counts = numbers + 2 * shape->ranks;
	recv.displacements = numbers + 3 * shape->ranks;
	for (uint32_t r = 0; r < shape->ranks; r++) {
		numbers[r] = own;
		numbers[shape->ranks + r] = r * own;
		numbers[2 * shape->ranks + r] = shape->block_bytes[r];
		numbers[3 * shape->ranks + r] = shape->block_offset[r];
	}
	if (shape->equal_blocks)
		rc = check(x, "qo_alltoall_init",
			   qo_alltoall_init(qo->team, send.address, recv.address,
					    own, QO_BYTE, &qo->blocks[slot]));
	else
		rc = check(x, "qo_alltoallv_init",
			   qo_alltoallv_init(qo->team, &send, &recv, QO_BYTE,
					     &qo->blocks[slot]));
	free(numbers);
	return rc;
}

static int make_mesh(struct exchange *x, enum exchange_kind kind)
{
	struct offload_backend *qo = x->backend;
	struct edge_ring *ring = &qo->edges[kind];
	uint32_t ranks = x->shape.ranks, rank = x->shape.rank;
	struct qo_edge edges[2] = {
		{
			.source = rank,
			.destination = (rank + ranks - 1) % ranks,
			.tag = kind,
			.slot_bytes = (uint32_t)exchange_edge_bytes(x, kind),
			.depth = exchange_edge_depth(x, kind),
		},
	};

	edges[1] = edges[0];
	edges[1].source = (rank + 1) % ranks;
	edges[1].destination = rank;
	ring->depth = edges[0].depth;
	ring->bytes = edges[0].slot_bytes;
	/* Alone, a rank is its own neighbour: one edge is both. */
	ring->incoming = ranks == 1 ? OUTGOING : 1;
	ring->requests = calloc(ring->depth, sizeof(*ring->requests));
	if (ring->requests == NULL)
		return -ENOMEM;
	return check(x, "qo_mesh_create",
		     qo_mesh_create(qo->team, edges, ranks == 1 ? 1 : 2,
				    &ring->mesh));
}

static void destroy_ring(struct edge_ring *ring)
{
	int64_t deadline_ns = clock_now_ns() + CREDIT_WAIT_NS;

	/* Seams still on their way hold the mesh for a moment. */
	while (ring->mesh != NULL && qo_mesh_destroy(ring->mesh) == -EBUSY &&
	       clock_now_ns() < deadline_ns)
		sched_yield();
	free(ring->requests);
}

static void offload_close(struct exchange *x)
{
	struct offload_backend *qo = x->backend;

	destroy_ring(&qo->edges[EXCHANGE_HALO]);
	destroy_ring(&qo->edges[EXCHANGE_SEAM]);
	for (int i = 0; i < EXCHANGE_BLOCK_SLOTS; i++) {
		if (qo->blocks[i] != NULL)
			qo_op_destroy(qo->blocks[i]);
	}
	for (int i = 0; i < EXCHANGE_FRAME_SLOTS; i++) {
		if (qo->frames[i] != NULL)
			qo_op_destroy(qo->frames[i]);
	}
	if (qo->team != NULL)
		qo_team_destroy(qo->team);
	if (qo->context != NULL)
		qo_fini(qo->context);
	free(qo);
}

static int make_operations(struct exchange *x)
{
	struct offload_backend *qo = x->backend;
	int rc = 0;

	for (uint32_t i = 0; i < EXCHANGE_BLOCK_SLOTS && rc == 0; i++)
		rc = make_blocks(x, i);
	for (uint32_t i = 0; i < EXCHANGE_FRAME_SLOTS && rc == 0; i++)
		rc = check(x, "qo_allreduce_init",
			   qo_allreduce_init(qo->team, x->frame_send[i],
					     x->frame_recv[i],
					     x->shape.frame_bytes, QO_UINT8,
					     QO_XOR, &qo->frames[i]));
	if (rc == 0 && x->shape.halo_bytes > 0)
		rc = make_mesh(x, EXCHANGE_HALO);
	if (rc == 0 && x->shape.halo_bytes > 0)
		rc = make_mesh(x, EXCHANGE_SEAM);
	return rc;
}

static const char *kind_name(int32_t kind)
{
	switch (kind) {
	case QO_AGENT_INLINE:
		return "inline";
	case QO_AGENT_PROCESS:
		return "process";
	default:
		return "thread";
	}
}

static void describe_owner(struct exchange *x)
{
	struct offload_backend *qo = x->backend;
	struct qo_agent_info info = QO_AGENT_INFO_INIT;

	if (qo_agent_query(qo->context, &info) != 0)
		return;
	snprintf(x->owner, sizeof(x->owner), "%s agent, %s",
		 kind_name(info.kind), info.reason);
}

static int offload_open(struct exchange *x)
{
	struct offload_backend *qo = calloc(1, sizeof(*qo));
	int rc;

	if (qo == NULL)
		return -ENOMEM;
	x->backend = qo;
	if (x->shape.halo_bytes > QO_EDGE_SLOT_BYTES_MAX ||
	    x->shape.seam_bytes > QO_EDGE_SLOT_BYTES_MAX)
		rc = -EMSGSIZE;
	else
		rc = check(x, "qo_init", qo_init(NULL, &qo->context));
	if (rc == 0)
		rc = check(x, "qo_team_from_mpi",
			   qo_team_from_mpi(qo->context, x->comm, &qo->team));
	if (rc == 0)
		rc = make_operations(x);
	if (rc != 0) {
		offload_close(x);
		return rc;
	}
	describe_owner(x);
	return 0;
}

static int offload_post(struct exchange *x, enum exchange_kind kind,
			uint32_t slot)
{
	struct offload_backend *qo = x->backend;
	int64_t deadline_ns = clock_now_ns() + CREDIT_WAIT_NS;
	unsigned spins = 0;
	int rc;

	for (;;) {
		if (kind == EXCHANGE_BLOCKS)
			rc = qo_post(qo->blocks[slot],
				     &qo->block_requests[slot]);
		else
			rc = qo_post(qo->frames[slot],
				     &qo->frame_requests[slot]);
		if (rc != -EAGAIN)
			return check(x, "qo_post", rc);
		rc = make_progress(x, &spins, deadline_ns);
		if (rc != 0)
			return rc;
	}
}

static int offload_wait(struct exchange *x, enum exchange_kind kind,
			uint32_t slot)
{
	struct offload_backend *qo = x->backend;
	struct qo_status status;
	int rc = qo_wait(kind == EXCHANGE_BLOCKS ? qo->block_requests[slot]
						 : qo->frame_requests[slot],
			 QO_NO_DEADLINE, &status);

	return check_done(x, kind == EXCHANGE_BLOCKS ? "blocks" : "frames", rc,
			  &status);
}

static int offload_edge_post(struct exchange *x, enum exchange_kind kind,
			     uint64_t round, const void *data)
{
	struct offload_backend *qo = x->backend;
	struct edge_ring *ring = &qo->edges[kind];
	struct qo_seam seam = { OUTGOING, ring->bytes, data };
	int64_t deadline_ns = clock_now_ns() + CREDIT_WAIT_NS;
	unsigned spins = 0;

	for (;;) {
		int rc = qo_mesh_post(ring->mesh, round, &seam, 1,
				      QO_NO_DEADLINE,
				      &ring->requests[round % ring->depth]);

		if (rc != -EAGAIN)
			return check(x, "qo_mesh_post", rc);
		rc = make_progress(x, &spins, deadline_ns);
		if (rc != 0)
			return rc;
	}
}

static int offload_edge_wait(struct exchange *x, enum exchange_kind kind,
			     uint64_t round, const uint8_t **data_out)
{
	struct offload_backend *qo = x->backend;
	struct edge_ring *ring = &qo->edges[kind];
	qo_request_t request = ring->requests[round % ring->depth];
	struct qo_status status;
	struct qo_view view;
	int rc = qo_mesh_arrived(request, ring->incoming, &view);

	if (rc == -EAGAIN) {
		rc = qo_wait(request, QO_NO_DEADLINE, &status);
		rc = check_done(x, "mesh", rc, &status);
		if (rc != 0)
			return rc;
		rc = qo_mesh_arrived(request, ring->incoming, &view);
	}
	if (rc != 0)
		return failed(x, "qo_mesh_arrived", rc);
	if (view.bytes != ring->bytes || view.round != round)
		return failed(x, "a seam of another size or round", -EBADMSG);
	*data_out = view.data;
	return 0;
}

static int offload_edge_release(struct exchange *x, enum exchange_kind kind,
				uint64_t round)
{
	struct offload_backend *qo = x->backend;
	struct edge_ring *ring = &qo->edges[kind];

	return check(x, "qo_mesh_release",
		     qo_mesh_release(ring->requests[round % ring->depth]));
}

static int offload_poke(struct exchange *x)
{
	struct offload_backend *qo = x->backend;

	return check(x, "qo_progress", qo_progress(qo->context));
}

const struct exchange_ops exchange_qo_ops = {
	.name = "qo",
	.open = offload_open,
	.close = offload_close,
	.post = offload_post,
	.wait = offload_wait,
	.edge_post = offload_edge_post,
	.edge_wait = offload_edge_wait,
	.edge_release = offload_edge_release,
	.poke = offload_poke,
};
