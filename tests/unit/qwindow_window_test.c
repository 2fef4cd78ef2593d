/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "examples/qwindow/bits.h"
#include "examples/qwindow/rack.h"
#include "examples/qwindow/serial.h"
#include "tests/unit/qwindow_files.h"

#define DETECTORS 4 /* of a layer: distance 5 */

/* A repetition code memory of this many layers, with diagonal edges. */
static void make_dem(struct dem *dem, uint32_t layers)
{
	struct problem problem = { { 0 } };
	char text[2048];
	const char *path;

	snprintf(text, sizeof(text),
		 "detector(0, 0) D0\ndetector(1, 0) D1\n"
		 "detector(2, 0) D2\ndetector(3, 0) D3\n"
		 "repeat %u {\n"
		 "error(0.01) D0\nerror(0.01) D0 D1\nerror(0.01) D1 D2\n"
		 "error(0.01) D2 D3\nerror(0.01) D3 L0\n"
		 "error(0.02) D0 D4\nerror(0.02) D1 D5\n"
		 "error(0.02) D2 D6\nerror(0.02) D3 D7\n"
		 "error(0.005) D0 D5\nerror(0.005) D1 D6\n"
		 "error(0.005) D2 D7\n"
		 "shift_detectors(0, 1) 4\n"
		 "detector(0, 0) D0\ndetector(1, 0) D1\n"
		 "detector(2, 0) D2\ndetector(3, 0) D3\n}\n"
		 "error(0.01) D0\nerror(0.01) D0 D1\nerror(0.01) D1 D2\n"
		 "error(0.01) D2 D3\nerror(0.01) D3 L0\n",
		 layers - 1);
	path = file_with_text(text, ".dem");
	assert_int_equal(0, dem_read(path, dem, &problem));
	unlink(path);
	assert_int_equal(layers, dem->layer_count);
}

/* Every error of the model happens with its probability, times a factor. */
static uint64_t make_shot(const struct dem *dem, uint64_t seed, uint8_t *row)
{
	uint64_t flips = 0;

	memset(row, 0, bits_bytes(dem->detector_count));
	for (size_t i = 0; i < dem->edge_count; i++) {
		const struct dem_edge *edge = &dem->edges[i];
		double chance = (double)bits_mix(seed * 1000003 + i) /
				(double)UINT64_MAX;

		if (chance > edge->probability)
			continue;
		bits_flip(row, edge->a);
		if (edge->b != DEM_BOUNDARY)
			bits_flip(row, edge->b);
		flips ^= edge->observables;
	}
	return flips;
}

static void cores_and_gaps_cover_every_detector_once(void **state)
{
	(void)state;
	for (uint32_t layers = 2; layers < 60; layers++) {
		uint8_t covered[60 * DETECTORS] = { 0 };
		struct dem dem;
		struct plan plan;

		make_dem(&dem, layers);
		assert_int_equal(0, plan_create(&dem, 3, 2, &plan));
		for (uint32_t k = 0; k < plan.slab_count; k++) {
			const struct slab *slab = &plan.slabs[k];
			uint32_t start = slab->left.first + slab->left.count;

			assert_true(slab->right.first > start);
			for (uint32_t d = start; d < slab->right.first; d++)
				covered[d]++;
			/* B_k is the right buffer and the next left one. */
			for (uint32_t i = 0; k + 1 < plan.slab_count &&
					     i < slab->b.vertex_count;
			     i++)
				covered[slab->right.first + i]++;
		}
		for (uint32_t d = 0; d < dem.detector_count; d++)
			assert_int_equal(1, covered[d]);
		plan_release(&plan);
		dem_release(&dem);
	}
}

static void few_layers_are_one_slab_without_buffers(void **state)
{
	struct dem dem;
	struct plan plan;

	(void)state;
	make_dem(&dem, 8);
	assert_int_equal(0, plan_create(&dem, 5, 5, &plan));
	assert_int_equal(1, plan.slab_count);
	assert_int_equal(0, plan.slabs[0].left.count);
	assert_int_equal(0, plan.slabs[0].right.count);
	assert_int_equal(dem.edge_count, plan.slabs[0].a.edge_count);
	plan_release(&plan);
	dem_release(&dem);
}

static void only_what_touches_the_core_is_committed_by_a(void **state)
{
	struct dem dem;
	struct plan plan;
	const struct slab *slab;

	(void)state;
	make_dem(&dem, 30);
	assert_int_equal(0, plan_create(&dem, 4, 3, &plan));
	slab = &plan.slabs[1];
	for (uint32_t e = 0; e < slab->a.edge_count; e++) {
		const struct graph_edge *edge = &slab->a.edges[e];
		const struct dem_edge *model = &dem.edges[edge->id];
		uint32_t a = dem.layer[model->a];
		uint32_t b = model->b == DEM_BOUNDARY ? a : dem.layer[model->b];

		/* Slab 1 has layers 10 to 19, its core 13 to 16. */
		assert_int_equal((a >= 13 && a <= 16) || (b >= 13 && b <= 16),
				 edge->commit);
		if (a < 10 || b > 19)
			assert_int_equal(GRAPH_BOUNDARY, edge->b);
	}
	plan_release(&plan);
	dem_release(&dem);
}

