/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "options.h"
#include "stats.h"

#define BENCH_SIDES_MAX 5
#define BENCH_MEASUREMENTS_MAX 256
#define BENCH_ROWS_MAX 256
#define BENCH_NAME_BYTES 128

/* What one side of a measurement took. */
struct bench_side_result {
	const char *name;  /* static text */
	uint64_t *samples; /* sorted, owned; NULL where nothing is kept */
	size_t sample_count;
	double *medians_ns; /* one per repetition, owned */
	double value_ns;    /* median of the medians */
	struct bench_summary summary;
};

/* Sides that were measured in turns. */
struct bench_measurement {
	char name[BENCH_NAME_BYTES];
	size_t repetitions;
	double trip_ns[2]; /* as of the report, before and after; 0: unknown */
	size_t side_count;
	struct bench_side_result sides[BENCH_SIDES_MAX];
};

/* How a row's value is judged. */
enum bench_rule {
	BENCH_NO_TARGET,
	BENCH_AT_MOST,
	BENCH_AT_LEAST,
};

/* One line of the table of results. */
struct bench_row {
	char name[BENCH_NAME_BYTES];
	const char *unit; /* static text: "x", "%", "instructions" */
	enum bench_rule rule;
	double target;
	double value;
	double low;  /* smallest over the repetitions */
	double high; /* largest */
};

struct bench_report {
	const struct bench_options *options; /* the caller's */
	const char *program;		     /* static text */
	char platform[256];		     /* ranks, cores, MPI */
	double trip_ns; /* a cache line from core to core; 0: not known */
	size_t measurement_count;
	struct bench_measurement measurements[BENCH_MEASUREMENTS_MAX];
	size_t row_count;
	struct bench_row rows[BENCH_ROWS_MAX];
};

/* Makes an empty report; ended by bench_report_destroy(). */
struct bench_report *bench_report_create(const char *program,
					 const struct bench_options *options);

/* Ends a report and its measurements. */
void bench_report_destroy(struct bench_report *report);

/* Takes over a measurement, prints its table; valid as long as the report. */
const struct bench_measurement *
bench_report_add(struct bench_report *report,
		 const struct bench_measurement *measurement);

/*
 * Adds the row "time of side subject over time of side base".
 * rule, target: a target given by --limit goes before an AT_MOST or none.
 * BENCH_AT_LEAST: the row shows base over subject, a ratio of bandwidths.
 */
void bench_report_ratio(struct bench_report *report,
			const struct bench_measurement *measurement,
			size_t subject, size_t base, enum bench_rule rule,
			double target);

/*
 * Adds the row "bandwidth of side subject over that of side base".
 * target: it must reach this; 0: none.
 */
void bench_report_bandwidth(struct bench_report *report,
			    const struct bench_measurement *measurement,
			    size_t subject, size_t base, double target);

/* Adds a row that was measured elsewhere; the row is copied. */
void bench_report_row(struct bench_report *report, const struct bench_row *row);

/*
 * Prints the table of rows; writes what --json, --plot, --summary ask for.
 * Returns: the exit status of the program.
 */
int bench_report_finish(struct bench_report *report);

/* Whether the row keeps its target; true without one. */
bool bench_row_passes(const struct bench_row *row);

/* Writes the report as JSON.  Returns: 0 or a negative errno. */
int bench_json_write(const struct bench_report *report, const char *path);

/* Draws the measurements that have samples.  Returns: 0 or negative errno. */
int bench_plot_write(const struct bench_report *report, const char *path);

/* Prints one line on stderr, after the program's name, and exits with 1. */
void bench_die(const char *format, ...)
	__attribute__((format(printf, 1, 2), noreturn));

#endif
