/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>

#include <cmocka.h>

#include "examples/qwindow/bits.h"
#include "examples/qwindow/dem.h"
#include "tests/unit/qwindow_files.h"

static int read_text(const char *text, struct dem *dem, struct problem *problem)
{
	const char *path = file_with_text(text, ".dem");
	int rc;

	problem->text[0] = '\0';
	rc = dem_read(path, dem, problem);
	unlink(path);
	return rc;
}

static const struct dem_edge *edge_between(const struct dem *dem, uint32_t a,
					   uint32_t b)
{
	for (size_t i = 0; i < dem->edge_count; i++) {
		if (dem->edges[i].a == a && dem->edges[i].b == b)
			return &dem->edges[i];
	}
	return NULL;
}

static void a_composite_error_is_one_edge_per_part(void **state)
{
	struct problem problem;
	struct dem dem;

	(void)state;
	assert_int_equal(
		0, read_text("error(0.1) D2 D0 ^ D1 L0  # why\n"
			     "detector(0, 0) D0\n\n# nothing\ndetector(1, 0) D1\n"
			     "detector[tag](0, 1) D2\nlogical_observable L1\n",
			     &dem, &problem));
	assert_int_equal(2, dem.edge_count);
	assert_non_null(edge_between(&dem, 0, 2));
	assert_int_equal(1, edge_between(&dem, 1, DEM_BOUNDARY)->observables);
	assert_int_equal(2, dem.observable_count);
	assert_int_equal(2, dem.layer_count);
	assert_int_equal(2, dem.column_count);
	assert_int_equal(1, dem.max_span);
	dem_release(&dem);
}

static void parallel_edges_become_one(void **state)
{
	struct problem problem;
	struct dem dem;

	(void)state;
	assert_int_equal(
		0,
		read_text("error(0.1) D0 D1 L0\n"
			  "error(0.2) D1 D0\ndetector(0, 0) D0\ndetector(1, 0) D1\n",
			  &dem, &problem));
	assert_int_equal(1, dem.edge_count);
	assert_float_equal(0.1 * 0.8 + 0.2 * 0.9, dem.edges[0].probability,
			   1e-12);
	/* As PyMatching does: the first one's observables hold. */
	assert_int_equal(1, dem.edges[0].observables);
	dem_release(&dem);
}

static void an_impossible_error_is_left_out(void **state)
{
	struct problem problem;
	struct dem dem;

	(void)state;
	assert_int_equal(
		0,
		read_text("error(0) D0 D1\nerror(0.1) D0\n"
			  "error(0.1) L0\ndetector(0, 0) D0\ndetector(1, 0) D1\n",
			  &dem, &problem));
	assert_int_equal(1, dem.edge_count);
	assert_null(edge_between(&dem, 0, 1));
	dem_release(&dem);
}

static void a_likely_error_becomes_a_flip(void **state)
{
	struct problem problem;
	struct dem dem;

	(void)state;
	assert_int_equal(
		0,
		read_text("error(0.9) D0 D1 L0\nerror(1) D1\n"
			  "error(0.5) D2\ndetector(0, 0) D0\ndetector(1, 0) D1\n"
			  "detector(2, 0) D2\n",
			  &dem, &problem));
	assert_float_equal(0.1, edge_between(&dem, 0, 1)->probability, 1e-12);
	/* What always happens is flipped, and never an edge. */
	assert_null(edge_between(&dem, 1, DEM_BOUNDARY));
	assert_int_equal(1, bits_get(dem.flips, 0));
	assert_int_equal(0, bits_get(dem.flips, 1));
	assert_int_equal(0, bits_get(dem.flips, 2));
	assert_int_equal(1, dem.flipped_observables);
	dem_release(&dem);
}

