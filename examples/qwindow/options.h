/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef QWINDOW_OPTIONS_H
#define QWINDOW_OPTIONS_H

#include <stdint.h>

#include "examples/qwindow/problem.h"
#include "examples/qwindow/rack.h"

struct options {
	const char *model;	 /* .dem */
	const char *shots;	 /* detection events */
	const char *observables; /* true flips; NULL: beside the shots */
	const char *reference;	 /* predictions; NULL: beside the shots */
	const char *json;	 /* NULL: none; "-": standard output */
	int help;
	int mpi;     /* exchange through MPI, not libqoffload */
	int latency; /* else throughput */
	int poke;
	enum rack_layout racks;
	uint32_t patches;
	uint64_t shot_limit;	  /* 0: all */
	int64_t reference_errors; /* -1: from the file */
	int32_t distance;	  /* 0: from the model */
	int32_t commit;		  /* -1: the distance */
	int32_t buffer;		  /* -1: the distance */
	int64_t round_ns;	  /* 0: as fast as it goes */
	double drop_seams;	  /* percent */
	int64_t freeze_rank;	  /* stopped for a while; -1: none */
	int64_t freeze_ms;
	int64_t freeze_window; /* of that rank, from 1; 0: the middle */
};

/* 0, or -EINVAL with `problem` set; prints nothing. */
int options_parse(int argc, char **argv, struct options *options_out,
		  struct problem *problem);
void options_print_help(void);

#endif
