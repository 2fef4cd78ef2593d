/* SPDX-License-Identifier: BSD-3-Clause */
#include "libqoffload/base/clock.h"

#include <stddef.h>
#include <time.h>

static qoi_clock_source clock_source;
static void *clock_source_arg;

int64_t qoi_clock_ns(void)
{
	struct timespec now;

	if (clock_source != NULL)
		return clock_source(clock_source_arg);
	/* Cannot fail: the clock exists and the pointer is good. */
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * QOI_NS_PER_S + now.tv_nsec;
}

int64_t qoi_clock_after(int64_t now_ns, uint64_t delay_ns)
{
	/* In unsigned arithmetic the room never overflows. */
	uint64_t room_ns = (uint64_t)QOI_CLOCK_NEVER - (uint64_t)now_ns;

	if (delay_ns >= room_ns)
		return QOI_CLOCK_NEVER;
	return (int64_t)((uint64_t)now_ns + delay_ns);
}

void qoi_clock_set_source(qoi_clock_source source, void *arg)
{
	clock_source = source;
	clock_source_arg = arg;
}
