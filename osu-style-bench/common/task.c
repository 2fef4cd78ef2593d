/* SPDX-License-Identifier: BSD-3-Clause */
#include "task.h"
#include "report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LINE_BYTES 256

/* The first number after `key` at the start of a line; NULL: of the file. */
static uint64_t number_read(int32_t task, const char *name, const char *key)
{
	size_t skipped = key == NULL ? 0 : strlen(key);
	unsigned long long value = 0;
	char path[64];
	char line[LINE_BYTES];
	FILE *file;
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%d/%s", task, name);
	file = fopen(path, "r");
	if (file == NULL)
		bench_die("%s: %s", path, strerror(errno));
	while (!found && fgets(line, sizeof(line), file) != NULL)
		found = (key == NULL || strncmp(line, key, skipped) == 0) &&
			sscanf(line + skipped, "%llu", &value) == 1;
	fclose(file);
	if (!found)
		bench_die("%s: no number%s%s", path,
			  key == NULL ? "" : " after ", key == NULL ? "" : key);
	return value;
}

void bench_task_use_read(int32_t task, struct bench_task_use *use_out)
{
	use_out->run_ns = number_read(task, "schedstat", NULL);
	use_out->switches =
		number_read(task, "status", "voluntary_ctxt_switches:");
}

void bench_task_memory_read(int32_t process,
			    struct bench_task_memory *memory_out)
{
	memory_out->resident = number_read(process, "status", "VmRSS:") * 1024;
	memory_out->anonymous =
		number_read(process, "status", "RssAnon:") * 1024;
	memory_out->share = number_read(process, "smaps_rollup", "Pss:") * 1024;
}
