/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef QO_PROVIDER_H
#define QO_PROVIDER_H

#include <stddef.h>
#include <stdint.h>

#include "libqoffload/base/config.h"
#include "libqoffload/shm/bell.h"

/*
 * What moves bytes between endpoints (one endpoint per context and provider).
 * Everything above is built of windows: memory that its owner polls and that
 * peers write into, a payload first and a word last.
 */
#define QO_PROVIDER_ABI 1
#define QO_ADDRESS_BYTES_MAX 128
#define QO_CONTROL_BYTES_MAX 32768

/* Capabilities; each stands for ops, see qoi_provider_adopt(). */
#define QO_CAP_MAP (1u << 0) /* remote windows have an address here */
#define QO_CAP_PUT (1u << 1) /* put() */
#define QO_CAP_GET (1u << 2) /* get(), for the pairs where it may */
#define QO_CAP_FD (1u << 3)  /* fd() is readable when poll() has work */

struct qo_provider;

struct qo_endpoint {
	const struct qo_provider *provider; /* owner: the registry */
	struct qoi_bell *bell; /* own; peers ring it.  Owner: the endpoint */
};

/* Flags of a connection. */
#define QO_CONN_MAP (1u << 0)	      /* its windows are mapped here */
#define QO_CONN_GET (1u << 1)	      /* I may get() from the peer */
#define QO_CONN_GET_BY_PEER (1u << 2) /* the peer may get() from me */

struct qo_conn {
	struct qo_endpoint *endpoint; /* owner: the context */
	struct qoi_bell *peer_bell; /* mapped, or NULL.  Owner: the provider */
	uint32_t flags;		    /* QO_CONN_*, fixed after connect */
	/*
	 * 0 alive; -EPIPE said good-bye; -ECONNRESET lost.  Written by poll()
	 * alone, published; read by anyone with qoi_observe32().
	 */
	int32_t fate;
};

/* Memory of this endpoint that peers may write into; zeroed at creation. */
struct qo_window {
	struct qo_endpoint *endpoint;
	uint8_t *base;
	uint64_t bytes;
};

/* A peer's window as seen from here. */
struct qo_remote {
	struct qo_conn *conn;
	uint8_t *base; /* where it is mapped; NULL without QO_CONN_MAP */
	uint64_t bytes;
};

/* What a control message belongs to: both sides compute the same. */
struct qo_control_tag {
	uint64_t team;	   /* team id */
	uint32_t sequence; /* collective call on that team */
	uint32_t kind;	   /* QOI_CONTROL_*, the core's affair */
};

/* A payload to a place in a remote window, then a word to another, last. */
struct qo_put {
	uint64_t offset; /* of the payload in the remote window */
	const void *data;
	uint64_t bytes;	      /* may be 0: the word alone */
	uint64_t word_offset; /* multiple of 8 */
	uint64_t word;	      /* published after the payload */
};

struct qo_provider_ops {
	size_t size;

	/*
	 * Opens an endpoint, ready to be connected to.
	 * Returns 0, -ENOMEM, -ENOSPC, -ENODEV, -EPERM.  May block briefly.
	 */
	int (*open)(const struct qo_provider *provider,
		    const struct qoi_config *config,
		    struct qo_endpoint **endpoint_out);
	/* Closes it; connections and windows are gone before.  Says good-bye. */
	void (*close)(struct qo_endpoint *endpoint);
	/*
	 * Writes what a peer needs to connect, at most QO_ADDRESS_BYTES_MAX
	 * bytes: node identity, a name with a random part, layout hash.
	 */
	int (*address)(struct qo_endpoint *endpoint, void *address_out,
		       size_t *bytes_out);
	/*
	 * Whether an address can be reached, judged by the address alone.
	 * Returns 0, -ENETUNREACH, or -EPROTONOSUPPORT (layouts differ).
	 */
	int (*reachable)(struct qo_endpoint *endpoint, const void *address,
			 size_t bytes);
	/*
	 * Connects to a peer, or takes one more reference to the connection
	 * that is there already (from whichever side it came).  Both sides
	 * call it, in any order.  Any thread; several at once.
	 * deadline_ns: CLOCK_MONOTONIC.  Blocks until connected.
	 * Returns 0, -ETIMEDOUT, -ECONNRESET, -EPERM, -EPROTONOSUPPORT,
	 * -ENOMEM, -ENOSPC.
	 */
	int (*connect)(struct qo_endpoint *endpoint, const void *address,
		       size_t bytes, int64_t deadline_ns,
		       struct qo_conn **conn_out);
	/* Gives a reference back; the last one may close the connection. */
	void (*disconnect)(struct qo_conn *conn);

