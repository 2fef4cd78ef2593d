/* SPDX-License-Identifier: BSD-3-Clause */
/* The daemon's error log: each distinct line once, with a count. */
#ifndef QOI_DAEMON_ERRORS_H
#define QOI_DAEMON_ERRORS_H

#include <stdint.h>

#define QOI_ERRORS_MAX 32
#define QOI_ERROR_TEXT_BYTES 240

struct qoi_error_log {
	uint32_t count;	  /* of distinct ones */
	uint64_t dropped; /* that made room for newer ones */
	struct {
		uint64_t times;
		char text[QOI_ERROR_TEXT_BYTES];
	} entries[QOI_ERRORS_MAX];
};

/* Counts the error, and logs it when it is new. */
void qoi_error_log_add(struct qoi_error_log *log, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
