/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_TASK_H
#define BENCH_TASK_H

#include <stdint.h>

/* What the kernel counted for a thread, of any process of this user. */
struct bench_task_use {
	uint64_t run_ns;   /* on a core */
	uint64_t switches; /* voluntary: it slept and was woken */
};

/* Reads what was counted so far, or ends the program. */
void bench_task_use_read(int32_t task, struct bench_task_use *use_out);

/* Memory of a process, in bytes. */
struct bench_task_memory {
	uint64_t resident;
	uint64_t anonymous; /* of the resident: neither file nor shared */
	uint64_t share;	    /* each page divided by the processes that map it */
};

/* Reads it, or ends the program. */
void bench_task_memory_read(int32_t process,
			    struct bench_task_memory *memory_out);

#endif
