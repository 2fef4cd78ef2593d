/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Control racks: what measures the detector bits. Rank r plays rack r, which
 * sees the bits of some patches (or of some columns of every patch) at all
 * times; slab owners need all patches for some times. Between the two lies a
 * transpose: a block from each rack to each owner.
 */
#ifndef QWINDOW_RACK_H
#define QWINDOW_RACK_H

#include <stddef.h>
#include <stdint.h>

#include "examples/qwindow/dem.h"
#include "examples/qwindow/shots.h"
#include "examples/qwindow/window.h"

enum rack_layout {
	RACK_PATCH, /* a rack has whole patches: blocks are all equal */
	RACK_STRIP, /* a rack has columns of every patch: they are not */
};

struct rack {
	enum rack_layout layout;
	uint32_t rank;
	uint32_t ranks;
	uint32_t patches;	   /* of a batch */
	const struct plan *plan;   /* the caller's */
	const struct shots *shots; /* the caller's */
	size_t row_bytes;	   /* of a slab's row of bits at its owner */
	size_t *block_bytes;	   /* owned, from each rack, for any slab */
	size_t *block_offset;	   /* owned, of the block from each rack */
	size_t recv_bytes;	   /* of the blocks from all racks */
	/* Strips: of slab k, rack r has the detectors
	 * list[first[k * ranks + r]] .. list[first[k * ranks + r + 1]]. */
	uint32_t *first; /* owned */
	uint32_t *list;	 /* owned, numbered within the slab */
};

/* Patches of a batch that are now in flight. */
struct rack_batch {
	size_t first;	/* shot of patch 0 */
	uint32_t count; /* <= rack.patches */
};

int rack_create(struct rack *rack, const struct dem *dem);
void rack_destroy(struct rack *rack);

/* As rack: this rank's block for the owner of slab k (any k: past the end
 * it is empty). `block` has block_bytes[rank] bytes. */
void rack_pack(const struct rack *rack, const struct rack_batch *batch,
	       uint32_t k, uint8_t *block);

/* As owner of slab k: the blocks of all racks, each at its block_offset,
 * become rows of slab bits, one of row_bytes a patch. */
void rack_unpack(const struct rack *rack, const struct rack_batch *batch,
		 uint32_t k, const uint8_t *blocks, uint8_t *rows);

#endif
