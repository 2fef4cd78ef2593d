/* SPDX-License-Identifier: BSD-3-Clause */
#include "libqoffload/base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/*
 * A lock and not an atomic: those live in shm/ alone, and no line is logged
 * on the data path.
 */
static pthread_mutex_t level_lock = PTHREAD_MUTEX_INITIALIZER;
static int level_max = QOI_LOG_WARN;

static const char *const level_names[] = { "error", "warn", "info", "debug",
					   "trace" };

void qoi_log_set_level(int level)
{
	pthread_mutex_lock(&level_lock);
	level_max = level;
	pthread_mutex_unlock(&level_lock);
}

int qoi_log_level(void)
{
	int level;

	pthread_mutex_lock(&level_lock);
	level = level_max;
	pthread_mutex_unlock(&level_lock);
	return level;
}

/* Text may come from a peer: it must not forge a line of its own. */
static void replace_controls(char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		if ((unsigned char)text[i] < ' ' || text[i] == 127)
			text[i] = ' ';
	}
}

void qoi_log(int level, const char *fmt, ...)
{
	/* One byte more than the line: the place of the newline. */
	char line[QOI_LOG_LINE_BYTES + 1];
	int saved_errno = errno;
	size_t length;
	va_list args;

	if (level < QOI_LOG_ERROR || level > QOI_LOG_TRACE ||
	    level > qoi_log_level())
		return;
	length = (size_t)snprintf(line, sizeof(line), "qo: %s ",
				  level_names[level]);
	errno = saved_errno;
	va_start(args, fmt);
	vsnprintf(line + length, sizeof(line) - length, fmt, args);
	va_end(args);
	length += strlen(line + length);
	if (length == QOI_LOG_LINE_BYTES)
		memcpy(line + length - 3, "...", 3);
	replace_controls(line, length);
	line[length++] = '\n';
	/* There is nobody to tell when stderr is closed or full. */
	if (write(STDERR_FILENO, line, length) < 0)
		errno = saved_errno;
	errno = saved_errno;
}