	/*
	 * Control plane: set-up only, reliable, in order of calls for a tag.
	 * control_send(): bytes <= QO_CONTROL_BYTES_MAX; window, when not
	 * NULL, is offered to the peer with the message.  Blocks until taken
	 * by the transport, at most until the deadline; needs no receiver.
	 * control_recv(): gives the message of that tag, and the offered
	 * window or NULL.  Blocks until it is there or the deadline.
	 * Any thread, several at once, with different tags.
	 * Returns 0, -ETIMEDOUT, -ECONNRESET, -EPIPE, -EMSGSIZE, -ENOMEM.
	 */
	int (*control_send)(struct qo_conn *conn,
			    const struct qo_control_tag *tag, const void *data,
			    size_t bytes, struct qo_window *window,
			    int64_t deadline_ns);
	int (*control_recv)(struct qo_conn *conn,
			    const struct qo_control_tag *tag, void *data_out,
			    size_t capacity, size_t *bytes_out,
			    struct qo_remote **remote_out, int64_t deadline_ns);

	/* Windows: any thread.  Returns 0, -ENOMEM, -ENOSPC (told in full). */
	int (*window_create)(struct qo_endpoint *endpoint, uint64_t bytes,
			     struct qo_window **window_out);
	/*
	 * Every peer that is to have it has been sent it: what was kept to
	 * offer it (a descriptor) may go.  Optional.
	 */
	void (*window_offered)(struct qo_window *window);
	/* The owner's mapping goes; peers that still have theirs keep it. */
	void (*window_destroy)(struct qo_window *window);
	void (*remote_release)(struct qo_remote *remote);

	/*
	 * Data plane, caller: the agent's duty cycle, one thread at a time
	 * per endpoint.  The data is copied before the return.  Puts to one
	 * connection may land in any order among each other, but the word of
	 * a put is never seen before its payload.  When the word is published
	 * and somebody sleeps on the peer's bell (QOI_BELL_AGENT_DATA), put()
	 * wakes it; fault does so when the put is delivered.
	 * Returns 0, -EAGAIN (nothing was taken; until it is worth another try,
	 * busy() says 1, or fd() will be readable), -ECONNRESET, -EINVAL (range).
	 */
	int (*put)(struct qo_remote *remote, const struct qo_put *put);
	/*
	 * Copies from the peer's ordinary memory; blocks for the copy, so the
	 * caller bounds the bytes.  Any thread.
	 * Returns 0, -EOPNOTSUPP, -ECONNRESET, -EIO.
	 */
	int (*get)(struct qo_conn *conn, uint64_t remote_address, void *local,
		   uint64_t bytes);
	/*
	 * Moves what is under way and learns who died; never blocks.
	 * Caller: the agent's duty cycle.  *work_out: how much was done.
	 */
	int (*poll)(struct qo_endpoint *endpoint, uint32_t budget,
		    uint32_t *work_out);
	/* A descriptor that is readable when poll() has something to do. */
	int (*fd)(struct qo_endpoint *endpoint);
	/*
	 * 1 when poll() must be called again soon without fd() saying so
	 * (something is delayed inside), else 0.
	 */
	int (*busy)(struct qo_endpoint *endpoint);
	/* Wakes whoever sleeps on the peer's bell.  Any thread. */
	void (*wake)(struct qo_conn *conn);
	/* Drains the descriptor by which peers wake this endpoint. */
	void (*wake_clear)(struct qo_endpoint *endpoint);
	/*
	 * The sealed memory file that the endpoint's bell lies in, for an agent
	 * in another process; the descriptor stays the provider's.  Optional.
	 * Returns 0, -EOPNOTSUPP.
	 */
	int (*bell_page)(struct qo_endpoint *endpoint, int *fd_out,
			 uint64_t *bytes_out, uint64_t *offset_out);
};

struct qo_provider {
	uint32_t abi;  /* QO_PROVIDER_ABI */
	uint32_t caps; /* QO_CAP_* */
	const char *name;
	const char *doc; /* one line */
	const struct qo_provider_ops *ops;
};

#endif
