/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef QO_FAULT_INTERNAL_H
#define QO_FAULT_INTERNAL_H

#include <pthread.h>

#include "providers/fault/fault.h"
#include "providers/fault/plan.h"
#include "providers/wrapper.h"

/* Puts under way at once, copies included. */
#define QO_FAULT_ITEMS_MAX 128

struct fault_remote;

/* A put under way. */
struct fault_item {
	struct fault_item *next; /* by due, then by age; or free */
	struct fault_remote *remote;
	struct fault_item *twin; /* the other copy while both are queued */
	struct qo_put put;	 /* its data: below */
	uint64_t due;		 /* in polls */
	uint64_t tear_due;
	uint64_t done_bytes; /* the first piece, once it is written */
	int torn;
	int is_copy;
	int is_stale;  /* its twin was delivered */
	uint8_t *data; /* owner: the endpoint */
};

/* Over all: the mutex.  Lock order: this, then the inner provider's. */
struct fault_endpoint {
	struct qo_endpoint public;
	struct qo_endpoint *inner;
	const struct qo_provider_ops *ops; /* of inner */
	struct qo_fault_plan plan;
	pthread_mutex_t mutex;
	struct fault_conn *conns; /* owner: the endpoint */
	uint64_t conn_count;
	uint64_t now;  /* 1 + polls so far */
	uint32_t busy; /* published: what busy() says */
	struct qo_fault_stats stats;
	uint64_t item_bytes_max;
	uint8_t *data; /* of all items.  Owner: the endpoint */
	struct fault_item items[QO_FAULT_ITEMS_MAX];
	struct fault_item *queued;
	struct fault_item *free;
	uint32_t free_count;
};

/*
 * Breaks as a reliable transport's does: both sides learn it.  So each gives
 * the other a window with one word, written when it breaks.
 */
struct fault_conn {
	struct qo_conn public;
	struct fault_conn *next;
	struct qo_conn *inner;
	struct qo_window *own_word;  /* inner's; the peer sets it */
	struct qo_remote *peer_word; /* inner's; NULL until it is needed */
	uint32_t refs;
	uint64_t index;
	uint64_t put_count;
	uint64_t floor; /* nothing is due before: who is delayed delays others */
	struct qo_fault_fate plan; /* of the next put */
	int has_plan;
	uint32_t retry_polls; /* left in which a refused put may come again */
	int dropping;	      /* a put was lost: so are those that follow */
	uint64_t break_at;    /* when that is noticed */
	int lost;
	uint32_t tell_polls; /* left to tell the peer */
};

/* Polls for which a refusal makes the endpoint busy: it is tried at once. */
#define QO_FAULT_RETRY_POLLS 64

struct fault_remote {
	struct qo_remote public;
	struct qo_remote *inner;
	struct fault_conn *conn;
};

struct fault_window {
	struct qo_window public;
	struct qo_window *inner;
};

static inline struct fault_endpoint *fault_of(struct qo_endpoint *endpoint)
{
	return (struct fault_endpoint *)endpoint;
}

/* queue.c */
int qo_fault_queue_init(struct fault_endpoint *endpoint,
			const struct qoi_config *config);
void qo_fault_queue_fini(struct fault_endpoint *endpoint);
int qo_fault_put(struct qo_remote *remote, const struct qo_put *put);
/* Delivers what is due; returns how many pieces.  Mutex held. */
uint32_t qo_fault_queue_deliver(struct fault_endpoint *endpoint,
				uint32_t budget);
/* Delivers all to a remote that goes.  Mutex held. */
void qo_fault_queue_flush(struct fault_endpoint *endpoint,
			  struct fault_remote *remote);
/* Throws away all to a connection that is lost.  Mutex held. */
void qo_fault_queue_discard(struct fault_endpoint *endpoint,
			    struct fault_conn *conn);

/* conn.c */
int qo_fault_connect(struct qo_endpoint *endpoint, const void *address,
		     size_t bytes, int64_t deadline_ns,
		     struct qo_conn **conn_out);
void qo_fault_disconnect(struct qo_conn *conn);
/* Mutex held. */
void qo_fault_conn_break(struct fault_conn *conn);
uint32_t qo_fault_conns_poll(struct fault_endpoint *endpoint);
void qo_fault_conns_destroy(struct fault_endpoint *endpoint);
/* Recomputes what busy() says.  Mutex held. */
void qo_fault_busy_update(struct fault_endpoint *endpoint);

#endif
