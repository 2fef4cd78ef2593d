/* SPDX-License-Identifier: BSD-3-Clause */
/* Moving on a request from a client thread, where that is allowed. */
#ifndef QOI_READER_H
#define QOI_READER_H

#include "libqoffload/agent/request.h"

/* What a look at a request did. */
#define QOI_READER_MOVED 1u /* something; there may be more, rung or not */
#define QOI_READER_ENDED 2u /* the request is complete now, by us */
#define QOI_READER_BUSY 4u  /* another moves it, and may have looked before */

/*
 * Takes what has arrived, if the request is still of that generation, clients
 * may move it, and nobody else does now.  Returns QOI_READER_*.
 */
uint32_t qoi_reader_move(struct qoi_request *request, uint32_t generation);

#endif