/* Decode 2000 shots; returns the errors, adds up the residual. */
static uint32_t count_errors(uint32_t buffer, uint64_t *residual)
{
	uint8_t row[60 * DETECTORS / 8];
	struct serial serial;
	struct plan plan;
	struct dem dem;
	uint32_t errors = 0;

	make_dem(&dem, 60);
	assert_int_equal(0, plan_create(&dem, 5, buffer, &plan));
	assert_int_equal(0, serial_init(&serial, &dem, &plan));
	*residual = 0;
	for (uint64_t shot = 0; shot < 2000; shot++) {
		uint64_t flips = make_shot(&dem, shot, row);

		*residual += serial_decode(&serial, row);
		errors += serial.frame != flips;
	}
	serial_fini(&serial);
	plan_release(&plan);
	dem_release(&dem);
	return errors;
}

static void windows_leave_no_defect_and_few_errors(void **state)
{
	uint64_t residual;
	uint32_t whole = count_errors(100, &residual); /* one slab: global */
	uint32_t windows;

	(void)state;
	assert_int_equal(0, residual);
	windows = count_errors(5, &residual);
	assert_int_equal(0, residual);
	assert_in_range(windows, 1, whole + whole / 4 + 5);
}

static void windows_without_buffer_leave_defects(void **state)
{
	uint64_t residual, enough;
	uint32_t few = count_errors(0, &residual);

	(void)state;
	assert_true(residual > 0);
	assert_true(few > 2 * count_errors(5, &enough));
}

struct transpose {
	enum rack_layout layout;
	uint32_t ranks;
	uint32_t patches;
	uint32_t shots;
};

static void check_transpose(const struct dem *dem, const struct plan *plan,
			    struct shots *shots, const struct transpose *how)
{
	struct rack racks[9];
	struct rack_batch batch = { 0, how->shots };
	uint8_t *blocks, *rows, wanted[64];
	struct rack *rack = &racks[0];

	for (uint32_t r = 0; r < how->ranks; r++) {
		racks[r] = (struct rack){
			how->layout, r,	    how->ranks, how->patches,
			plan,	     shots, 0,		NULL,
			NULL,	     0,	    NULL,	NULL
		};
		assert_int_equal(0, rack_create(&racks[r], dem));
	}
	blocks = malloc(rack->recv_bytes + 1);
	rows = malloc(how->patches * rack->row_bytes);
	for (uint32_t k = 0; k < plan->slab_count; k++) {
		const struct range *all = &plan->slabs[k].all;

		for (uint32_t r = 0; r < how->ranks; r++)
			rack_pack(&racks[r], &batch, k,
				  blocks + rack->block_offset[r]);
		rack_unpack(rack, &batch, k, blocks, rows);
		for (uint32_t p = 0; p < how->shots; p++) {
			bits_extract(wanted, shots_row(shots, p), all->first,
				     all->count);
			assert_memory_equal(wanted, rows + p * rack->row_bytes,
					    bits_bytes(all->count));
		}
	}
	for (uint32_t r = 0; r < how->ranks; r++)
		rack_destroy(&racks[r]);
	free(blocks);
	free(rows);
}

static void racks_and_owners_see_the_same_bits(void **state)
{
	static const uint32_t rank_counts[] = { 1, 2, 3, 4, 5, 9 };
	uint8_t data[7 * 26];
	struct shots shots = { 52 * DETECTORS, 26, 7, data };
	struct dem dem;
	struct plan plan;

	(void)state;
	make_dem(&dem, 52);
	assert_int_equal(0, plan_create(&dem, 5, 3, &plan));
	for (uint64_t p = 0; p < 7; p++)
		make_shot(&dem, p, shots_row(&shots, p));
	for (size_t i = 0; i < sizeof(rank_counts) / sizeof(uint32_t); i++) {
		for (uint32_t count = 1; count <= 7; count++) {
			struct transpose how = { RACK_PATCH, rank_counts[i], 7,
						 count };

			check_transpose(&dem, &plan, &shots, &how);
			how.layout = RACK_STRIP;
			check_transpose(&dem, &plan, &shots, &how);
		}
	}
	plan_release(&plan);
	dem_release(&dem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cores_and_gaps_cover_every_detector_once),
		cmocka_unit_test(few_layers_are_one_slab_without_buffers),
		cmocka_unit_test(only_what_touches_the_core_is_committed_by_a),
		cmocka_unit_test(windows_leave_no_defect_and_few_errors),
		cmocka_unit_test(windows_without_buffer_leave_defects),
		cmocka_unit_test(racks_and_owners_see_the_same_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
