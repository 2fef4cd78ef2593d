/* SPDX-License-Identifier: BSD-3-Clause */
/* A look-up table decoder: the predicted observables of every syndrome. */
#ifndef STEANE_LUT_TABLE_H
#define STEANE_LUT_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "examples/qwindow/problem.h"

struct table {
	uint32_t detectors;
	uint32_t observables;
	uint8_t *values; /* owned, one byte a syndrome */
};

/*
 * Read a .lut: 64 bytes are those of 6 detectors and 2 observables, one byte
 * a syndrome; any other power of two is one bit a syndrome, 1 observable.
 */
int table_read(const char *path, struct table *table_out,
	       struct problem *problem);
void table_release(struct table *table);

/*
 * The known number of errors of these shots, from the REFERENCE.tsv beside
 * them; -1 when it isn't there.
 */
int64_t table_reference_errors(const char *shots_path);

#endif
