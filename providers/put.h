/* SPDX-License-Identifier: BSD-3-Clause */
/* A put into a window that is mapped here; who does it wakes the peer. */
#ifndef QOI_PUT_H
#define QOI_PUT_H

#include <errno.h>
#include <string.h>

#include "libqoffload/shm/atomic.h"
#include "providers/provider.h"

/* Whether payload and word lie in the window. */
static inline int qoi_put_fits(const struct qo_remote *remote,
			       const struct qo_put *put)
{
	return put->bytes <= remote->bytes &&
	       put->offset <= remote->bytes - put->bytes &&
	       put->word_offset % sizeof(uint64_t) == 0 &&
	       remote->bytes >= sizeof(uint64_t) &&
	       put->word_offset <= remote->bytes - sizeof(uint64_t);
}

/* Returns 0, -EINVAL (range), -ECONNRESET (the connection has ended). */
static inline int qoi_put_mapped(struct qo_remote *remote,
				 const struct qo_put *put)
{
	void *word;

	if (!qoi_put_fits(remote, put))
		return -EINVAL;
	if (qoi_observe32((const uint32_t *)&remote->conn->fate) != 0)
		return -ECONNRESET;
	if (put->bytes > 0)
		memcpy(remote->base + put->offset, put->data, put->bytes);
	word = remote->base + put->word_offset;
	/* P1 -> O1: payload before sequence. */
	qoi_publish64_at(QOI_EDGE_P1, word, put->word);
	return 0;
}

#endif
