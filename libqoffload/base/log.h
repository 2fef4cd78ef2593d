/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The log: one line on stderr per call, `qo: LEVEL text`, written with a
 * single write(2), so that lines of several threads and processes don't mix.
 */
#ifndef QOI_BASE_LOG_H
#define QOI_BASE_LOG_H

enum qoi_log_level {
	QOI_LOG_ERROR, /* returned to the user */
	QOI_LOG_WARN,  /* odd, but we go on */
	QOI_LOG_INFO,  /* what was decided */
	QOI_LOG_DEBUG, /* once per object */
	QOI_LOG_TRACE, /* once per operation; compiled out by default */
};

/* A longer line is cut, and ends in "...". */
#define QOI_LOG_LINE_BYTES 512

/* Lines above @level are dropped. The initial level is warn. */
void qoi_log_set_level(int level);
int qoi_log_level(void);

/* Keeps errno, so that "%m" may be used, and used again afterwards. */
void qoi_log(int level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#define qoi_log_error(...) qoi_log(QOI_LOG_ERROR, __VA_ARGS__)
#define qoi_log_warn(...) qoi_log(QOI_LOG_WARN, __VA_ARGS__)
#define qoi_log_info(...) qoi_log(QOI_LOG_INFO, __VA_ARGS__)
#define qoi_log_debug(...) qoi_log(QOI_LOG_DEBUG, __VA_ARGS__)

#ifdef QO_TRACE
#define qoi_log_trace(...) qoi_log(QOI_LOG_TRACE, __VA_ARGS__)
#else
/* Still type-checked, never executed. */
#define qoi_log_trace(...)                                                     \
	do {                                                                   \
		if (0)                                                         \
			qoi_log(QOI_LOG_TRACE, __VA_ARGS__);                   \
	} while (0)
#endif

#endif
