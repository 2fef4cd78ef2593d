/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A detector error model as a matching graph: detectors in time layers, and
 * edges between two detectors, or one and the boundary.
 */
#ifndef QWINDOW_DEM_H
#define QWINDOW_DEM_H

#include <stddef.h>
#include <stdint.h>

#include "examples/qwindow/problem.h"

#define DEM_BOUNDARY UINT32_MAX
#define DEM_MAX_OBSERVABLES 64

/* a < b; b is DEM_BOUNDARY for an edge with one end. */
struct dem_edge {
	uint32_t a;
	uint32_t b;
	double probability; /* 0 < p <= 0.5 */
	uint64_t observables;
};

struct dem {
	uint32_t detector_count;
	uint32_t observable_count;
	uint32_t layer_count;
	uint32_t dimensions; /* coordinates of a detector, time included */
	uint32_t column_count;
	uint32_t max_span;     /* layers that the longest edge crosses */
	uint32_t *layer_first; /* owned, layer_count + 1: first detector */
	uint32_t *layer;       /* owned, of each detector */
	uint32_t *column; /* owned, of each detector, by first coordinate */
	struct dem_edge *edges; /* owned, sorted by (a, b), all different */
	size_t edge_count;
	/*
	 * An edge with p > 0.5 is taken as having happened: its ends and its
	 * observables are flipped in every shot, and it stays with 1 - p.
	 */
	uint8_t *flips; /* owned, detector bits */
	uint64_t flipped_observables;
};

/* Read Stim's text format, folded or flat. 0, or -errno and `problem`. */
int dem_read(const char *path, struct dem *dem_out, struct problem *problem);
void dem_release(struct dem *dem);

#endif
