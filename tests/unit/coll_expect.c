/* SPDX-License-Identifier: BSD-3-Clause */
/* The serial reference: it knows MPI's words, and nothing of schedules. */
#include <math.h>
#include <string.h>

#include "coll_sim.h"

/* Elements [first, first + count) of a buffer of rank, as it began. */
static const uint8_t *initially(const struct sim *sim, uint32_t rank,
				int buffer, uint64_t first)
{
	return sim->ranks[rank].initial[buffer] +
	       first * qoi_type_bytes(sim->is.type);
}

static void put_elements(const struct sim *sim, uint8_t *expected,
			 uint64_t first, const uint8_t *from, uint64_t count)
{
	const uint64_t unit = qoi_type_bytes(sim->is.type);

	if (count != 0)
		memcpy(expected + first * unit, from, count * unit);
}

static void expect_block(const struct sim *sim, uint32_t rank, uint32_t peer,
			 uint8_t *expected)
{
	const struct sim_rank *to = &sim->ranks[rank];
	const struct sim_rank *from = &sim->ranks[peer];
	const bool in_place = from->coll.in_place != 0;
	const int buffer = in_place ? QOI_BUFFER_RECV : QOI_BUFFER_SEND;
	const uint64_t elements = sim->is.elements;
	uint64_t at = peer * elements, count = elements, start = 0;

	switch (sim->is.kind) {
	case QOI_ALLTOALL:
		start = rank * elements;
		break;
	case QOI_ALLTOALLV:
		at = to->recv_displacements[peer];
		count = to->recv_counts[peer];
		start = in_place ? from->recv_displacements[rank]
				 : from->send_displacements[rank];
		break;
	case QOI_ALLGATHER:
		start = in_place ? peer * elements : 0;
		break;
	default: /* allgatherv */
		at = to->recv_displacements[peer];
		count = to->recv_counts[peer];
		start = in_place ? from->recv_displacements[peer] : 0;
	}
	if (count != 0)
		put_elements(sim, expected, at,
			     initially(sim, peer, buffer, start), count);
}

void sim_expect(const struct sim *sim, uint32_t rank, uint8_t *expected)
{
	if (sim->is.kind == QOI_BARRIER)
		return;
	if (sim->is.kind == QOI_BCAST) {
		put_elements(sim, expected, 0,
			     initially(sim, sim->is.root, QOI_BUFFER_RECV, 0),
			     sim->is.elements);
		return;
	}
	for (uint32_t peer = 0; peer < sim->is.count; peer++)
		expect_block(sim, rank, peer, expected);
}

static const uint8_t *operand(const struct sim *sim, uint32_t rank, uint64_t i)
{
	return initially(sim, rank,
			 sim->ranks[rank].coll.in_place != 0 ? QOI_BUFFER_RECV
							     : QOI_BUFFER_SEND,
			 i);
}

static bool type_is_signed(int32_t type)
{
	return type <= QO_INT64;
}

/* Little-endian bytes of an integer, extended to 64 bits. */
static uint64_t load_integer(int32_t type, const uint8_t *bytes)
{
	const uint32_t bits = 8 * qoi_type_bytes(type);
	uint64_t value = 0;

	for (uint32_t i = 0; i < bits / 8; i++)
		value |= (uint64_t)bytes[i] << 8 * i;
	if (type_is_signed(type) && bits < 64 && value >> (bits - 1) != 0)
		value |= ~UINT64_C(0) << bits;
	return value;
}

static bool integer_less(int32_t type, uint64_t a, uint64_t b)
{
	return type_is_signed(type) ? (int64_t)a < (int64_t)b : a < b;
}

static uint64_t combine_integers(int32_t type, int32_t reduce, uint64_t a,
				 uint64_t b)
{
	switch (reduce) {
	case QO_SUM:
		return a + b;
	case QO_MIN:
		return integer_less(type, a, b) ? a : b;
	case QO_MAX:
		return integer_less(type, a, b) ? b : a;
	case QO_AND:
		return a & b;
	case QO_OR:
		return a | b;
	default:
		return a ^ b;
	}
}

static void check_integer(const struct sim *sim, uint32_t rank, uint64_t i,
			  const uint8_t *found)
{
	const int32_t type = sim->is.type;
	uint64_t value = load_integer(type, operand(sim, 0, i));
	uint8_t bytes[8];

	for (uint32_t peer = 1; peer < sim->is.count; peer++)
		value = combine_integers(type, sim->is.reduce, value,
					 load_integer(type,
						      operand(sim, peer, i)));
	memcpy(bytes, &value, sizeof(bytes));
	if (memcmp(bytes, found, qoi_type_bytes(type)) != 0)
		sim_fail(sim, "rank %u element %ju is wrong", rank,
			 (uintmax_t)i);
}

static double load_number(int32_t type, const uint8_t *bytes)
{
	double number;
	float rounded;

	if (type == QO_DOUBLE) {
		memcpy(&number, bytes, sizeof(number));
		return number;
	}
	memcpy(&rounded, bytes, sizeof(rounded));
	return rounded;
}

static double combine_numbers(const struct sim *sim, double a, double b)
{
	if (isnan(a) || isnan(b))
		return __builtin_nan("");
	if (sim->is.reduce == QO_SUM)
		return sim->is.type == QO_FLOAT ? (float)a + (float)b : a + b;
	if (a == b)
		return (signbit(a) != 0) == (sim->is.reduce == QO_MIN) ? a : b;
	return (a < b) == (sim->is.reduce == QO_MIN) ? a : b;
}

/* In rank order; exact where the order does not matter or is prescribed. */
static void check_number(const struct sim *sim, uint32_t rank, uint64_t i,
			 const uint8_t *found)
{
	const int32_t type = sim->is.type;
	const bool exact = sim->is.reduce != QO_SUM ||
			   strcmp(sim->is.algorithm, "flat") == 0;
	const double result = load_number(type, found);
	double value = load_number(type, operand(sim, 0, i));
	double size = fabs(value);

	for (uint32_t peer = 1; peer < sim->is.count; peer++) {
		double other = load_number(type, operand(sim, peer, i));

		value = combine_numbers(sim, value, other);
		size += fabs(other);
	}
	if (isnan(value)
		    ? isnan(result)
		    : value == result && !signbit(value) == !signbit(result))
		return;
	if (!exact &&
	    fabs(value - result) <= size * (type == QO_FLOAT ? 1e-6 : 1e-15))
		return;
	sim_fail(sim, "rank %u element %ju is %a and not %a", rank,
		 (uintmax_t)i, result, value);
}

void sim_check_reduction(const struct sim *sim, uint32_t rank)
{
	const uint64_t unit = qoi_type_bytes(sim->is.type);
	const uint8_t *found = sim->ranks[rank].buffers[QOI_BUFFER_RECV];
	const uint8_t *first = sim->ranks[0].buffers[QOI_BUFFER_RECV];

	if (memcmp(found, first, sim->is.elements * unit) != 0)
		sim_fail(sim, "rank %u and rank 0 differ", rank);
	for (uint64_t i = 0; rank == 0 && i < sim->is.elements; i++) {
		if (sim->is.type >= QO_FLOAT)
			check_number(sim, rank, i, found + i * unit);
		else
			check_integer(sim, rank, i, found + i * unit);
	}
}
