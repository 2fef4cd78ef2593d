/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/conformance/data.h"

#include <stdio.h>
#include <string.h>

#include <qoffload/types.h>

#define GUARD_BYTES 128
#define PATTERN 0xa5

size_t qoc_type_bytes(int32_t type)
{
	static const size_t bytes[] = { 0, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8 };

	return bytes[type];
}

uint64_t qoc_seed(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t x = a * UINT64_C(0x9e3779b97f4a7c15) +
		     b * UINT64_C(0xc2b2ae3d27d4eb4f) +
		     c * UINT64_C(0x165667b19e3779f9) + 1;

	x ^= x >> 29;
	x *= UINT64_C(0xbf58476d1ce4e5b9);
	return x ^ x >> 32;
}

void qoc_fill(void *to, int32_t type, uint64_t count, uint64_t seed)
{
	size_t bytes = qoc_type_bytes(type);
	uint8_t *at = to;

	for (uint64_t i = 0; i < count; i++, at += bytes) {
		uint64_t bits = qoc_seed(seed, i, 7);
		double number = (double)(bits % 2001) - 1000.0;
		float single = (float)number;

		if (type == QO_DOUBLE)
			memcpy(at, &number, bytes);
		else if (type == QO_FLOAT)
			memcpy(at, &single, bytes);
		else
			memcpy(at, &bits, bytes); /* the low ones */
	}
}

static uint64_t load(const void *from, size_t bytes)
{
	uint64_t value = 0;

	memcpy(&value, from, bytes);
	return value;
}

static int64_t extend(uint64_t value, size_t bytes)
{
	unsigned shift = (unsigned)(64 - 8 * bytes);

	return (int64_t)(value << shift) >> shift;
}

static int less(uint64_t a, uint64_t b, int32_t type)
{
	size_t bytes = qoc_type_bytes(type);

	if (type <= QO_INT64)
		return extend(a, bytes) < extend(b, bytes);
	return a < b;
}

static uint64_t fold_integer(uint64_t a, uint64_t b, int32_t type,
			     int32_t reduce)
{
	switch (reduce) {
	case QO_SUM:
		return a + b;
	case QO_MIN:
		return less(b, a, type) ? b : a;
	case QO_MAX:
		return less(a, b, type) ? b : a;
	case QO_AND:
		return a & b;
	case QO_OR:
		return a | b;
	default:
		return a ^ b;
	}
}

static double fold_number(double a, double b, int32_t reduce)
{
	if (reduce == QO_SUM)
		return a + b;
	if (reduce == QO_MIN)
		return b < a ? b : a;
	return a < b ? b : a;
}

static void fold_one(uint8_t *to, const uint8_t *from, int32_t type,
		     int32_t reduce)
{
	size_t bytes = qoc_type_bytes(type);
	uint64_t result;

	if (type == QO_FLOAT) {
		float a, b;

		memcpy(&a, to, bytes);
		memcpy(&b, from, bytes);
		a = (float)fold_number(a, b, reduce);
		memcpy(to, &a, bytes);
	} else if (type == QO_DOUBLE) {
		double a, b;

		memcpy(&a, to, bytes);
		memcpy(&b, from, bytes);
		a = fold_number(a, b, reduce);
		memcpy(to, &a, bytes);
	} else {
		result = fold_integer(load(to, bytes), load(from, bytes), type,
				      reduce);
		memcpy(to, &result, bytes);
	}
}

void qoc_fold(void *to, const void *from, int32_t type, int32_t reduce,
	      uint64_t count)
{
	size_t bytes = qoc_type_bytes(type);

	for (uint64_t i = 0; i < count; i++)
		fold_one((uint8_t *)to + i * bytes,
			 (const uint8_t *)from + i * bytes, type, reduce);
}

int qoc_image_make(struct qot_rank *rank, qo_context_t context,
		   struct qoc_image *image, size_t bytes, size_t offset)
{
	image->bytes = bytes;
	image->total = bytes + 2 * GUARD_BYTES;
	QOC_PASS(qoc_room_take(rank, context, image->total, &image->room));
	image->memory = image->room.address;
	image->base = image->memory + GUARD_BYTES / 2 + offset;
	qoc_image_clear(image);
	return 0;
}

void qoc_image_clear(struct qoc_image *image)
{
	memset(image->memory, PATTERN, image->total);
}

void qoc_image_free(struct qoc_image *image)
{
	qoc_room_free(&image->room);
	image->memory = NULL;
}

int qoc_image_compare(const struct qoc_image *have,
		      const struct qoc_image *want, const char *what)
{
	for (size_t i = 0; i < have->total; i++) {
		if (have->memory[i] == want->memory[i])
			continue;
		fprintf(stderr, "%s: byte %td of %zu is %02x, not %02x\n", what,
			&have->memory[i] - have->base, have->bytes,
			have->memory[i], want->memory[i]);
		return 1;
	}
	return 0;
}
