/* SPDX-License-Identifier: BSD-3-Clause */
/* Files for the tests of qwindow's readers. */
#ifndef QWINDOW_FILES_H
#define QWINDOW_FILES_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A new file with these bytes and this suffix; its name is static. */
static inline const char *file_with(const void *bytes, size_t count,
				    const char *suffix)
{
	static char path[256];
	const char *folder = getenv("TMPDIR");
	FILE *file;
	int descriptor;

	snprintf(path, sizeof(path), "%s/qwindowXXXXXX%s",
		 folder != NULL ? folder : "/tmp", suffix);
	descriptor = mkstemps(path, (int)strlen(suffix));
	if (descriptor < 0)
		abort();
	file = fdopen(descriptor, "w");
	if (file == NULL || fwrite(bytes, 1, count, file) != count ||
	    fclose(file) != 0)
		abort();
	return path;
}

static inline const char *file_with_text(const char *text, const char *suffix)
{
	return file_with(text, strlen(text), suffix);
}

#endif
