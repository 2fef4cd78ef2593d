/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections.  One that lost its last reference stays for the next connect();
 * one that ended stays as a mark, so that nobody waits for a peer that is gone.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/socket.h>
#include <unistd.h>

#include "libqoffload/base/clock.h"
#include "libqoffload/base/error.h"
#include "libqoffload/base/log.h"
#include "libqoffload/shm/atomic.h"
#include "providers/deadline.h"
#include "providers/shm/shm.h"

struct qo_shm_conn *qo_shm_conn_find(struct qo_shm_endpoint *endpoint,
				     const uint8_t *peer_id)
{
	struct qo_shm_conn *conn = endpoint->conns;

	while (conn != NULL &&
	       memcmp(conn->peer_id, peer_id, QO_SHM_ID_BYTES) != 0)
		conn = conn->next;
	return conn;
}

int qo_shm_conn_end(const struct qo_shm_conn *conn)
{
	const struct qo_shm_page *page = (void *)conn->page->segment.base;

	return qoi_observe32(&page->farewell) == 1 ? -EPIPE : -ECONNRESET;
}

/* All but the mark. */
static void strip(struct qo_shm_conn *conn)
{
	struct qoi_message *message;

	if (conn->fd < 0)
		return;
	/* Not close() alone: a forked child may have the socket too. */
	if (qo_shm_of(conn->public.endpoint)->owner == getpid())
		shutdown(conn->fd, SHUT_RDWR);
	close(conn->fd);
	if (conn->pid_fd >= 0)
		close(conn->pid_fd);
	conn->fd = -1;
	close(conn->peer_event_fd);
	while ((message = qoi_mailbox_pop(&conn->mailbox)) != NULL)
		qoi_message_destroy(message);
	conn->public.peer_bell = NULL;
	qo_shm_mapping_put(conn->page);
	conn->page = NULL;
}

static void destroy(struct qo_shm_endpoint *endpoint, struct qo_shm_conn *conn)
{
	struct qo_shm_conn **link = &endpoint->conns;

	while (*link != conn)
		link = &(*link)->next;
	*link = conn->next;
	strip(conn);
	pthread_cond_destroy(&conn->arrived);
	pthread_mutex_destroy(&conn->control_mutex);
	free(conn);
}

static int watch_hang_up(struct qo_shm_endpoint *endpoint,
			 struct qo_shm_conn *conn)
{
	/* Not EPOLLIN: control messages are for who asks for them. */
	struct epoll_event event = { .events = EPOLLRDHUP, .data.ptr = conn };

	if (epoll_ctl(endpoint->epoll, EPOLL_CTL_ADD, conn->fd, &event) != 0)
		return qoi_fail(-ENOMEM, "shm: epoll_ctl: %m");
	return 0;
}

/*
 * A socket doesn't hang up while a child of the peer has it too, so the
 * process is watched as well.  An older kernel, or a peer in another process
 * name space, leaves it at the socket.
 */
static void watch_process(struct qo_shm_endpoint *endpoint,
			  struct qo_shm_conn *conn)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = conn };

	conn->pid_fd = -1;
	if (conn->local || conn->pid <= 0)
		return;
	conn->pid_fd = (int)syscall(SYS_pidfd_open, conn->pid, 0);
	if (conn->pid_fd >= 0)
		epoll_ctl(endpoint->epoll, EPOLL_CTL_ADD, conn->pid_fd, &event);
}

int qo_shm_conn_create(struct qo_shm_endpoint *endpoint,
		       struct qo_shm_attempt *attempt)
{
	struct qo_shm_conn *conn = qo_shm_conn_find(endpoint, attempt->peer_id);
	struct qo_shm_page *page = (void *)attempt->page->segment.base;

	/* The peer gave up on an earlier one before it was used here. */
	if (conn != NULL && conn->refs == 0)
		destroy(endpoint, conn);
	else if (conn != NULL)
		return qoi_fail(-EPERM, "shm: it is connected already");
	conn = calloc(1, sizeof(*conn));
	if (conn == NULL)
		return qoi_fail(-ENOMEM, "shm: no memory for a connection");
	conn->fd = attempt->fd;
	if (watch_hang_up(endpoint, conn) != 0 ||
	    qoi_deadline_condition_init(&conn->arrived) != 0) {
		free(conn);
		return -ENOMEM;
	}
	pthread_mutex_init(&conn->control_mutex, NULL);
	qoi_mailbox_init(&conn->mailbox);
	memcpy(conn->peer_id, attempt->peer_id, QO_SHM_ID_BYTES);
	conn->public.endpoint = &endpoint->public;
	conn->public.flags = attempt->flags;
	conn->public.peer_bell = &page->bell;
	conn->pid = attempt->pid;
	conn->local = attempt->pid == getpid();
	conn->peer_event_fd = attempt->peer_event_fd;
	conn->page = attempt->page;
	watch_process(endpoint, conn);
	conn->next = endpoint->conns;
	endpoint->conns = conn;
	attempt->fd = -1;
	attempt->peer_event_fd = -1;
	attempt->page = NULL;
	return 0;
}

void qo_shm_conn_destroy_all(struct qo_shm_endpoint *endpoint)
{
	while (endpoint->conns != NULL) {
		if (endpoint->conns->refs != 0)
			qoi_log_warn("shm: closed while connected to process "
				     "%d",
				     (int)endpoint->conns->pid);
		destroy(endpoint, endpoint->conns);
	}
}

