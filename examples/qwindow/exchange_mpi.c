/* SPDX-License-Identifier: BSD-3-Clause */
/* The exchange through MPI's nonblocking calls, for comparison. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "examples/qwindow/exchange.h"

struct mpi_edge {
	size_t bytes;
	uint32_t depth;
	int tag;
	uint8_t *send;		    /* owned, depth messages */
	uint8_t *recv;		    /* owned, depth messages */
	MPI_Request *send_requests; /* owned */
	MPI_Request *recv_requests; /* owned */
};

struct mpi_backend {
	/* One each, so that no kind must keep the order of another. */
	MPI_Comm comms[EXCHANGE_KINDS];
	MPI_Request blocks[EXCHANGE_BLOCK_SLOTS];
	MPI_Request frames[EXCHANGE_FRAME_SLOTS];
	struct mpi_edge edges[EXCHANGE_KINDS]; /* HALO and SEAM */
	int *send_counts;		       /* owned */
	int *send_offsets;		       /* owned */
	int *recv_counts;		       /* owned */
	int *recv_offsets;		       /* owned */
};

static int mpi_failed(struct exchange *x, const char *what, int code)
{
	char text[MPI_MAX_ERROR_STRING] = "";
	int length;

	MPI_Error_string(code, text, &length);
	text[strcspn(text, "\n")] = '\0';
	return problem_set(x->problem, -EIO,
			   "exchange mpi: %s: %s; see "
			   "whether a rank has died",
			   what, text);
}

static int check(struct exchange *x, const char *what, int code)
{
	return code == MPI_SUCCESS ? 0 : mpi_failed(x, what, code);
}

static int edge_make(struct exchange *x, enum exchange_kind kind)
{
	struct mpi_backend *mpi = x->backend;
	struct mpi_edge *edge = &mpi->edges[kind];
	size_t bytes = exchange_edge_bytes(x, kind);
	uint32_t depth = exchange_edge_depth(x, kind);

	*edge = (struct mpi_edge){
		.bytes = bytes,
		.depth = depth,
		.tag = (int)kind,
		.send = calloc(depth, bytes + 1),
		.recv = calloc(depth, bytes + 1),
		.send_requests = calloc(depth, sizeof(MPI_Request)),
		.recv_requests = calloc(depth, sizeof(MPI_Request)),
	};
	if (edge->send == NULL || edge->recv == NULL ||
	    edge->send_requests == NULL || edge->recv_requests == NULL) {
		edge->depth = 0;
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < depth; i++) {
		edge->send_requests[i] = MPI_REQUEST_NULL;
		edge->recv_requests[i] = MPI_REQUEST_NULL;
	}
	return 0;
}

static int count_blocks(struct exchange *x)
{
	const struct exchange_shape *shape = &x->shape;
	struct mpi_backend *mpi = x->backend;
	size_t own = shape->block_bytes[shape->rank];

	mpi->send_counts = calloc(shape->ranks, sizeof(int));
	mpi->send_offsets = calloc(shape->ranks, sizeof(int));
	mpi->recv_counts = calloc(shape->ranks, sizeof(int));
	mpi->recv_offsets = calloc(shape->ranks, sizeof(int));
	if (mpi->send_counts == NULL || mpi->send_offsets == NULL ||
	    mpi->recv_counts == NULL || mpi->recv_offsets == NULL)
		return -ENOMEM;
	if (shape->recv_bytes > INT_MAX || own * shape->ranks > INT_MAX ||
	    shape->halo_bytes > INT_MAX || shape->frame_bytes > INT_MAX)
		return -EOVERFLOW;
	for (uint32_t r = 0; r < shape->ranks; r++) {
		mpi->send_counts[r] = (int)own;
		mpi->send_offsets[r] = (int)(r * own);
		mpi->recv_counts[r] = (int)shape->block_bytes[r];
		mpi->recv_offsets[r] = (int)shape->block_offset[r];
	}
	return 0;
}

static void mpi_close(struct exchange *x)
{
	struct mpi_backend *mpi = x->backend;

	for (int kind = 0; kind < EXCHANGE_KINDS; kind++) {
		struct mpi_edge *edge = &mpi->edges[kind];

		for (uint32_t i = 0; i < edge->depth; i++)
			MPI_Wait(&edge->send_requests[i], MPI_STATUS_IGNORE);
		free(edge->send);
		free(edge->recv);
		free(edge->send_requests);
		free(edge->recv_requests);
		if (mpi->comms[kind] != MPI_COMM_NULL)
			MPI_Comm_free(&mpi->comms[kind]);
	}
	free(mpi->send_counts);
	free(mpi->send_offsets);
	free(mpi->recv_counts);
	free(mpi->recv_offsets);
	free(mpi);
}

static int mpi_open(struct exchange *x)
{
	struct mpi_backend *mpi = calloc(1, sizeof(*mpi));
	int rc;

	if (mpi == NULL)
		return -ENOMEM;
	x->backend = mpi;
	for (int i = 0; i < EXCHANGE_BLOCK_SLOTS; i++)
		mpi->blocks[i] = MPI_REQUEST_NULL;
	for (int i = 0; i < EXCHANGE_FRAME_SLOTS; i++)
		mpi->frames[i] = MPI_REQUEST_NULL;
	for (int kind = 0; kind < EXCHANGE_KINDS; kind++) {
		MPI_Comm_dup(x->comm, &mpi->comms[kind]);
		MPI_Comm_set_errhandler(mpi->comms[kind], MPI_ERRORS_RETURN);
	}
	rc = count_blocks(x);
	if (rc == 0 && x->shape.halo_bytes > 0)
		rc = edge_make(x, EXCHANGE_HALO);
	if (rc == 0 && x->shape.halo_bytes > 0)
		rc = edge_make(x, EXCHANGE_SEAM);
	if (rc != 0)
		mpi_close(x);
	strcpy(x->owner, "MPI, inside its calls");
	return rc;
}

