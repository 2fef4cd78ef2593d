/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_TRIP_H
#define BENCH_TRIP_H

#include "ranks.h"

/*
 * Bounces one cache line between ranks 0 and 1: the floor under any exchange
 * between them, and what to look at first when two runs differ.  Collective.
 * Returns: ns one way, the best of several batches; 0 with one rank.
 */
double bench_trip_measure(const struct bench_ranks *ranks);

#endif
