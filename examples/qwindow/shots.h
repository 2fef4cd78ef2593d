/* SPDX-License-Identifier: BSD-3-Clause */
/* Shots: one row of bits each, from Stim's b8, r8 or 01 result files. */
#ifndef QWINDOW_SHOTS_H
#define QWINDOW_SHOTS_H

#include <stddef.h>
#include <stdint.h>

#include "examples/qwindow/problem.h"

struct shots {
	uint32_t bits;	 /* of a shot */
	uint32_t stride; /* bytes of a row */
	size_t count;
	uint8_t *rows; /* owned */
};

/*
 * Read at most `limit` shots (0: all) of `bits` bits each. The format is
 * that of the suffix. A file that is cut short, or whose shots have another
 * size, gives -EINVAL with the shot and the byte in `problem`.
 */
int shots_read(const char *path, uint32_t bits, size_t limit,
	       struct shots *shots_out, struct problem *problem);
void shots_release(struct shots *shots);

static inline uint8_t *shots_row(const struct shots *shots, size_t shot)
{
	return shots->rows + shot * shots->stride;
}

#endif
