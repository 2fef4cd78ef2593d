/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What ranks exchange while they decode, in three kinds: blocks (racks to
 * slab owners), edges (to the owner of the slab before: raw halo, seams) and
 * frames (XOR over all ranks). Two backends do it: libqoffload, and MPI's
 * nonblocking calls. Each call is timed: what it takes is exposed time.
 */
#ifndef QWINDOW_EXCHANGE_H
#define QWINDOW_EXCHANGE_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include "examples/qwindow/problem.h"
#include "examples/qwindow/timeline.h"

#define EXCHANGE_BLOCK_SLOTS 2	/* one in use, one under way */
#define EXCHANGE_FRAME_SLOTS 3	/* filled by A, by B, under way */
#define EXCHANGE_EDGE_STEPS 4	/* steps whose halo or seams are held */
#define EXCHANGE_PIECES_MOST 16 /* seam messages of a step */

enum exchange_kind {
	EXCHANGE_BLOCKS,
	EXCHANGE_HALO,
	EXCHANGE_SEAM,
	EXCHANGE_FRAME,
	EXCHANGE_KINDS,
};

/* Sizes, the same at every call: operations are prepared once. */
struct exchange_shape {
	uint32_t rank;
	uint32_t ranks;
	const size_t *block_bytes;  /* from each rank; own: to each rank */
	const size_t *block_offset; /* of each in what is received */
	size_t recv_bytes;	    /* of all blocks received */
	int equal_blocks;	    /* all block_bytes are equal */
	size_t halo_bytes;	    /* 0: no edges at all */
	size_t seam_bytes;	    /* of a piece */
	uint32_t pieces;	    /* seam messages of a step */
	size_t frame_bytes;
};

struct exchange_times {
	uint64_t ns[EXCHANGE_KINDS]; /* spent in the calls */
	uint64_t poke_ns;
	uint64_t bytes[EXCHANGE_KINDS]; /* sent, own part included */
	uint64_t posts[EXCHANGE_KINDS];
};

struct exchange {
	const struct exchange_ops *ops;
	struct exchange_shape shape;
	MPI_Comm comm;				   /* the caller's */
	struct problem *problem;		   /* the caller's */
	void *backend;				   /* owned by the ops */
	uint8_t *block_send[EXCHANGE_BLOCK_SLOTS]; /* owned */
	uint8_t *block_recv[EXCHANGE_BLOCK_SLOTS]; /* owned */
	uint8_t *frame_send[EXCHANGE_FRAME_SLOTS]; /* owned */
	uint8_t *frame_recv[EXCHANGE_FRAME_SLOTS]; /* owned */
	struct exchange_times times;
	struct timeline *posts; /* the caller's; NULL: not kept */
	struct timeline *waits; /* the same; each ends when a request was
				 * seen to end */
	char owner[192];	/* who makes progress, for the report */
};

/*
 * All return 0 or -errno with `problem` set. `kind` is BLOCKS or FRAME for
 * post and wait, HALO or SEAM for edges; rounds count 0, 1, .. for each kind.
 */
struct exchange_ops {
	const char *name;
	int (*open)(struct exchange *x);
	void (*close)(struct exchange *x);
	int (*post)(struct exchange *x, enum exchange_kind kind, uint32_t slot);
	int (*wait)(struct exchange *x, enum exchange_kind kind, uint32_t slot);
	/* Sends to rank - 1 (copied), and expects as much from rank + 1. */
	int (*edge_post)(struct exchange *x, enum exchange_kind kind,
			 uint64_t round, const void *data);
	/* What came, in place until edge_release. */
	int (*edge_wait)(struct exchange *x, enum exchange_kind kind,
			 uint64_t round, const uint8_t **data_out);
	int (*edge_release)(struct exchange *x, enum exchange_kind kind,
			    uint64_t round);
	/* Lets a library work that needs calls for that. */
	int (*poke)(struct exchange *x);
};

extern const struct exchange_ops exchange_mpi_ops;
extern const struct exchange_ops exchange_qo_ops;

/* Bytes of an edge's message, and rounds that may be under way on it. */
size_t exchange_edge_bytes(const struct exchange *x, enum exchange_kind kind);
uint32_t exchange_edge_depth(const struct exchange *x, enum exchange_kind kind);

/* Collective over comm. ops, shape, comm and problem are set. */
int exchange_open(struct exchange *x);
void exchange_close(struct exchange *x);

int exchange_post(struct exchange *x, enum exchange_kind kind, uint64_t step);
int exchange_wait(struct exchange *x, enum exchange_kind kind, uint64_t step);
int exchange_edge_post(struct exchange *x, enum exchange_kind kind,
		       uint64_t round, const void *data);
int exchange_edge_wait(struct exchange *x, enum exchange_kind kind,
		       uint64_t round, const uint8_t **data_out);
int exchange_edge_release(struct exchange *x, enum exchange_kind kind,
			  uint64_t round);
int exchange_poke(struct exchange *x);

#endif
