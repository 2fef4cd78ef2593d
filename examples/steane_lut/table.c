/* SPDX-License-Identifier: BSD-3-Clause */
#include "table.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_MOST (1u << 21) /* 24 detectors */
#define CAP_BYTES 64

static int unpack(struct table *table, const uint8_t *bytes, size_t count)
{
	size_t syndromes = 8 * count;

	if (count == CAP_BYTES) {
		syndromes = count;
		table->observables = 2;
	} else {
		table->observables = 1;
	}
	table->detectors = (uint32_t)__builtin_ctzll(syndromes);
	table->values = malloc(syndromes);
	if (table->values == NULL)
		return -ENOMEM;
	for (size_t s = 0; s < syndromes; s++)
		table->values[s] = count == CAP_BYTES
					   ? bytes[s]
					   : bytes[s >> 3] >> (s & 7) & 1;
	return 0;
}

int table_read(const char *path, struct table *table_out,
	       struct problem *problem)
{
	uint8_t *bytes = malloc(BYTES_MOST + 1);
	FILE *file = fopen(path, "re");
	size_t count = 0;
	int rc = 0;

	memset(table_out, 0, sizeof(*table_out));
	if (file == NULL)
		rc = problem_set(problem, -errno,
				 "%s: cannot be opened: %s; "
				 "give the table's file name",
				 path, strerror(errno));
	else if (bytes != NULL)
		count = fread(bytes, 1, BYTES_MOST + 1, file);
	if (file != NULL)
		fclose(file);
	if (rc == 0 &&
	    (count > BYTES_MOST || count < 2 || (count & (count - 1)) != 0))
		rc = problem_set(
			problem, -EINVAL,
			"%s: byte %zu: the file "
			"ends, but a table has a power of two of bytes up to "
			"%u; copy it again",
			path, count, BYTES_MOST);
	if (rc == 0)
		rc = unpack(table_out, bytes, count);
	free(bytes);
	if (rc != 0)
		problem_set(problem, rc, "%s: no memory for the table", path);
	return rc;
}

void table_release(struct table *table)
{
	free(table->values);
	table->values = NULL;
}

int64_t table_reference_errors(const char *shots_path)
{
	char path[4096], name[4096], line[512], column[256];
	long long errors;
	char *end;
	FILE *file;
	int64_t found = -1;

	snprintf(path, sizeof(path), "%s", shots_path);
	snprintf(name, sizeof(name), "%s", basename(path));
	end = strstr(name, ".det.");
	if (end == NULL)
		return -1;
	*end = '\0';
	snprintf(path, sizeof(path), "%s", shots_path);
	snprintf(line, sizeof(line), "%s", dirname(path));
	snprintf(path, sizeof(path), "%s/REFERENCE.tsv", line);
	file = fopen(path, "re");
	if (file == NULL)
		return -1;
	while (fgets(line, sizeof(line), file) != NULL) {
		if (sscanf(line, "%255s %*s %*s %*s %*s %lld", column,
			   &errors) == 2 &&
		    strcmp(column, name) == 0)
			found = errors;
	}
	fclose(file);
	return found;
}
