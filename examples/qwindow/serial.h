/* SPDX-License-Identifier: BSD-3-Clause */
/* The same windows decoded one after the other by one rank: the reference
 * that the distributed decoder must equal to the bit. */
#ifndef QWINDOW_SERIAL_H
#define QWINDOW_SERIAL_H

#include "examples/qwindow/window.h"

struct serial {
	const struct dem *dem;	 /* the caller's */
	const struct plan *plan; /* the caller's */
	struct window_decoder decoder;
	uint8_t *syndrome; /* owned, bits of all detectors */
	uint8_t *row;	   /* owned, bits of one window's part */
	uint8_t *left;	   /* owned */
	uint64_t digest;
	uint64_t frame;
};

int serial_init(struct serial *serial, const struct dem *dem,
		const struct plan *plan);
void serial_fini(struct serial *serial);

/*
 * Decode one patch. `row`: its detector bits. Returns how many defects the
 * corrections left. serial->frame is then the XOR of the observables of all
 * committed edges, serial->digest that of their mixed ids.
 */
uint32_t serial_decode(struct serial *serial, const uint8_t *row);

#endif
