/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_CORES_H
#define BENCH_CORES_H

/*
 * Pins the calling thread to core number `index`, counted round and round the
 * cores that it may use.
 * Returns: the core's number in the system, or a negative errno.
 */
int bench_core_pin(int index);

/*
 * Moves the calling thread to that core and leaves it as free as before, so
 * that what it starts next is placed as in a program which is not pinned.
 * Returns: as bench_core_pin().
 */
int bench_core_visit(int index);

#endif
