/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

/* What every program of this folder takes. */
struct bench_options {
	int repetitions;	  /* times each side is measured */
	int iterations_max;	  /* of a side in a repetition */
	int block_ms;		  /* time aimed at for a side in a repetition */
	uint64_t seed;		  /* of the order of the sides */
	double limit;		  /* instead of the built-in targets; 0: none */
	bool quick;		  /* fewer cases and repetitions */
	bool strict;		  /* a MISS gives exit status 1 */
	bool touch;		  /* read and write whole buffers each time */
	const char *only;	  /* part of the names of the cases to run */
	const char *label;	  /* goes before each row's name */
	const char *json_path;	  /* or NULL */
	const char *plot_path;	  /* or NULL */
	const char *summary_path; /* or NULL: rows are appended, tab-separated */
};

/*
 * Reads the command line; --help and mistakes end the program (status 2).
 * doc: one line about the program.
 * own, own_input: options of the program itself, or NULL.
 */
void bench_options_parse(int argc, char **argv, const char *doc,
			 const struct argp *own, void *own_input,
			 struct bench_options *options_out);

/* Reads a whole number in low..high, or ends the program by argp_error(). */
long bench_number_parse(struct argp_state *state, const char *text, long low,
			long high);

/* Whether the case `name` is to be run. */
bool bench_options_wants(const struct bench_options *options, const char *name);

#endif
