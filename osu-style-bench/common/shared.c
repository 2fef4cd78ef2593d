/* SPDX-License-Identifier: BSD-3-Clause */
#include "shared.h"
#include "report.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

void *bench_shared_create(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		bench_die("no shared mapping: %s", strerror(errno));
	return memory;
}
