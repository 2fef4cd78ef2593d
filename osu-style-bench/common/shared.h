/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_SHARED_H
#define BENCH_SHARED_H

#include <stddef.h>

/* Zeroed memory that this process shares with those it forks from now on. */
void *bench_shared_create(size_t bytes);

#endif
