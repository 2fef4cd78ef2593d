/* SPDX-License-Identifier: BSD-3-Clause */
#include "libqoffload/daemon/errors.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "libqoffload/base/log.h"

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
	if (log->count == QOI_ERRORS_MAX) {
		log->dropped++;
		return;
	}
	memcpy(log->entries[log->count].text, text, sizeof(text));
	log->entries[log->count].times = 1;
	log->count++;
	qoi_log_warn("%s", text);
}
