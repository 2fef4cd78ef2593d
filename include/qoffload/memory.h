/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef QOFFLOAD_MEMORY_H
#define QOFFLOAD_MEMORY_H

#include <qoffload/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Allocates memory that agents can reach in the shortest way there is: a
 * daemon (QO_AGENT=process) maps it.  Operations take any memory; other memory
 * costs the daemon a system call for each piece, or, where it may not reach
 * this process, the library a copy at the post and one at the end.
 * bytes: > 0; the memory is zeroed and aligned to a page.
 * Returns: 0; -EINVAL; -ENOMEM; -ENOSPC (needed and available are told).
 * Blocks: no; with a daemon until it answers, at most QO_AGENT_TIMEOUT.
 * Threads: any.
 * Owns: the caller ends it with qo_mem_release(), after the operations on it.
 * Since: 0.1
 */
int qo_mem_alloc(qo_context_t context, size_t bytes, void **address_out,
		 qo_mem_t *mem_out);

/*
 * Announces memory of the caller's, for agents that must register it.  Those
 * of this version reach any memory, and gain nothing by it: a daemon can map
 * only what qo_mem_alloc() gave.
 * Returns: 0; -EINVAL; -ENOMEM.
 * Blocks: no.  Threads: any.
 * Owns: the memory stays the caller's and must outlive qo_mem_release().
 * Since: 0.1
 */
int qo_mem_register(qo_context_t context, void *address, size_t bytes,
		    qo_mem_t *mem_out);

/*
 * Ends a registration, and frees the memory if qo_mem_alloc() made it.
 * Returns: 0; -EINVAL mem is NULL.
 * Blocks: no; with a daemon until it answers, at most QO_AGENT_TIMEOUT.
 * Threads: any; no operation may use the memory any more.
 * Since: 0.1
 */
int qo_mem_release(qo_mem_t mem);

#ifdef __cplusplus
}
#endif
#endif