void qo_shm_conn_hung_up(struct qo_shm_conn *conn)
{
	struct qo_shm_endpoint *endpoint = qo_shm_of(conn->public.endpoint);
	int fate;

	if (conn->public.fate != 0)
		return; /* socket and process tell at once */
	fate = qo_shm_conn_end(conn);
	epoll_ctl(endpoint->epoll, EPOLL_CTL_DEL, conn->fd, NULL);
	if (conn->pid_fd >= 0)
		epoll_ctl(endpoint->epoll, EPOLL_CTL_DEL, conn->pid_fd, NULL);
	/* Ends the wait of who receives; what has come can still be read. */
	shutdown(conn->fd, SHUT_RDWR);
	qoi_log_debug("shm: process %d %s", (int)conn->pid,
		      fate == -EPIPE ? "has finalised" : "is lost");
	qoi_publish32((uint32_t *)&conn->public.fate, (uint32_t)fate);
	if (conn->refs == 0)
		strip(conn);
}

void qo_shm_disconnect(struct qo_conn *public)
{
	struct qo_shm_conn *conn = (struct qo_shm_conn *)public;
	struct qo_shm_endpoint *endpoint = qo_shm_of(public->endpoint);

	pthread_mutex_lock(&endpoint->mutex);
	assert(conn->refs > 0);
	conn->refs--;
	if (conn->refs == 0 && public->fate != 0)
		strip(conn);
	pthread_mutex_unlock(&endpoint->mutex);
}

/* Until something may have changed: one thread looks after the sockets. */
static void wait_for_change(struct qo_shm_endpoint *endpoint,
			    int64_t deadline_ns)
{
	int64_t redial_ns;

	if (endpoint->driving) {
		qoi_deadline_wait(&endpoint->changed, &endpoint->mutex,
				  deadline_ns);
		return;
	}
	redial_ns = qo_shm_attempt_deadline(endpoint);
	if (redial_ns < deadline_ns)
		deadline_ns = redial_ns;
	endpoint->driving = 1;
	pthread_mutex_unlock(&endpoint->mutex);
	qoi_deadline_poll(endpoint->setup_epoll, POLLIN, deadline_ns);
	pthread_mutex_lock(&endpoint->mutex);
	endpoint->driving = 0;
	qo_shm_attempt_step(endpoint);
	pthread_cond_broadcast(&endpoint->changed);
}

static int connect_locked(struct qo_shm_endpoint *endpoint,
			  const uint8_t *peer_id, int64_t deadline_ns,
			  struct qo_conn **conn_out)
{
	struct qo_shm_attempt *attempt = NULL;
	struct qo_shm_conn *conn;
	int rc = 0;

	while ((conn = qo_shm_conn_find(endpoint, peer_id)) == NULL) {
		if (attempt == NULL)
			rc = qo_shm_attempt_join(endpoint, peer_id, &attempt);
		if (rc != 0)
			break;
		if (attempt->error != 0)
			rc = qoi_fail(attempt->error, "shm: %s",
				      attempt->reason);
		else if (qoi_clock_ns() >= deadline_ns)
			rc = qoi_fail(-ETIMEDOUT,
				      "shm: no answer from the "
				      "peer, process %d, in time",
				      (int)attempt->pid);
		if (rc != 0)
			break;
		wait_for_change(endpoint, deadline_ns);
	}
	if (attempt != NULL)
		qo_shm_attempt_leave(endpoint, attempt);
	if (rc != 0)
		return rc;
	if (conn->public.fate != 0)
		return qoi_fail(-ECONNRESET,
				"shm: the peer, process %d, has "
				"ended",
				(int)conn->pid);
	conn->refs++;
	*conn_out = &conn->public;
	return 0;
}

int qo_shm_connect(struct qo_endpoint *public, const void *address,
		   size_t bytes, int64_t deadline_ns, struct qo_conn **conn_out)
{
	struct qo_shm_endpoint *endpoint = qo_shm_of(public);
	struct qo_shm_address peer;
	int rc;

	if (bytes != sizeof(peer))
		return qoi_fail(-EPROTONOSUPPORT,
				"shm: an address of %zu "
				"bytes, not %zu",
				bytes, sizeof(peer));
	memcpy(&peer, address, sizeof(peer));
	if (peer.magic != QO_SHM_MAGIC_ADDRESS)
		return qoi_fail(-EPROTONOSUPPORT, "shm: not one of its "
						  "addresses");
	if (peer.layout_version != QOI_LAYOUT_VERSION ||
	    peer.layout_hash != QOI_LAYOUT_HASH)
		return qoi_fail(-EPROTONOSUPPORT,
				"shm: layouts differ: the "
				"peer has version %u, hash %016" PRIx64 ", this "
				"library version %u, hash %016" PRIx64,
				peer.layout_version, peer.layout_hash,
				QOI_LAYOUT_VERSION, QOI_LAYOUT_HASH);
	if (memcmp(peer.endpoint_id, endpoint->address.endpoint_id,
		   QO_SHM_ID_BYTES) == 0)
		return qoi_fail(-EPERM, "shm: an endpoint doesn't connect to "
					"itself; provider self does");
	pthread_mutex_lock(&endpoint->mutex);
	rc = connect_locked(endpoint, peer.endpoint_id, deadline_ns, conn_out);
	pthread_mutex_unlock(&endpoint->mutex);
	return rc;
}
