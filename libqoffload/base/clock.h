/* SPDX-License-Identifier: BSD-3-Clause */
/* The only clock of the library: CLOCK_MONOTONIC, in nanoseconds. */
#ifndef QOI_BASE_CLOCK_H
#define QOI_BASE_CLOCK_H

#include <stdint.h>

#define QOI_NS_PER_US INT64_C(1000)
#define QOI_NS_PER_MS INT64_C(1000000)
#define QOI_NS_PER_S INT64_C(1000000000)

/* Deadlines are absolute times of this clock; this one never comes. */
#define QOI_CLOCK_NEVER INT64_MAX

int64_t qoi_clock_ns(void);

/* now + delay_ns, which is QOI_CLOCK_NEVER where the sum doesn't fit. */
int64_t qoi_clock_after(int64_t now_ns, uint64_t delay_ns);

/*
 * Tests give their own time. NULL gives the real clock back. Call it while no
 * other thread reads the clock.
 */
typedef int64_t (*qoi_clock_source)(void *arg);
void qoi_clock_set_source(qoi_clock_source source, void *arg);

#endif
