/* SPDX-License-Identifier: BSD-3-Clause */
#include "libqoffload/daemon/errors.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "libqoffload/base/log.h"

/* New lines that are logged in the life of a daemon. */
#define LOGGED_MAX 1000

void qoi_error_log_add(struct qoi_error_log *log, const char *format, ...)
{
	char text[QOI_ERROR_TEXT_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	for (uint32_t i = 0; i < log->count; i++) {
		if (strcmp(log->entries[i].text, text) == 0) {
			log->entries[i].times++;
			return;
		}
	}
	/* The oldest makes room: what is new matters more. */
	if (log->count == QOI_ERRORS_MAX) {
		log->dropped++;
		log->count--;
		memmove(&log->entries[0], &log->entries[1],
			log->count * sizeof(log->entries[0]));
	}
	memcpy(log->entries[log->count].text, text, sizeof(text));
	log->entries[log->count].times = 1;
	log->count++;
	/* Whoever thinks up new ones all the time shall not fill the disk. */
	if (log->dropped < LOGGED_MAX)
		qoi_log_warn("%s", text);
}
