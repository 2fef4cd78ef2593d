/* SPDX-License-Identifier: BSD-3-Clause */
/* What the text of a .dem says, unrolled, before edges are merged. */
#ifndef QWINDOW_DEM_RAW_H
#define QWINDOW_DEM_RAW_H

#include "examples/qwindow/dem.h"

struct dem_detector {
	double first;	     /* first coordinate */
	double time;	     /* last coordinate */
	uint32_t dimensions; /* 0: not declared with coordinates */
};

struct dem_raw {
	struct dem_detector *detectors; /* owned */
	uint32_t detector_count;
	uint32_t detector_room;
	uint32_t observable_count;
	struct dem_edge *edges; /* owned, in the order of the text */
	size_t edge_count;
	size_t edge_room;
};

/* Parse `text` (ends with a NUL; is changed). `path` is for messages. */
int dem_raw_parse(const char *path, char *text, struct dem_raw *raw_out,
		  struct problem *problem);
void dem_raw_release(struct dem_raw *raw);

#endif
