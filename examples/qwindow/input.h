/* SPDX-License-Identifier: BSD-3-Clause */
/* All files of a run: the model, the shots, and what judges the answer. */
#ifndef QWINDOW_INPUT_H
#define QWINDOW_INPUT_H

#include "examples/qwindow/dem.h"
#include "examples/qwindow/options.h"
#include "examples/qwindow/shots.h"
#include "examples/qwindow/window.h"

struct input {
	struct dem dem;	    /* owned */
	struct shots shots; /* owned, with the model's fixed flips applied */
	struct shots observables; /* owned; rows NULL: unknown */
	int64_t reference_errors; /* -1: unknown */
	struct plan plan;	  /* owned */
};

int input_read(const struct options *options, struct input *input_out,
	       struct problem *problem);
void input_release(struct input *input);

/* The code distance: --distance, or from the detectors of a full layer. */
int input_distance(const struct options *options, const struct dem *dem,
		   uint32_t *distance_out, struct problem *problem);

#endif
