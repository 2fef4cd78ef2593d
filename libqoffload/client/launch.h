/* SPDX-License-Identifier: BSD-3-Clause */
/* Starting a daemon for the ranks of one job. */
#ifndef QOI_LAUNCH_H
#define QOI_LAUNCH_H

#include "libqoffload/base/config.h"

/*
 * Starts the daemon's program as a private one that listens at `name`.  It is
 * nobody's child, and leaves by itself; the application's children, signals
 * and descriptors are not touched.  Whether it listens shows when one connects;
 * when several ranks start one each, all but the first leave.
 * Returns 0; -ENOENT no such program; -EAGAIN no process; -EIO, -EPERM: it
 * can't be run; all told.
 */
int qoi_launch_agent(const struct qoi_config *config, const char *name);

#endif
