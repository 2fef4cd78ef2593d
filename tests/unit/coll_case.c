/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "coll_sim.h"

static bool case_is_v(const struct sim_case *is)
{
	return is->kind == QOI_ALLTOALLV || is->kind == QOI_ALLGATHERV;
}

/* Blocks in a drawn order with gaps; an empty one is at an absurd place. */
static void draw_layout(struct sim *sim, const uint64_t *counts,
			uint64_t *displacements)
{
	const uint32_t count = sim->is.count;
	uint32_t order[SIM_RANKS_MAX];
	uint64_t end = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t j = (uint32_t)(sim_random(&sim->random) % (i + 1));

		order[i] = order[j];
		order[j] = i;
	}
	for (uint32_t i = 0; i < count; i++) {
		end += sim_random(&sim->random) % 4;
		displacements[order[i]] =
			counts[order[i]] == 0 ? UINT64_MAX : end;
		end += counts[order[i]];
	}
}

/* A quarter of the blocks are empty, another quarter are full. */
static uint64_t draw_count(struct sim *sim)
{
	switch (sim_random(&sim->random) % 4) {
	case 0:
		return 0;
	case 1:
		return sim->is.elements;
	default:
		return sim_random(&sim->random) % (sim->is.elements + 1);
	}
}

static void draw_counts(struct sim *sim)
{
	const uint32_t count = sim->is.count;

	for (uint32_t i = 0; i < count; i++)
		for (uint32_t j = 0; j < count; j++) {
			uint64_t drawn = draw_count(sim);

			if (sim->is.kind == QOI_ALLGATHERV && i > 0)
				drawn = sim->ranks[0].recv_counts[j];
			sim->ranks[i].recv_counts[j] = drawn;
			sim->ranks[j].send_counts[i] = drawn;
			/* In place a pair swaps blocks of one length. */
			if (sim->is.kind == QOI_ALLTOALLV && j < i &&
			    sim->is.in_place != SIM_SEPARATE) {
				drawn = sim->ranks[j].recv_counts[i];
				sim->ranks[i].recv_counts[j] = drawn;
				sim->ranks[j].send_counts[i] = drawn;
			}
		}
}

static void draw_layouts(struct sim *sim)
{
	draw_counts(sim);
	for (uint32_t i = 0; i < sim->is.count; i++) {
		struct sim_rank *rank = &sim->ranks[i];

		draw_layout(sim, rank->send_counts, rank->send_displacements);
		draw_layout(sim, rank->recv_counts, rank->recv_displacements);
		rank->coll.recv_counts = rank->recv_counts;
		rank->coll.recv_displacements = rank->recv_displacements;
		if (sim->is.kind == QOI_ALLGATHERV) {
			rank->coll.elements = rank->recv_counts[i];
		} else if (rank->coll.in_place == 0) {
			rank->coll.send_counts = rank->send_counts;
			rank->coll.send_displacements = rank->send_displacements;
		}
	}
}

static void describe(struct sim *sim)
{
	for (uint32_t i = 0; i < sim->is.count; i++)
		sim->ranks[i].coll = (struct qoi_coll){
			.kind = sim->is.kind,
			.rank = i,
			.count = sim->is.count,
			.root = sim->is.root,
			.type = sim->is.type,
			.reduce = sim->is.reduce,
			.in_place =
				sim->is.in_place == SIM_IN_PLACE ||
				(sim->is.in_place == SIM_MIXED && i % 2 == 1),
			.elements = sim->is.elements,
		};
	if (case_is_v(&sim->is))
		draw_layouts(sim);
}

/* A value of a float type that shows errors: small, or seldom a special. */
static double draw_number(uint64_t *random)
{
	static const double specials[] = { 0.0, -0.0, __builtin_inf(),
					   -__builtin_inf(), __builtin_nan("") };
	uint64_t drawn = sim_random(random);

	if (drawn % 64 < sizeof(specials) / sizeof(*specials))
		return specials[drawn % 64];
	return ((double)(int64_t)(drawn >> 8 & 0xffffff) - 0x800000) / 3000.0;
}

static void fill(struct sim *sim, uint8_t *bytes, uint64_t length)
{
	const uint64_t unit = qoi_type_bytes(sim->is.type);
	uint64_t at = 0;

	for (; unit != 0 && at + unit <= length; at += unit) {
		double number = draw_number(&sim->random);
		float rounded = (float)number;
		uint64_t bits = sim_random(&sim->random);

		if (sim->is.type == QO_DOUBLE)
			memcpy(bytes + at, &number, unit);
		else if (sim->is.type == QO_FLOAT)
			memcpy(bytes + at, &rounded, unit);
		else
			memcpy(bytes + at, &bits, unit);
	}
	for (; at < length; at++)
		bytes[at] = (uint8_t)sim_random(&sim->random);
}

/*
 * The exact size ends where malloc's does, so that ASan sees one byte more;
 * the address is odd, so that UBSan sees a misaligned access.
 */
