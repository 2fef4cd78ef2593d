/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The arithmetic of reductions.  a op b and b op a are the same bits for every
 * pair of values, so ranks may disagree on which comes first:
 * - integers wrap; their sign matters to min and max alone;
 * - a NaN among the operands of sum, min or max gives the one NaN of the type
 *   (quiet, positive, no payload), whatever NaN it was;
 * - for min and max -0 is less than +0.
 * Only sums of float and double depend on the order of three or more.
 */
#include <string.h>

#include <qoffload/types.h>

#include "libqoffload/coll/schedule.h"

/* What compilers combine by one vector instruction, at -O2 already. */
#define RUN_BYTES 16

/*
 * The next `count` elements of *to become `expression` of x, what was there,
 * and y.  Through copies: the buffers may lie anywhere, and the compiler sees
 * that these do not overlap; it removes them.
 */
#define COMBINE_RUN(type, count, expression)                                   \
	do {                                                                   \
		type a[count], b[count];                                       \
		memcpy(a, to, sizeof(a));                                      \
		memcpy(b, from, sizeof(b));                                    \
		for (size_t i = 0; i < (count); i++) {                         \
			const type x = a[i], y = b[i];                         \
			a[i] = (type)(expression);                             \
		}                                                              \
		memcpy(to, a, sizeof(a));                                      \
		to += sizeof(a);                                               \
		from += sizeof(b);                                             \
	} while (0)

#define COMBINE(type, expression)                                              \
	do {                                                                   \
		const uint64_t run = RUN_BYTES / sizeof(type);                 \
		for (; elements >= run; elements -= run)                       \
			COMBINE_RUN(type, RUN_BYTES / sizeof(type),            \
				    expression);                               \
		for (; elements > 0; elements--)                               \
			COMBINE_RUN(type, 1, expression);                      \
	} while (0)

#define NAN_UNLESS_NUMBER(sum, nan) ((sum) == (sum) ? (sum) : (nan))
#define LESS(x, y) ((x) < (y) ? (x) : (y))
#define MORE(x, y) ((x) > (y) ? (x) : (y))
/* Each comparison is false for a NaN. */
#define FLOAT_LESS(x, y, nan)                                                  \
	((x) < (y) || ((x) == (y) && __builtin_signbit(x) != 0) ? (x)          \
	 : (x) >= (y)						? (y)          \
								: (nan))
#define FLOAT_MORE(x, y, nan)                                                  \
	((x) > (y) || ((x) == (y) && __builtin_signbit(x) == 0) ? (x)          \
	 : (x) <= (y)						? (y)          \
								: (nan))

static void reduce_sum(int32_t type, uint8_t *to, const uint8_t *from,
		       uint64_t elements)
{
	/* Unsigned: a signed sum may not wrap in C. */
	switch (type) {
	case QO_INT8:
	case QO_UINT8:
		COMBINE(uint8_t, x + y);
		break;
	case QO_INT16:
	case QO_UINT16:
		COMBINE(uint16_t, x + y);
		break;
	case QO_INT32:
	case QO_UINT32:
		COMBINE(uint32_t, x + y);
		break;
	case QO_INT64:
	case QO_UINT64:
		COMBINE(uint64_t, x + y);
		break;
	case QO_FLOAT:
		COMBINE(float, NAN_UNLESS_NUMBER(x + y, __builtin_nanf("")));
		break;
	case QO_DOUBLE:
		COMBINE(double, NAN_UNLESS_NUMBER(x + y, __builtin_nan("")));
		break;
	default:
		break;
	}
}

static void reduce_min(int32_t type, uint8_t *to, const uint8_t *from,
		       uint64_t elements)
{
	switch (type) {
	case QO_INT8:
		COMBINE(int8_t, LESS(x, y));
		break;
	case QO_INT16:
		COMBINE(int16_t, LESS(x, y));
		break;
	case QO_INT32:
		COMBINE(int32_t, LESS(x, y));
		break;
	case QO_INT64:
		COMBINE(int64_t, LESS(x, y));
		break;
	case QO_UINT8:
		COMBINE(uint8_t, LESS(x, y));
		break;
	case QO_UINT16:
		COMBINE(uint16_t, LESS(x, y));
		break;
	case QO_UINT32:
		COMBINE(uint32_t, LESS(x, y));
		break;
	case QO_UINT64:
		COMBINE(uint64_t, LESS(x, y));
		break;
	case QO_FLOAT:
		COMBINE(float, FLOAT_LESS(x, y, __builtin_nanf("")));
		break;
	case QO_DOUBLE:
		COMBINE(double, FLOAT_LESS(x, y, __builtin_nan("")));
		break;
	default:
		break;
	}
}

static void reduce_max(int32_t type, uint8_t *to, const uint8_t *from,
		       uint64_t elements)
{
	switch (type) {
	case QO_INT8:
		COMBINE(int8_t, MORE(x, y));
		break;
	case QO_INT16:
		COMBINE(int16_t, MORE(x, y));
		break;
	case QO_INT32:
		COMBINE(int32_t, MORE(x, y));
		break;
	case QO_INT64:
		COMBINE(int64_t, MORE(x, y));
		break;
	case QO_UINT8:
		COMBINE(uint8_t, MORE(x, y));
		break;
	case QO_UINT16:
		COMBINE(uint16_t, MORE(x, y));
		break;
	case QO_UINT32:
		COMBINE(uint32_t, MORE(x, y));
		break;
	case QO_UINT64:
		COMBINE(uint64_t, MORE(x, y));
		break;
	case QO_FLOAT:
		COMBINE(float, FLOAT_MORE(x, y, __builtin_nanf("")));
		break;
	case QO_DOUBLE:
		COMBINE(double, FLOAT_MORE(x, y, __builtin_nan("")));
		break;
	default:
		break;
	}
}

/* Bitwise: the type matters by its size only. */
static void reduce_bits(int32_t reduce, uint8_t *to, const uint8_t *from,
			uint64_t bytes)
{
	uint64_t elements = bytes / sizeof(uint64_t);

	switch (reduce) {
	case QO_AND:
		COMBINE(uint64_t, x & y);
		elements = bytes % sizeof(uint64_t);
		COMBINE(uint8_t, x & y);
		break;
	case QO_OR:
		COMBINE(uint64_t, x | y);
		elements = bytes % sizeof(uint64_t);
		COMBINE(uint8_t, x | y);
		break;
	case QO_XOR:
		COMBINE(uint64_t, x ^ y);
		elements = bytes % sizeof(uint64_t);
		COMBINE(uint8_t, x ^ y);
		break;
	default:
		break;
	}
}

void qoi_reduce_apply(int32_t type, int32_t reduce, void *to, const void *from,
		      uint64_t elements)
{
	switch (reduce) {
	case QO_SUM:
		reduce_sum(type, to, from, elements);
		break;
	case QO_MIN:
		reduce_min(type, to, from, elements);
		break;
	case QO_MAX:
		reduce_max(type, to, from, elements);
		break;
	default:
		reduce_bits(reduce, to, from, elements * qoi_type_bytes(type));
		break;
	}
}
