/* SPDX-License-Identifier: BSD-3-Clause */
/* qo_info -s and --check: a daemon that runs, seen from outside. */
#ifndef QOI_TOOLS_INFO_STATUS_H
#define QOI_TOOLS_INFO_STATUS_H

#include "libqoffload/tools/info_sections.h"

/*
 * A section as the others: the daemon's numbers, and arrays "clients" and
 * "error_log".
 */
int info_status_collect(const struct info_options *options, json_t **object_out);
/* The object's arrays as tables. */
void info_status_print_tables(json_t *object);

/*
 * Whether the daemon answers and its counts agree: what was posted is done,
 * has failed, or is under way.  Says so in one line.  Returns 0 or a negative
 * errno, told.
 */
int info_status_check(const struct info_options *options);

#endif
