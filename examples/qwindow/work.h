/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What one rank decodes: A and B windows of the patches of a step, and where
 * their bits stand between the two. Nothing here waits or talks to others.
 */
#ifndef QWINDOW_WORK_H
#define QWINDOW_WORK_H

#include "examples/qwindow/rack.h"
#include "examples/qwindow/stats.h"
#include "examples/qwindow/timeline.h"
#include "examples/qwindow/window.h"

#define WORK_NO_SLAB UINT32_MAX
/* Right buffers are held for this step, for the one before, and, as the last
 * rank's slab is an epoch older than what comes in, for one more. */
#define WORK_RIGHT_SLOTS 3

/* One epoch of one batch. */
struct step {
	uint64_t number;
	struct rack_batch batch;
	uint32_t epoch;
	uint32_t a_slab; /* whose A window is decoded here, or WORK_NO_SLAB */
	uint32_t b_slab; /* whose B window becomes ready, or WORK_NO_SLAB */
	uint64_t rounds_end; /* rounds measured when its bits are there */
};

/* A committed correction. */
struct commit {
	uint32_t patch; /* shot */
	uint32_t edge;	/* of the model */
};

struct commit_log {
	struct commit *entries; /* owned */
	size_t count;
	size_t room;
	int lost; /* no memory for one */
};

struct work {
	const struct plan *plan; /* the caller's */
	uint32_t patches;	 /* of a batch */
	uint32_t observable_count;
	size_t row_bytes;   /* of a slab's bits of a patch */
	size_t right_bytes; /* 0: there are no B windows */
	size_t left_bytes;
	size_t seam_bytes;
	size_t frame_bytes; /* of one observable's bits of a batch */
	struct window_decoder decoder;
	uint8_t *rows;			  /* owned, slab bits of each patch */
	uint8_t *right[WORK_RIGHT_SLOTS]; /* owned, right buffers after A */
	uint8_t *left; /* owned, left buffer of one patch with its seam */
	struct commit_log log; /* owned */
	struct stats a;	       /* decoding one window of one patch */
	struct stats b;
	struct timeline *windows; /* the caller's, of both; NULL: not kept */
};

/* plan, patches, observable_count and row_bytes are set. 0 or -ENOMEM. */
int work_init(struct work *work);
void work_fini(struct work *work);

/* Left buffers as they came from the racks, left_bytes a patch. */
void work_take_halo(const struct work *work, const struct step *step,
		    uint8_t *halo);

/*
 * Decode A of one patch in work->rows. What its corrections did to the left
 * buffer next to the core is XORed into `seam`, observables into `frame`.
 */
void work_decode_a(struct work *work, const struct step *step, uint32_t patch,
		   uint8_t *seam, uint8_t *frame);
/* Decode B of one patch; halo and seam came from the next slab's owner. */
void work_decode_b(struct work *work, const struct step *step, uint32_t patch,
		   const uint8_t *halo, const uint8_t *seam, uint8_t *frame);

#endif
