/* SPDX-License-Identifier: BSD-3-Clause */
/* Catches what a test writes to stderr. One capture at a time. */
#ifndef QO_TESTS_CAPTURE_H
#define QO_TESTS_CAPTURE_H

#include <assert.h>
#include <stdio.h>
#include <unistd.h>

#define CAPTURE_BYTES 16384

struct capture {
	FILE *file;
	int saved_fd;
	char text[CAPTURE_BYTES];
};

static inline void capture_start(struct capture *capture)
{
	capture->file = tmpfile();
	assert(capture->file != NULL);
	fflush(stderr);
	capture->saved_fd = dup(STDERR_FILENO);
	dup2(fileno(capture->file), STDERR_FILENO);
}

/* Gives stderr back; the text is what was written, as a string. */
static inline const char *capture_stop(struct capture *capture)
{
	size_t length;

	fflush(stderr);
	dup2(capture->saved_fd, STDERR_FILENO);
	close(capture->saved_fd);
	rewind(capture->file);
	length = fread(capture->text, 1, CAPTURE_BYTES - 1, capture->file);
	capture->text[length] = '\0';
	fclose(capture->file);
	return capture->text;
}

#endif
