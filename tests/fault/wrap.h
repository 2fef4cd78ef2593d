/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allocations and system calls of the library, counted, one of them made to
 * fail; linked in by -Wl,--wrap.  What is taken and given back is counted too,
 * so that a leak shows without a sanitizer.
 */
#ifndef QOF_WRAP_H
#define QOF_WRAP_H

#include <stdint.h>

/* From now on the nth call (from 0) of them fails; INT64_MAX: none does. */
void qof_arm(int64_t nth);
/* Nothing fails any more.  The name of the call that failed, or NULL. */
const char *qof_disarm(void);

/* Blocks of memory, and mappings, that the library holds now. */
int64_t qof_blocks(void);
int64_t qof_maps(void);

#endif
