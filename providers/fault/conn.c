/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections over the inner provider's, and how they break. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libqoffload/base/error.h"
#include "libqoffload/base/log.h"
#include "libqoffload/shm/atomic.h"
#include "providers/fault/internal.h"

#define WORD_WINDOW_BYTES 64
/* The peer may not have connected yet, and may never. */
#define TELL_POLLS_MAX 10000

/* No team and no collective call has it. */
static const struct qo_control_tag word_tag = { .team = UINT64_MAX,
						.sequence = UINT32_MAX,
						.kind = UINT32_MAX };

static struct fault_conn *find(struct fault_endpoint *endpoint,
			       const struct qo_conn *inner)
{
	struct fault_conn *conn = endpoint->conns;

	while (conn != NULL && conn->inner != inner)
		conn = conn->next;
	return conn;
}

static int create(struct fault_endpoint *endpoint, struct qo_conn *inner,
		  int64_t deadline_ns, struct fault_conn **conn_out)
{
	struct fault_conn *conn = calloc(1, sizeof(*conn));
	int rc;

	if (conn == NULL)
		return qoi_fail(-ENOMEM, "fault: no memory for a connection");
	rc = endpoint->ops->window_create(endpoint->inner, WORD_WINDOW_BYTES,
					  &conn->own_word);
	if (rc != 0)
		goto err_free;
	rc = endpoint->ops->control_send(inner, &word_tag, NULL, 0,
					 conn->own_word, deadline_ns);
	if (rc != 0)
		goto err_window;
	/* No window is mapped, nothing can be read, no bell is near. */
	conn->public.endpoint = &endpoint->public;
	conn->inner = inner;
	conn->index = endpoint->conn_count++;
	conn->next = endpoint->conns;
	endpoint->conns = conn;
	*conn_out = conn;
	return 0;

err_window:
	endpoint->ops->window_destroy(conn->own_word);
err_free:
	free(conn);
	return rc == -EPIPE ? -ECONNRESET : rc;
}

int qo_fault_connect(struct qo_endpoint *public, const void *address,
		     size_t bytes, int64_t deadline_ns,
		     struct qo_conn **conn_out)
{
	struct fault_endpoint *endpoint = fault_of(public);
	struct qo_conn *inner;
	struct fault_conn *conn;
	int rc = endpoint->ops->connect(endpoint->inner, address, bytes,
					deadline_ns, &inner);

	if (rc != 0)
		return rc;
	pthread_mutex_lock(&endpoint->mutex);
	conn = find(endpoint, inner);
	if (conn == NULL)
		rc = create(endpoint, inner, deadline_ns, &conn);
	else
		endpoint->ops->disconnect(inner); /* one reference is enough */
	if (rc == 0 && conn->public.fate != 0)
		rc = qoi_fail(-ECONNRESET, "fault: the connection is broken");
	else if (rc != 0)
		endpoint->ops->disconnect(inner);
	if (rc == 0) {
		conn->refs++;
		*conn_out = &conn->public;
	}
	pthread_mutex_unlock(&endpoint->mutex);
	return rc;
}

void qo_fault_disconnect(struct qo_conn *public)
{
	struct fault_endpoint *endpoint = fault_of(public->endpoint);
	struct fault_conn *conn = (struct fault_conn *)public;

	/* It stays until the endpoint closes: its word is known to the peer. */
	pthread_mutex_lock(&endpoint->mutex);
	assert(conn->refs > 0);
	conn->refs--;
	pthread_mutex_unlock(&endpoint->mutex);
}

void qo_fault_conns_destroy(struct fault_endpoint *endpoint)
{
	while (endpoint->conns != NULL) {
		struct fault_conn *conn = endpoint->conns;

		if (conn->refs != 0)
			qoi_log_warn("fault: closed while connected");
		endpoint->conns = conn->next;
		if (conn->peer_word != NULL)
			endpoint->ops->remote_release(conn->peer_word);
		endpoint->ops->window_destroy(conn->own_word);
		endpoint->ops->disconnect(conn->inner);
		free(conn);
	}
}

void qo_fault_conn_break(struct fault_conn *conn)
{
	struct fault_endpoint *endpoint = fault_of(conn->public.endpoint);

	conn->lost = 1;
	conn->tell_polls = TELL_POLLS_MAX;
	endpoint->stats.lost++;
	qo_fault_queue_discard(endpoint, conn);
}

/* Sets the peer's word, once that is known and takes it. */
static void tell_peer(struct fault_endpoint *endpoint, struct fault_conn *conn)
{
	struct qo_put put = { .word = 1 };
	uint8_t none[1];
	size_t bytes;

	conn->tell_polls--;
	if (conn->peer_word == NULL &&
	    endpoint->ops->control_recv(conn->inner, &word_tag, none, 0, &bytes,
					&conn->peer_word, 0) != 0)
		return;
	if (conn->peer_word == NULL ||
	    endpoint->ops->put(conn->peer_word, &put) == -EAGAIN)
		return;
	conn->tell_polls = 0;
}

static void set_fate(struct fault_conn *conn, int32_t fate)
{
	if (conn->public.fate != 0)
		return;
	qoi_publish32((uint32_t *)&conn->public.fate, (uint32_t)fate);
}

uint32_t qo_fault_conns_poll(struct fault_endpoint *endpoint)
{
	uint32_t changed = 0;

	for (struct fault_conn *conn = endpoint->conns; conn != NULL;
	     conn = conn->next) {
		const void *word = conn->own_word->base;
		int32_t before = conn->public.fate;

		if (conn->dropping && !conn->lost &&
		    endpoint->now >= conn->break_at)
			qo_fault_conn_break(conn);
		if (conn->inner->fate != 0) {
			qo_fault_queue_discard(endpoint, conn);
			set_fate(conn, conn->inner->fate);
			conn->tell_polls = 0;
		}
		if (conn->lost)
			set_fate(conn, -ECONNRESET);
		if (conn->tell_polls > 0)
			tell_peer(endpoint, conn);
		if (conn->retry_polls > 0)
			conn->retry_polls--;
		if (!conn->lost && qoi_observe64(word) != 0) {
			conn->lost = 1;
			qo_fault_queue_discard(endpoint, conn);
			set_fate(conn, -ECONNRESET);
		}
		changed += conn->public.fate != before;
	}
	return changed;
}

void qo_fault_busy_update(struct fault_endpoint *endpoint)
{
	uint32_t busy = endpoint->queued != NULL;

	for (const struct fault_conn *conn = endpoint->conns;
	     conn != NULL && !busy; conn = conn->next)
		busy = conn->tell_polls > 0 || (conn->dropping && !conn->lost) ||
		       (conn->lost && conn->public.fate == 0) ||
		       conn->retry_polls > 0;
	qoi_publish32(&endpoint->busy, busy);
}
