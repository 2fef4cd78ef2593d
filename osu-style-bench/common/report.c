/* SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bench_report *bench_report_create(const char *program,
					 const struct bench_options *options)
{
	struct bench_report *report = calloc(1, sizeof(*report));

	if (report == NULL)
		bench_die("no memory for the report");
	report->program = program;
	report->options = options;
	return report;
}

void bench_report_destroy(struct bench_report *report)
{
	for (size_t i = 0; i < report->measurement_count; i++) {
		struct bench_measurement *m = &report->measurements[i];

		for (size_t j = 0; j < m->side_count; j++) {
			free(m->sides[j].samples);
			free(m->sides[j].medians_ns);
		}
	}
	free(report);
}

/* Without samples only the median is known. */
static void side_print(const struct bench_side_result *side)
{
	const struct bench_summary *s = &side->summary;
	const uint64_t all_ns[] = { s->p50_ns, s->p90_ns, s->p99_ns, s->p999_ns,
				    s->max_ns };

	printf("  %-28s %9.3f", side->name, side->value_ns / 1e3);
	for (size_t i = 0; i < sizeof(all_ns) / sizeof(all_ns[0]); i++)
		if (side->samples == NULL)
			printf(" %9s", "-");
		else
			printf(" %9.3f", (double)all_ns[i] / 1e3);
	printf(" %9zu\n", side->sample_count);
}

static void measurement_print(const struct bench_measurement *m)
{
	printf("\n%s (us, %zu repetitions", m->name, m->repetitions);
	if (m->trip_ns[0] > 0.0)
		printf(", a line takes %.0f ns before and %.0f after",
		       m->trip_ns[0], m->trip_ns[1]);
	printf(")\n");
	printf("  %-28s %9s %9s %9s %9s %9s %9s %9s\n", "side", "median", "p50",
	       "p90", "p99", "p99.9", "max", "samples");
	for (size_t i = 0; i < m->side_count; i++)
		side_print(&m->sides[i]);
	fflush(stdout);
}

const struct bench_measurement *
bench_report_add(struct bench_report *report,
		 const struct bench_measurement *measurement)
{
	struct bench_measurement *kept;

	if (report->measurement_count == BENCH_MEASUREMENTS_MAX)
		bench_die("more than %d measurements", BENCH_MEASUREMENTS_MAX);
	kept = &report->measurements[report->measurement_count++];
	*kept = *measurement;
	measurement_print(kept);
	return kept;
}

void bench_report_row(struct bench_report *report, const struct bench_row *row)
{
	struct bench_row *kept;
	const char *label = report->options->label;

	if (report->row_count == BENCH_ROWS_MAX)
		bench_die("more than %d rows", BENCH_ROWS_MAX);
	kept = &report->rows[report->row_count++];
	*kept = *row;
	if (label != NULL)
		snprintf(kept->name, sizeof(kept->name), "%s%.*s", label,
			 (int)(sizeof(row->name) - 1), row->name);
}

/* Over the repetitions: subject over base, or the inverse. */
static void spread_find(const struct bench_measurement *m, size_t subject,
			size_t base, bool inverse, struct bench_row *row)
{
	for (size_t i = 0; i < m->repetitions; i++) {
		double ratio = m->sides[subject].medians_ns[i] /
			       m->sides[base].medians_ns[i];

		if (inverse)
			ratio = 1.0 / ratio;
		if (i == 0 || ratio < row->low)
			row->low = ratio;
		if (i == 0 || ratio > row->high)
			row->high = ratio;
	}
}

void bench_report_ratio(struct bench_report *report,
			const struct bench_measurement *measurement,
			size_t subject, size_t base, enum bench_rule rule,
			double target)
{
	const struct bench_side_result *sides = measurement->sides;
	struct bench_row row = { .unit = "x", .rule = rule, .target = target };
	bool inverse = rule == BENCH_AT_LEAST;

	if (report->options->limit > 0.0 && !inverse) {
		row.rule = BENCH_AT_MOST;
		row.target = report->options->limit;
	}
	snprintf(row.name, sizeof(row.name), "%.48s%s / %.32s",
		 measurement->name, inverse ? " (bandwidth)" : "",
		 sides[base].name);
	row.value = sides[subject].value_ns / sides[base].value_ns;
	if (inverse)
		row.value = 1.0 / row.value;
	spread_find(measurement, subject, base, inverse, &row);
	bench_report_row(report, &row);
}