static void a_repeat_block_equals_its_unrolled_text(void **state)
{
	struct problem problem;
	struct dem folded, flat;

	(void)state;
	assert_int_equal(
		0,
		read_text("detector(0, 0) D0\nrepeat 2 {\n"
			  "  repeat 2 {\n error(0.01) D0 D1\n shift_detectors(0, 1) 1\n"
			  " detector(0, 0) D0\n }\n error(0.02) D0 L0\n}\n",
			  &folded, &problem));
	assert_int_equal(
		0,
		read_text(
			"detector(0, 0) D0\n"
			"error(0.01) D0 D1\ndetector(0, 1) D1\n"
			"error(0.01) D1 D2\ndetector(0, 2) D2\nerror(0.02) D2 L0\n"
			"error(0.01) D2 D3\ndetector(0, 3) D3\n"
			"error(0.01) D3 D4\ndetector(0, 4) D4\nerror(0.02) D4 L0\n",
			&flat, &problem));
	assert_int_equal(flat.detector_count, folded.detector_count);
	assert_int_equal(flat.layer_count, folded.layer_count);
	assert_int_equal(flat.edge_count, folded.edge_count);
	for (size_t i = 0; i < flat.edge_count; i++) {
		assert_int_equal(flat.edges[i].a, folded.edges[i].a);
		assert_int_equal(flat.edges[i].b, folded.edges[i].b);
		assert_int_equal(flat.edges[i].observables,
				 folded.edges[i].observables);
	}
	dem_release(&folded);
	dem_release(&flat);
}

struct bad_text {
	const char *text;
	const char *says; /* place and fix */
};

static const struct bad_text bad_texts[] = {
	{ "error(0.1) D0\nerror(0.1) D0 D1 D2\n", "line 2: hyperedge" },
	{ "error(0.1) D0 D1 D2\n", "stim analyze_errors --decompose_errors" },
	{ "error(1.5) D0\n", "line 1: error() needs one probability" },
	{ "error(nan) D0\n", "line 1: error() needs one probability" },
	{ "error(0.1 D0\n", "line 1: a number or ')'" },
	{ "error(0.1) Dx\n", "line 1: a target has no number" },
	{ "error(0.1) D99999999999\n", "line 1: a detector's number" },
	{ "error(0.1) L64\n", "line 1: more than 64 observables" },
	{ "error(0.1) D0 & D1\n", "line 1: a target is not" },
	{ "frobnicate D0\n", "line 1: unknown instruction" },
	{ "\x7f\x45LF\n", "line 1: not an instruction" },
	{ "repeat 3 {\nerror(0.1) D0\n", "ends inside a repeat block" },
	{ "error(0.1) D0\n}\n", "line 2: a brace closes no repeat" },
	{ "repeat 0 {\n}\n", "line 1: repeat needs a count" },
	{ "shift_detectors(0, 1) -1\n", "line 1: shift_detectors takes" },
	{ "error(0.1) D0\n", "detector D0 has no coordinates" },
	{ "error(0.1) D0 D1\ndetector(0, 1) D0\ndetector(0, 0) D1\n",
	  "detector D1 has time 0" },
	{ "error(0.1) D0\ndetector(0, 0.5) D1\ndetector(0, 0) D0\n",
	  "detector D1 has time 0.5" },
	{ "", "no detectors or no errors" },
};

static void a_wrong_text_is_told_with_its_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad_texts) / sizeof(bad_texts[0]); i++) {
		struct problem problem;
		struct dem dem;

		assert_int_equal(-EINVAL,
				 read_text(bad_texts[i].text, &dem, &problem));
		if (strstr(problem.text, bad_texts[i].says) == NULL)
			fail_msg("'%s' gives '%s'", bad_texts[i].text,
				 problem.text);
		assert_null(strchr(problem.text, '\n'));
	}
}

static void repeats_without_end_are_refused(void **state)
{
	struct problem problem;
	struct dem dem;

	(void)state;
	assert_int_equal(-EINVAL,
			 read_text("repeat 10000000 {\n"
				   "error(0.1) D0\nshift_detectors 9999999\n}\n",
				   &dem, &problem));
	assert_non_null(strstr(problem.text, "shifted over 16777215"));
}

static void a_missing_file_is_told(void **state)
{
	struct problem problem = { { 0 } };
	struct dem dem;

	(void)state;
	assert_int_equal(-ENOENT, dem_read("/nowhere/x.dem", &dem, &problem));
	assert_non_null(strstr(problem.text, "/nowhere/x.dem"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_composite_error_is_one_edge_per_part),
		cmocka_unit_test(parallel_edges_become_one),
		cmocka_unit_test(an_impossible_error_is_left_out),
		cmocka_unit_test(a_likely_error_becomes_a_flip),
		cmocka_unit_test(a_repeat_block_equals_its_unrolled_text),
		cmocka_unit_test(a_wrong_text_is_told_with_its_place),
		cmocka_unit_test(repeats_without_end_are_refused),
		cmocka_unit_test(a_missing_file_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
