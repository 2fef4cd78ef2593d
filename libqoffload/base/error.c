/* SPDX-License-Identifier: BSD-3-Clause */
#include "libqoffload/base/error.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "libqoffload/base/log.h"

static _Thread_local char detail_text[QOI_ERROR_DETAIL_BYTES];
static _Thread_local int quiet;

struct error_text {
	int code; /* negative, as calls return it */
	const char *text;
};

#define ERROR_TEXT(name, text) { -name, text },
static const struct error_text error_texts[] = { QO_ERROR_MAP(ERROR_TEXT) };
#define ERROR_COUNT (sizeof(error_texts) / sizeof(error_texts[0]))

static const struct error_text *error_find(int code)
{
	for (size_t i = 0; i < ERROR_COUNT; i++) {
		if (error_texts[i].code == code)
			return &error_texts[i];
	}
	return NULL;
}

const char *qo_error_string(int error)
{
	const struct error_text *found = error_find(error);

	if (error == 0)
		return "success";
	return found == NULL ? "unknown error" : found->text;
}

const char *qo_error_detail(void)
{
	return detail_text;
}

/* Not straight into the detail: it may be one of the arguments. */
static void __attribute__((format(printf, 1, 0)))
keep(const char *fmt, va_list args)
{
	char text[QOI_ERROR_DETAIL_BYTES];

	vsnprintf(text, sizeof(text), fmt, args);
	snprintf(detail_text, sizeof(detail_text), "%s", text);
}

void qoi_error_keep(const char *fmt, ...)
{
	int saved_errno = errno;
	va_list args;

	va_start(args, fmt);
	keep(fmt, args);
	va_end(args);
	errno = saved_errno;
}

void qoi_error_record(int code, const char *fmt, ...)
{
	int saved_errno = errno;
	va_list args;

	assert(code < 0);
	(void)code; /* without assertions */
	va_start(args, fmt);
	keep(fmt, args);
	va_end(args);
	if (!quiet)
		qoi_log_error("%s", detail_text);
	errno = saved_errno;
}

void qoi_error_set_quiet(int on)
{
	quiet = on;
}

int qoi_error_from_errno(int sys_errno)
{
	if (sys_errno == EACCES)
		return -EPERM;
	return error_find(-sys_errno) == NULL ? -EIO : -sys_errno;
}
