/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Named places where a test can kill or stop the process, or make it late;
 * compiled in by --enable-debug-hooks only.  QO_TEST_FAIL_POINT says which:
 * "NAME[:COUNT[:ACTION]]", the COUNT-th time (1 is the first), and ACTION is
 * kill (default: SIGKILL), stop (SIGSTOP), or exit.
 */
#ifndef QOI_FAIL_POINT_H
#define QOI_FAIL_POINT_H

#include <config.h>

#ifdef QO_DEBUG_HOOKS
void qoi_fail_point(const char *name);
#define QOI_FAIL_POINT(name) qoi_fail_point(name)
#else
#define QOI_FAIL_POINT(name) ((void)0)
#endif

#endif
