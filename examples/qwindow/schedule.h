/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The distributed decoder: steps of one epoch of one batch each. In epoch e
 * rank q owns slab e P + q: it gets the slab's bits from the racks, sends the
 * slab's left buffer and seam to the owner of the slab before, and decodes
 * its A window, and the B window whose second half comes in from rank q + 1.
 */
#ifndef QWINDOW_SCHEDULE_H
#define QWINDOW_SCHEDULE_H

#include "examples/qwindow/exchange.h"
#include "examples/qwindow/freeze.h"
#include "examples/qwindow/pace.h"
#include "examples/qwindow/rack.h"
#include "examples/qwindow/work.h"

struct schedule_params {
	const struct plan *plan;
	const struct rack *rack;
	struct exchange *exchange;
	const struct shots *shots;
	uint32_t observable_count;
	uint32_t layer_count;
	int latency;
	int poke;
	double drop_seams;	  /* percent */
	struct freeze *freeze;	  /* NULL: this rank does not stop */
	struct timeline *windows; /* NULL: not kept */
	int progress;		  /* a line on standard error */
};

struct schedule_result {
	uint64_t *frames; /* owned, observables of every patch, on all ranks */
	struct work work; /* owned: corrections and times of this rank */
	struct pace pace; /* round_ns and periods_allowed are set before */
	uint64_t total_ns;
	uint64_t rack_ns; /* packing and unpacking blocks */
	uint64_t step_count;
	uint32_t epoch_count;
	uint64_t seams_sent;	/* messages that carry seams */
	uint64_t seams_dropped; /* of these, lost on purpose */
};

/* Patches that share a seam message. */
uint32_t schedule_piece_patches(uint32_t patches);
/* Windows of both kinds that a rank decodes of all patches. */
uint64_t schedule_windows(const struct plan *plan, uint32_t ranks,
			  uint32_t rank, size_t patches);

/* Collective. 0 or -errno, with the exchange's problem set. */
int schedule_run(const struct schedule_params *params,
		 struct schedule_result *result);
void schedule_result_release(struct schedule_result *result);

#endif
