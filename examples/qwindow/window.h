/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parallel windows in time (Skoric et al. 2023). The layers are cut into
 * slabs. Window A_k decodes slab k and keeps the corrections that touch its
 * core; window B_k decodes what lies between core k and core k + 1, with the
 * defects that the two A windows left there, and keeps everything.
 */
#ifndef QWINDOW_WINDOW_H
#define QWINDOW_WINDOW_H

#include "examples/qwindow/dem.h"
#include "examples/qwindow/graph.h"
#include "examples/qwindow/uf.h"

/* Detectors are numbered by time, so a range of layers is one of these. */
struct range {
	uint32_t first;
	uint32_t count;
};

struct slab {
	struct range all;
	struct range left;  /* buffer before the core, part of B_(k-1) */
	struct range right; /* buffer after the core, part of B_k */
	struct range seam;  /* end of `left` that edges from the core reach */
	struct graph a;	    /* vertices: detectors of `all` */
	struct graph b; /* vertices: `right`, then `left` of the next slab */
};

struct plan {
	uint32_t commit; /* layers of a core, at least */
	uint32_t buffer; /* layers on either side of it */
	uint32_t width;	 /* layers of a slab: commit + 2 buffer */
	uint32_t slab_count;
	struct slab *slabs; /* owned */
	/* The largest of all slabs, in detectors or edges. */
	uint32_t all_most;
	uint32_t left_most;
	uint32_t right_most;
	uint32_t seam_most;
	uint32_t edges_most;
};

/* 0; -ENOMEM. `dem` is needed no longer than the call. */
int plan_create(const struct dem *dem, uint32_t commit, uint32_t buffer,
		struct plan *plan_out);
void plan_release(struct plan *plan);

/* Where committed corrections go. */
typedef void (*commit_edge)(const struct graph_edge *edge, void *arg);

/* A decoder with the memory it works in; one per thread. */
struct window_decoder {
	struct uf uf;
	uint32_t *defects; /* owned */
	uint32_t *edges;   /* owned */
};

int window_decoder_init(struct window_decoder *decoder, const struct plan *plan);
void window_decoder_fini(struct window_decoder *decoder);

/* Decode A_k: `row` has the bits of slab->all. */
void window_decode_a(struct window_decoder *decoder, const struct slab *slab,
		     const uint8_t *row, commit_edge commit, void *arg);
/* Decode B_k: `right` has the bits of slab->right, `left` the `left_count`
 * ones of the next slab's left buffer, after what both A windows did. */
void window_decode_b(struct window_decoder *decoder, const struct slab *slab,
		     const uint8_t *right, const uint8_t *left,
		     uint32_t left_count, commit_edge commit, void *arg);

#endif