void bench_report_bandwidth(struct bench_report *report,
			    const struct bench_measurement *measurement,
			    size_t subject, size_t base, double target)
{
	const struct bench_side_result *sides = measurement->sides;
	struct bench_row row = { .unit = "x",
				 .rule = target > 0.0 ? BENCH_AT_LEAST
						      : BENCH_NO_TARGET,
				 .target = target };

	snprintf(row.name, sizeof(row.name), "%.40s, %.32s (bandwidth) / %.32s",
		 measurement->name, sides[subject].name, sides[base].name);
	row.value = sides[base].value_ns / sides[subject].value_ns;
	spread_find(measurement, subject, base, true, &row);
	bench_report_row(report, &row);
}

bool bench_row_passes(const struct bench_row *row)
{
	switch (row->rule) {
	case BENCH_AT_MOST:
		return row->value <= row->target;
	case BENCH_AT_LEAST:
		return row->value >= row->target;
	default:
		return true;
	}
}

static const char *verdict_text(const struct bench_row *row)
{
	if (row->rule == BENCH_NO_TARGET)
		return "-";
	return bench_row_passes(row) ? "PASS" : "MISS";
}

struct row_text {
	char target[48];
	char value[48];
	char spread[48];
};

static struct row_text row_format(const struct bench_row *row)
{
	struct row_text text = { .target = "-" };

	if (row->rule != BENCH_NO_TARGET)
		snprintf(text.target, sizeof(text.target), "%s %.4g %s",
			 row->rule == BENCH_AT_MOST ? "<=" : ">=", row->target,
			 row->unit);
	snprintf(text.value, sizeof(text.value), "%.3g %s", row->value,
		 row->unit);
	snprintf(text.spread, sizeof(text.spread), "%.3g..%.3g", row->low,
		 row->high);
	return text;
}

static int summary_append(const struct bench_report *report)
{
	const char *path = report->options->summary_path;
	FILE *file = fopen(path, "a");

	if (file == NULL)
		return -1;
	for (size_t i = 0; i < report->row_count; i++) {
		struct row_text text = row_format(&report->rows[i]);

		fprintf(file, "%s\t%s\t%s\t%s\t%s\n", report->rows[i].name,
			text.target, text.value, text.spread,
			verdict_text(&report->rows[i]));
	}
	return fclose(file);
}

static void rows_print(const struct bench_report *report)
{
	if (report->row_count == 0) {
		printf("\nnothing was measured: --only fits no case\n");
		return;
	}
	printf("\n%-62s %-12s %-10s %-14s %s\n", "result", "target", "measured",
	       "spread", "verdict");
	for (size_t i = 0; i < report->row_count; i++) {
		struct row_text text = row_format(&report->rows[i]);

		printf("%-62s %-12s %-10s %-14s %s\n", report->rows[i].name,
		       text.target, text.value, text.spread,
		       verdict_text(&report->rows[i]));
	}
	fflush(stdout);
}

int bench_report_finish(struct bench_report *report)
{
	const struct bench_options *options = report->options;
	int status = 0;

	rows_print(report);
	for (size_t i = 0; i < report->row_count && options->strict; i++)
		if (!bench_row_passes(&report->rows[i]))
			status = 1;
	if (options->summary_path != NULL && summary_append(report) != 0)
		bench_die("%s: cannot be written", options->summary_path);
	if (options->json_path != NULL &&
	    bench_json_write(report, options->json_path) != 0)
		bench_die("%s: cannot be written", options->json_path);
	if (options->plot_path != NULL &&
	    bench_plot_write(report, options->plot_path) != 0)
		bench_die("%s: gnuplot could not draw it", options->plot_path);
	return status;
}
