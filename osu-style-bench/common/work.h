/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_WORK_H
#define BENCH_WORK_H

#include <stdint.h>

/*
 * Computes for `count` turns of a loop that no compiler can shorten: each turn
 * needs the one before.  The result depends on all of them.
 */
uint64_t bench_work_run(uint64_t state, uint64_t count);

/* The shortest time of a turn in several trials, in ns; takes about 20 ms. */
double bench_work_calibrate(void);

#endif
