/* SPDX-License-Identifier: BSD-3-Clause */
/* Ringing the bell of a peer or our own, only when somebody sleeps. */
#ifndef QOI_RING_H
#define QOI_RING_H

#include "libqoffload/shm/atomic.h"
#include "libqoffload/shm/bell.h"
#include "providers/provider.h"

/*
 * After publishing into a peer's window and qoi_store_load_barrier(): wakes
 * whoever sleeps there.  Looks at one line in the usual case.
 */
static inline void qoi_ring_peer(struct qo_conn *conn)
{
	const struct qoi_bell *bell = conn->peer_bell;

	if (qoi_own32(&bell->waiters) != 0 ||
	    qoi_own32(&bell->agent) >= QOI_BELL_AGENT_DATA)
		conn->endpoint->provider->ops->wake(conn);
}

#endif