static void buffers_open(struct sim *sim, struct sim_rank *rank)
{
	for (int i = 0; i < QOI_BUFFER_COUNT; i++) {
		uint64_t bytes = rank->schedule->buffer_bytes[i];
		uint8_t *buffer = malloc(bytes + 1);
		uint8_t *initial = malloc(bytes + 1);

		assert_non_null(buffer);
		assert_non_null(initial);
		rank->buffers[i] = buffer + 1;
		rank->initial[i] = initial + 1;
		fill(sim, rank->buffers[i], bytes);
		memcpy(rank->initial[i], rank->buffers[i], bytes);
	}
}

static void buffers_close(struct sim_rank *rank)
{
	for (int i = 0; i < QOI_BUFFER_COUNT; i++) {
		free(rank->buffers[i] - 1);
		free(rank->initial[i] - 1);
	}
}

static void ranks_open(struct sim *sim)
{
	for (uint32_t i = 0; i < sim->is.count; i++) {
		struct sim_rank *rank = &sim->ranks[i];
		int error = qoi_schedule_compile(&rank->coll, sim->is.algorithm,
						 NULL, &rank->schedule);

		if (error != 0)
			sim_fail(sim, "rank %u: compile gives %d", i, error);
		buffers_open(sim, rank);
	}
}

static void ranks_restart(struct sim *sim)
{
	for (uint32_t i = 0; i < sim->is.count; i++) {
		struct sim_rank *rank = &sim->ranks[i];

		for (int j = 0; j < QOI_BUFFER_COUNT; j++)
			memcpy(rank->buffers[j], rank->initial[j],
			       rank->schedule->buffer_bytes[j]);
		rank->started = false;
		rank->next = 0;
		rank->pending_count = 0;
	}
}

static void check_result(const struct sim *sim, uint32_t index)
{
	const struct sim_rank *rank = &sim->ranks[index];
	const uint64_t *bytes = rank->schedule->buffer_bytes;
	uint8_t *expected = malloc(bytes[QOI_BUFFER_RECV] + 1);

	assert_non_null(expected);
	if (memcmp(rank->buffers[QOI_BUFFER_SEND],
		   rank->initial[QOI_BUFFER_SEND], bytes[QOI_BUFFER_SEND]) != 0)
		sim_fail(sim, "rank %u: the send buffer has changed", index);
	if (sim->is.kind == QOI_ALLREDUCE) {
		sim_check_reduction(sim, index);
	} else {
		memcpy(expected, rank->initial[QOI_BUFFER_RECV],
		       bytes[QOI_BUFFER_RECV]);
		sim_expect(sim, index, expected);
		if (memcmp(rank->buffers[QOI_BUFFER_RECV], expected,
			   bytes[QOI_BUFFER_RECV]) != 0)
			sim_fail(sim, "rank %u: wrong result", index);
	}
	free(expected);
}

static void check_end(const struct sim *sim)
{
	const uint32_t count = sim->is.count;

	for (uint32_t i = 0; i < count; i++)
		for (uint32_t j = 0; j < count; j++)
			if (sim->first[i][j] != NULL)
				sim_fail(sim, "%u to %u: not taken", i, j);
	for (uint32_t i = 0; i < count; i++)
		check_result(sim, i);
	if (sim->is.kind == QOI_BARRIER && sim->left_early)
		sim_fail(sim, "a rank left before all had come");
}

void sim_case_run(const struct sim_case *is, uint64_t *random)
{
	static struct sim room; /* too large for the stack */
	struct sim *const sim = &room;

	memset(sim, 0, sizeof(*sim));
	sim->is = *is;
	sim->random = sim_random(random);
	describe(sim);
	ranks_open(sim);
	sim_check(sim);
	for (int i = 0; i < 2; i++) {
		sim->synchronous = i == 1;
		sim->left_early = false;
		ranks_restart(sim);
		sim_run(sim);
		check_end(sim);
	}
	for (uint32_t i = 0; i < is->count; i++) {
		buffers_close(&sim->ranks[i]);
		qoi_schedule_destroy(sim->ranks[i].schedule);
	}
	sim_total.cases++;
}

void sim_sweep(const struct sim_case *base, uint64_t *random)
{
	static const uint32_t counts[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 16 };
	const char *const *algorithm = qoi_coll_algorithms(base->kind);
	const bool rooted = base->kind == QOI_BCAST;
	const int in_places =
		rooted || base->kind == QOI_BARRIER ? 1 : SIM_IN_PLACE_COUNT;

	for (; *algorithm != NULL; algorithm++)
		for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
			for (int j = 0; j < in_places; j++) {
				struct sim_case is = *base;

				is.algorithm = *algorithm;
				is.count = counts[i];
				is.root =
					rooted ? (uint32_t)(sim_random(random) %
							    is.count)
					       : 0;
				is.in_place = j;
				sim_case_run(&is, random);
			}
}

uint64_t sim_seed(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;

	print_message("seed %ju (the first argument sets it)\n",
		      (uintmax_t)seed);
	return seed;
}

void sim_report(void)
{
	print_message("ran %ju cases of %ju steps, each buffered and "
		      "synchronous\n",
		      (uintmax_t)sim_total.cases, (uintmax_t)sim_total.steps);
}
