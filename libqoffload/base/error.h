/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where an error is decided, it is said once: qoi_fail() logs the text, keeps
 * it as this thread's qo_error_detail(), and gives the code back to return.
 */
#ifndef QOI_BASE_ERROR_H
#define QOI_BASE_ERROR_H

#include <qoffload/error.h>

/* A longer detail is cut. */
#define QOI_ERROR_DETAIL_BYTES 400

/*
 * Gives @code back, a negative errno of QO_ERROR_MAP. errno is kept, so "%m"
 * may be used. Not for -EAGAIN: that is an answer, not a failure.
 * A macro, so that the compiler sees that what comes back isn't 0.
 */
#define qoi_fail(code, ...)                                                    \
	({                                                                     \
		const int qoi_fail_code_ = (code);                             \
		qoi_error_record(qoi_fail_code_, __VA_ARGS__);                 \
		qoi_fail_code_;                                                \
	})

/*
 * As qoi_fail(), but not logged: for what a program may run into again and
 * again, such as a test of a stale request.
 */
#define qoi_answer(code, ...) (qoi_error_keep(__VA_ARGS__), (code))

/* What qoi_answer() does, without giving the code back. */
void qoi_error_keep(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* What qoi_fail() does, without giving the code back. */
void qoi_error_record(int code, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * 1: this thread's failures are kept, not logged; for who tells them another
 * way, such as a daemon whose client may fail as often as it likes.
 */
void qoi_error_set_quiet(int on);

/*
 * The code a failed system call becomes: -@sys_errno where QO_ERROR_MAP has
 * it, else -EIO. The one place where foreign codes are narrowed.
 */
int qoi_error_from_errno(int sys_errno);

#endif
