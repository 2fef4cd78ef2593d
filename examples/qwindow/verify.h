/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The checks: are the corrections those of the serial decoder, do they
 * explain every defect of the file, and are logical errors few enough. What
 * ranks remember is not trusted: all starts again from the file's bits and
 * the committed edges.
 */
#ifndef QWINDOW_VERIFY_H
#define QWINDOW_VERIFY_H

#include <mpi.h>
#include <stdint.h>

#include "examples/qwindow/dem.h"
#include "examples/qwindow/schedule.h"
#include "examples/qwindow/shots.h"
#include "examples/qwindow/window.h"

struct verify_params {
	MPI_Comm comm;
	const struct dem *dem;
	const struct plan *plan;
	const struct shots *shots;
	const struct shots *observables; /* NULL: unknown */
	const struct schedule_result *result;
	int64_t reference_errors; /* -1: unknown */
};

struct verify_result {
	uint64_t digest;    /* of all corrections of all patches */
	uint64_t edges;	    /* corrections, all patches */
	uint64_t differing; /* patches whose corrections or frame differ */
	uint64_t residual;  /* defects left, all patches */
	uint64_t serial_residual;
	uint64_t serial_ns; /* decoding all patches on one rank */
	uint64_t errors;
	uint64_t serial_errors;
	int64_t reference_errors;
	double bound;
	int same_ok;
	int residual_ok;
	int errors_ok;
	int errors_checked;
};

/* errors <= 1.15 reference + 3 sqrt(reference) */
double verify_bound(uint64_t reference_errors);

/* Collective; the result is the same on every rank. 0 or -ENOMEM. */
int verify_run(const struct verify_params *params,
	       struct verify_result *result_out);

static inline int verify_passed(const struct verify_result *result)
{
	return result->same_ok && result->residual_ok && result->errors_ok;
}

#endif
