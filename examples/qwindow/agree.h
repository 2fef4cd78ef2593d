/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks agree on whether one of them has a problem, and rank 0 says it. */
#ifndef QWINDOW_AGREE_H
#define QWINDOW_AGREE_H

#include <mpi.h>

#include "examples/qwindow/problem.h"

/*
 * Collective. rc: 0 or -errno of this rank, with its problem set. When any
 * rank's is not 0, rank 0 prints the first such rank's problem as one line
 * to standard error, and all get -1.
 */
int agree_or_print(MPI_Comm comm, int rc, struct problem *problem,
		   const char *program);

#endif
