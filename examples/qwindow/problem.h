/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One line that says what is wrong: the file, the place, and the fix.
 * Readers write it where the error is decided; main prints it and exits 2.
 */
#ifndef QWINDOW_PROBLEM_H
#define QWINDOW_PROBLEM_H

struct problem {
	char text[512];
};

/* Write the line, unless one is there already. Returns `code` (-errno). */
int problem_set(struct problem *problem, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
