/* SPDX-License-Identifier: BSD-3-Clause */
#include "examples/qwindow/shots.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/qwindow/bits.h"

#define MAX_BYTES ((size_t)1 << 34)

struct reader {
	const char *path;
	FILE *file;
	size_t byte; /* position in the file */
	struct shots *shots;
	size_t room; /* rows */
	struct problem *problem;
};

/* Reads one shot into a zeroed row: 1 read, 0 clean end, -errno. */
typedef int (*read_row)(struct reader *reader, uint8_t *row);

static int reader_byte(struct reader *reader)
{
	int byte = getc(reader->file);

	if (byte != EOF)
		reader->byte++;
	return byte;
}

static int fail(struct reader *reader, const char *what)
{
	return problem_set(reader->problem, -EINVAL,
			   "%s: shot %zu, byte %zu: %s", reader->path,
			   reader->shots->count, reader->byte, what);
}

static int fail_cut(struct reader *reader)
{
	return problem_set(
		reader->problem, -EINVAL,
		"%s: shot %zu, byte %zu: "
		"the file ends inside a shot of %u bits; copy it again, or "
		"give the model that it was made with",
		reader->path, reader->shots->count, reader->byte,
		reader->shots->bits);
}

static int fail_fit(struct reader *reader)
{
	return problem_set(
		reader->problem, -EINVAL,
		"%s: shot %zu, byte %zu: "
		"the shot does not fit the model's %u bits; give the model "
		"that it was made with",
		reader->path, reader->shots->count, reader->byte,
		reader->shots->bits);
}

static int read_b8(struct reader *reader, uint8_t *row)
{
	uint32_t bits = reader->shots->bits;
	uint32_t stride = reader->shots->stride;
	size_t got = fread(row, 1, stride, reader->file);

	reader->byte += got;
	if (got == 0)
		return 0;
	if (got < stride)
		return fail_cut(reader);
	if ((bits & 7) != 0 && row[stride - 1] >> (bits & 7) != 0)
		return fail_fit(reader);
	return 1;
}

static int read_r8(struct reader *reader, uint8_t *row)
{
	uint32_t bits = reader->shots->bits;
	size_t at = 0;
	int byte = reader_byte(reader);

	if (byte == EOF)
		return 0;
	for (;; byte = reader_byte(reader)) {
		if (byte == EOF)
			return fail_cut(reader);
		at += (size_t)byte;
		if (at > bits)
			return fail_fit(reader);
		if (byte == 255)
			continue;
		if (at == bits)
			return 1;
		bits_flip(row, at++);
	}
}

static int read_01(struct reader *reader, uint8_t *row)
{
	uint32_t bits = reader->shots->bits;
	int byte = reader_byte(reader);
	uint32_t at = 0;

	if (byte == EOF)
		return 0;
	for (; byte != '\n'; byte = reader_byte(reader)) {
		if (byte == EOF)
			return fail_cut(reader);
		if (byte == '\r')
			continue;
		if (byte != '0' && byte != '1')
			return fail(reader, "not a 0 or 1; give a file in "
					    "the format that its suffix names");
		if (at == bits)
			return fail_fit(reader);
		if (byte == '1')
			bits_flip(row, at);
		at++;
	}
	return at == bits ? 1 : fail_fit(reader);
}

static int choose_format(const char *path, read_row *read_out,
			 struct problem *problem)
{
	const char *suffix = strrchr(path, '.');

	if (suffix != NULL && strcmp(suffix, ".b8") == 0)
		*read_out = read_b8;
	else if (suffix != NULL && strcmp(suffix, ".r8") == 0)
		*read_out = read_r8;
	else if (suffix != NULL && strcmp(suffix, ".01") == 0)
		*read_out = read_01;
	else
		return problem_set(problem, -EINVAL,
				   "%s: the suffix names no "
				   "format; name shot files .b8, .r8 or .01",
				   path);
	return 0;
}

static int make_room(struct reader *reader)
{
	struct shots *shots = reader->shots;
	size_t room = reader->room * 2 + 64;
	uint8_t *grown = NULL;

	if (shots->count < reader->room)
		return 0;
	if (room <= MAX_BYTES / shots->stride)
		grown = realloc(shots->rows, room * shots->stride);
	if (grown == NULL)
		return problem_set(reader->problem, -ENOMEM,
				   "%s: shot %zu, "
				   "byte %zu: no memory for more; use --shots=N",
				   reader->path, shots->count, reader->byte);
	shots->rows = grown;
	reader->room = room;
	return 0;
}

static int read_all(struct reader *reader, read_row read, size_t limit)
{
	struct shots *shots = reader->shots;
	int rc = 1;

	while (rc > 0 && (limit == 0 || shots->count < limit)) {
		uint8_t *row;

		rc = make_room(reader);
		if (rc != 0)
			return rc;
		row = shots_row(shots, shots->count);
		memset(row, 0, shots->stride);
		rc = read(reader, row);
		if (rc > 0)
			shots->count++;
	}
	if (rc < 0)
		return rc;
	if (ferror(reader->file) != 0)
		return problem_set(reader->problem, -EIO,
				   "%s: byte %zu: "
				   "cannot be read; give a regular file",
				   reader->path, reader->byte);
	if (shots->count == 0)
		return fail(reader, "no shots in it; give a sampled file");
	return 0;
}

int shots_read(const char *path, uint32_t bits, size_t limit,
	       struct shots *shots_out, struct problem *problem)
{
	struct shots shots = {
		.bits = bits,
		.stride = (uint32_t)bits_bytes(bits),
	};
	struct reader reader = {
		.path = path,
		.shots = &shots,
		.problem = problem,
	};
	read_row read = NULL;
	int rc = choose_format(path, &read, problem);

	if (rc != 0)
		return rc;
	if (bits == 0)
		return problem_set(
			problem, -EINVAL,
			"%s: the model has no "
			"bits for its shots; give the model that it was made "
			"with",
			path);
	reader.file = fopen(path, "re");
	if (reader.file == NULL)
		return problem_set(problem, -errno,
				   "%s: cannot be opened: "
				   "%s; give the shots' file name",
				   path, strerror(errno));
	rc = read_all(&reader, read, limit);
	fclose(reader.file);
	if (rc != 0) {
		shots_release(&shots);
		return rc;
	}
	*shots_out = shots;
	return 0;
}

void shots_release(struct shots *shots)
{
	free(shots->rows);
	memset(shots, 0, sizeof(*shots));
}
