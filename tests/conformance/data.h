/* SPDX-License-Identifier: BSD-3-Clause */
/* Values that say where they come from, images of buffers, and a serial fold. */
#ifndef QOC_DATA_H
#define QOC_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "tests/conformance/suite.h"

#define QOC_TYPE_COUNT 10 /* QO_INT8 .. QO_DOUBLE */

size_t qoc_type_bytes(int32_t type);

/* Mixes three numbers into one. */
uint64_t qoc_seed(uint64_t a, uint64_t b, uint64_t c);

/*
 * `count` elements, any alignment.  Floating ones are small integers, so that
 * any order of a sum gives the same.
 */
void qoc_fill(void *to, int32_t type, uint64_t count, uint64_t seed);

/* to[i] = to[i] op from[i], written for clarity alone; any alignment. */
void qoc_fold(void *to, const void *from, int32_t type, int32_t reduce,
	      uint64_t count);

/* A buffer at a chosen offset from alignment, with a guard on both sides. */
struct qoc_image {
	struct qoc_room room;
	uint8_t *memory; /* of the room */
	uint8_t *base;	 /* where the data starts */
	size_t bytes;	 /* of data */
	size_t total;	 /* with guards */
};

/* Filled with a pattern; `offset` < 64.  Returns 0, or prints and returns 1. */
int qoc_image_make(struct qot_rank *rank, qo_context_t context,
		   struct qoc_image *image, size_t bytes, size_t offset);
void qoc_image_clear(struct qoc_image *image);
void qoc_image_free(struct qoc_image *image);
/* Compares all, guards and gaps too; prints the first difference. 0: equal. */
int qoc_image_compare(const struct qoc_image *have,
		      const struct qoc_image *want, const char *what);

#endif
