/* SPDX-License-Identifier: BSD-3-Clause */
#include "examples/qwindow/problem.h"

#include <stdarg.h>
#include <stdio.h>

int problem_set(struct problem *problem, int code, const char *format, ...)
{
	va_list args;

	/* The first problem is the cause; what follows is its consequence. */
	if (problem->text[0] != '\0')
		return code;
	va_start(args, format);
	vsnprintf(problem->text, sizeof(problem->text), format, args);
	va_end(args);
	return code;
}
