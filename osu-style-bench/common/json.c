/* SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"

#include <errno.h>
#include <jansson.h>

static json_t *side_to_json(const struct bench_side_result *side,
			    size_t repetitions)
{
	json_t *medians = json_array();

	for (size_t i = 0; i < repetitions; i++)
		json_array_append_new(medians, json_real(side->medians_ns[i]));
	return json_pack("{s:s, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:o}",
			 "name", side->name, "median_ns", side->value_ns,
			 "p50_ns", (json_int_t)side->summary.p50_ns, "p90_ns",
			 (json_int_t)side->summary.p90_ns, "p99_ns",
			 (json_int_t)side->summary.p99_ns, "p99.9_ns",
			 (json_int_t)side->summary.p999_ns, "max_ns",
			 (json_int_t)side->summary.max_ns, "sample_count",
			 (json_int_t)side->sample_count, "medians_ns", medians);
}

static json_t *measurement_to_json(const struct bench_measurement *m)
{
	json_t *sides = json_array();

	for (size_t i = 0; i < m->side_count; i++)
		json_array_append_new(sides, side_to_json(&m->sides[i],
							  m->repetitions));
	return json_pack("{s:s, s:I, s:[f, f], s:o}", "name", m->name,
			 "repetitions", (json_int_t)m->repetitions, "trip_ns",
			 m->trip_ns[0], m->trip_ns[1], "sides", sides);
}

static json_t *row_to_json(const struct bench_row *row)
{
	static const char *const rules[] = { "none", "at most", "at least" };

	return json_pack("{s:s, s:s, s:s, s:f, s:f, s:f, s:f, s:b}", "name",
			 row->name, "unit", row->unit, "rule", rules[row->rule],
			 "target", row->target, "value", row->value, "low",
			 row->low, "high", row->high, "pass",
			 (int)bench_row_passes(row));
}

int bench_json_write(const struct bench_report *report, const char *path)
{
	json_t *measurements = json_array();
	json_t *rows = json_array();
	json_t *root;
	int rc;

	for (size_t i = 0; i < report->measurement_count; i++)
		json_array_append_new(
			measurements,
			measurement_to_json(&report->measurements[i]));
	for (size_t i = 0; i < report->row_count; i++)
		json_array_append_new(rows, row_to_json(&report->rows[i]));
	root = json_pack("{s:s, s:s, s:f, s:o, s:o}", "program",
			 report->program, "platform", report->platform,
			 "trip_ns", report->trip_ns, "rows", rows,
			 "measurements", measurements);
	if (root == NULL)
		return -ENOMEM;
	rc = json_dump_file(root, path, JSON_INDENT(1)) == 0 ? 0 : -EIO;
	json_decref(root);
	return rc;
}