static int post_blocks(struct exchange *x, uint32_t slot)
{
	struct mpi_backend *mpi = x->backend;
	MPI_Comm comm = mpi->comms[EXCHANGE_BLOCKS];
	MPI_Request *request = &mpi->blocks[slot];

	if (x->shape.equal_blocks)
		return check(x, "MPI_Ialltoall",
			     MPI_Ialltoall(x->block_send[slot],
					   mpi->send_counts[0], MPI_BYTE,
					   x->block_recv[slot],
					   mpi->recv_counts[0], MPI_BYTE, comm,
					   request));
	return check(x, "MPI_Ialltoallv",
		     MPI_Ialltoallv(x->block_send[slot], mpi->send_counts,
				    mpi->send_offsets, MPI_BYTE,
				    x->block_recv[slot], mpi->recv_counts,
				    mpi->recv_offsets, MPI_BYTE, comm, request));
}

static int mpi_post(struct exchange *x, enum exchange_kind kind, uint32_t slot)
{
	struct mpi_backend *mpi = x->backend;

	if (kind == EXCHANGE_BLOCKS)
		return post_blocks(x, slot);
	return check(x, "MPI_Iallreduce",
		     MPI_Iallreduce(x->frame_send[slot], x->frame_recv[slot],
				    (int)x->shape.frame_bytes, MPI_BYTE, MPI_BXOR,
				    mpi->comms[kind], &mpi->frames[slot]));
}

static int mpi_wait(struct exchange *x, enum exchange_kind kind, uint32_t slot)
{
	struct mpi_backend *mpi = x->backend;
	MPI_Request *request = kind == EXCHANGE_BLOCKS ? &mpi->blocks[slot]
						       : &mpi->frames[slot];

	return check(x, "MPI_Wait", MPI_Wait(request, MPI_STATUS_IGNORE));
}

static int mpi_edge_post(struct exchange *x, enum exchange_kind kind,
			 uint64_t round, const void *data)
{
	struct mpi_backend *mpi = x->backend;
	struct mpi_edge *edge = &mpi->edges[kind];
	uint32_t slot = (uint32_t)(round % edge->depth);
	int ranks = (int)x->shape.ranks, rank = (int)x->shape.rank;
	int rc = check(x, "MPI_Wait",
		       MPI_Wait(&edge->send_requests[slot], MPI_STATUS_IGNORE));

	if (rc == 0)
		rc = check(x, "MPI_Irecv",
			   MPI_Irecv(edge->recv + slot * edge->bytes,
				     (int)edge->bytes, MPI_BYTE,
				     (rank + 1) % ranks, edge->tag,
				     mpi->comms[kind],
				     &edge->recv_requests[slot]));
	if (rc != 0)
		return rc;
	memcpy(edge->send + slot * edge->bytes, data, edge->bytes);
	return check(x, "MPI_Isend",
		     MPI_Isend(edge->send + slot * edge->bytes, (int)edge->bytes,
			       MPI_BYTE, (rank + ranks - 1) % ranks, edge->tag,
			       mpi->comms[kind], &edge->send_requests[slot]));
}

static int mpi_edge_wait(struct exchange *x, enum exchange_kind kind,
			 uint64_t round, const uint8_t **data_out)
{
	struct mpi_backend *mpi = x->backend;
	struct mpi_edge *edge = &mpi->edges[kind];
	uint32_t slot = (uint32_t)(round % edge->depth);
	int rc = check(x, "MPI_Wait",
		       MPI_Wait(&edge->recv_requests[slot], MPI_STATUS_IGNORE));

	if (rc == 0)
		*data_out = edge->recv + slot * edge->bytes;
	return rc;
}

static int mpi_edge_release(struct exchange *x, enum exchange_kind kind,
			    uint64_t round)
{
	(void)x;
	(void)kind;
	(void)round;
	return 0;
}

/* What is done becomes a null request, and waiting for that is nothing. */
static int mpi_poke(struct exchange *x)
{
	struct mpi_backend *mpi = x->backend;
	int rc = 0, done;

	for (int i = 0; i < EXCHANGE_BLOCK_SLOTS && rc == 0; i++)
		rc = check(x, "MPI_Test",
			   MPI_Test(&mpi->blocks[i], &done, MPI_STATUS_IGNORE));
	for (int i = 0; i < EXCHANGE_FRAME_SLOTS && rc == 0; i++)
		rc = check(x, "MPI_Test",
			   MPI_Test(&mpi->frames[i], &done, MPI_STATUS_IGNORE));
	return rc;
}

const struct exchange_ops exchange_mpi_ops = {
	.name = "mpi",
	.open = mpi_open,
	.close = mpi_close,
	.post = mpi_post,
	.wait = mpi_wait,
	.edge_post = mpi_edge_post,
	.edge_wait = mpi_edge_wait,
	.edge_release = mpi_edge_release,
	.poke = mpi_poke,
};
