/* SPDX-License-Identifier: BSD-3-Clause */
#include "cores.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>

#define CORES_MAX 65536

/* The kernel refuses a set smaller than its own: grow until it fits. */
static cpu_set_t *allowed_read(int *core_count_out)
{
	for (int count = 1024; count <= CORES_MAX; count *= 2) {
		cpu_set_t *set = CPU_ALLOC((size_t)count);

		if (set == NULL)
			return NULL;
		if (sched_getaffinity(0, CPU_ALLOC_SIZE((size_t)count), set) ==
		    0) {
			*core_count_out = count;
			return set;
		}
		CPU_FREE(set);
	}
	return NULL;
}

static int core_find(const cpu_set_t *set, size_t bytes, int core_count,
		     int index)
{
	for (int core = 0; core < core_count; core++)
		if (CPU_ISSET_S((size_t)core, bytes, set) && index-- == 0)
			return core;
	return -ENODEV;
}

/* Pins to a core; then, if asked, puts the set back as it was. */
static int core_take(int index, bool stay)
{
	int core_count = 0;
	cpu_set_t *allowed = allowed_read(&core_count);
	size_t bytes = CPU_ALLOC_SIZE((size_t)core_count);
	cpu_set_t *one;
	int core;

	if (allowed == NULL)
		return -ENODEV;
	core = core_find(allowed, bytes, core_count,
			 index % CPU_COUNT_S(bytes, allowed));
	one = CPU_ALLOC((size_t)core_count);
	if (core < 0 || one == NULL) {
		core = -ENODEV;
		goto out;
	}
	CPU_ZERO_S(bytes, one);
	CPU_SET_S((size_t)core, bytes, one);
	if (sched_setaffinity(0, bytes, one) != 0 ||
	    (!stay && sched_setaffinity(0, bytes, allowed) != 0))
		core = -errno;
out:
	CPU_FREE(one);
	CPU_FREE(allowed);
	return core;
}

int bench_core_pin(int index)
{
	return core_take(index, true);
}

int bench_core_visit(int index)
{
	return core_take(index, false);
}
