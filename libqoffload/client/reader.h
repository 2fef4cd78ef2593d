/* SPDX-License-Identifier: BSD-3-Clause */
/* Moving on a request from a client thread, where that is allowed. */
#ifndef QOI_READER_H
#define QOI_READER_H

#include "libqoffload/agent/request.h"

/*
 * Whether there is nothing for a reader to do yet: an agent moves it on, or
 * the word that it waits for is not there.  A look at one or two lines.
 */
static inline int qoi_reader_awaits(const struct qoi_request *request)
{
	const uint64_t *watch = (const uint64_t *)(uintptr_t)qoi_own64(
		(const uint64_t *)&request->watch);

	if (request->inlined)
		return 0;
	return watch == NULL ||
	       qoi_own64(watch) != qoi_own64(&request->watch_value);
}

/*
 * Takes what has arrived, if the request is still of that generation, clients
 * may move it, and nobody else does now.  Returns 1 when it tried.
 */
int qoi_reader_move(struct qoi_request *request, uint32_t generation);

#endif
