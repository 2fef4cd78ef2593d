/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef QWINDOW_CLOCK_H
#define QWINDOW_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Processor time of the calling thread. */
static inline int64_t clock_cpu_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

static inline void clock_sleep_until(int64_t when_ns)
{
	struct timespec when = {
		.tv_sec = when_ns / 1000000000,
		.tv_nsec = when_ns % 1000000000,
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL) != 0)
		;
}

#endif
