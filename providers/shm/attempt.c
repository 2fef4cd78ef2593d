/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections in the making.  There is one connection per pair of endpoints:
 * the lower id connects.  The higher knocks at the lower's socket meanwhile:
 * a knock is only held, so that it hangs up when the lower dies.
 * All is done in non-blocking steps, by whoever holds the endpoint's mutex: a
 * thread in connect(), or the agent's poll().
 */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "libqoffload/base/clock.h"
#include "libqoffload/base/error.h"
#include "libqoffload/base/log.h"
#include "providers/shm/shm.h"

/* One step's share, so that a flood can't keep the agent here. */
#define EVENTS_MAX 32
/* How long a stranger may take for its hello. */
#define PATIENCE_NS (30 * QOI_NS_PER_S)
/* How soon to dial again when the peer's backlog is full. */
#define REDIAL_NS QOI_NS_PER_MS

static void close_sockets(struct qo_shm_attempt *attempt)
{
	const struct qo_shm_endpoint *endpoint = attempt->endpoint;

	/*
	 * Not close() alone: a forked child may have the socket too, and then
	 * its epoll would go on to tell of an attempt that is freed.
	 */
	if (attempt->fd >= 0 && endpoint->owner == getpid()) {
		epoll_ctl(endpoint->setup_epoll, EPOLL_CTL_DEL, attempt->fd,
			  NULL);
		shutdown(attempt->fd, SHUT_RDWR);
	}
	if (attempt->fd >= 0)
		close(attempt->fd);
	attempt->fd = -1;
	if (attempt->peer_event_fd >= 0)
		close(attempt->peer_event_fd);
	attempt->peer_event_fd = -1;
	if (attempt->page != NULL)
		qo_shm_mapping_put(attempt->page);
	attempt->page = NULL;
}

void qo_shm_attempt_fail(struct qo_shm_attempt *attempt, int error,
			 const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(attempt->reason, sizeof(attempt->reason), format, arguments);
	va_end(arguments);
	attempt->error = error;
	attempt->state = QO_SHM_DONE;
	close_sockets(attempt);
	/* Nobody returns it for a guest, so it is said here. */
	if (attempt->role == QO_SHM_ACCEPT && error != -ECONNRESET)
		qoi_log_warn("shm: process %d was refused: %s",
			     (int)attempt->pid, attempt->reason);
}

static struct qo_shm_attempt *create(struct qo_shm_endpoint *endpoint,
				     enum qo_shm_role role)
{
	struct qo_shm_attempt *attempt;

	if (endpoint->attempt_count >= QO_SHM_ATTEMPTS_MAX)
		return NULL;
	attempt = calloc(1, sizeof(*attempt));
	if (attempt == NULL)
		return NULL;
	attempt->role = role;
	attempt->endpoint = endpoint;
	attempt->fd = -1;
	attempt->peer_event_fd = -1;
	attempt->next = endpoint->attempts;
	endpoint->attempts = attempt;
	endpoint->attempt_count++;
	return attempt;
}

static void destroy(struct qo_shm_endpoint *endpoint,
		    struct qo_shm_attempt *attempt)
{
	struct qo_shm_attempt **link = &endpoint->attempts;

	while (*link != attempt)
		link = &(*link)->next;
	*link = attempt->next;
	endpoint->attempt_count--;
	close_sockets(attempt);
	free(attempt);
}

static int watch(struct qo_shm_endpoint *endpoint,
		 struct qo_shm_attempt *attempt)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLRDHUP,
				     .data.ptr = attempt };

	if (epoll_ctl(endpoint->setup_epoll, EPOLL_CTL_ADD, attempt->fd,
		      &event) != 0)
		return -ENOMEM;
	return 0;
}

static int knock(struct qo_shm_endpoint *endpoint,
		 struct qo_shm_attempt *attempt)
{
	struct qo_shm_knock message = { .magic = QO_SHM_MAGIC_KNOCK };
	struct qoi_packet packet;
	int rc;

	memcpy(message.endpoint_id, endpoint->address.endpoint_id,
	       QO_SHM_ID_BYTES);
	qoi_packet_init(&packet, &message, sizeof(message));
	rc = qoi_packet_send(attempt->fd, &packet);
	if (rc != 0) {
		qo_shm_attempt_fail(attempt, -ECONNRESET, "the peer is gone");
		return rc;
	}
	attempt->state = QO_SHM_HOLD;
	return 0;
}

static void dial_failed(struct qo_shm_attempt *attempt, int error)
{
	if (error == -ECONNRESET)
		qo_shm_attempt_fail(attempt, error,
				    "the peer's socket is "
				    "gone: it has ended, or is in another "
				    "network namespace");
	else if (error == -EPERM)
		qo_shm_attempt_fail(attempt, error,
				    "the peer, process %d, is "
				    "of another user",
				    (int)attempt->pid);
	else
		qo_shm_attempt_fail(attempt, error, "socket: %m");
}

static void dial(struct qo_shm_endpoint *endpoint,
		 struct qo_shm_attempt *attempt)
{
	int rc = qo_shm_socket_connect(attempt->peer_id, &attempt->fd);

	attempt->state = QO_SHM_DIAL;
	if (rc == -EAGAIN)
		return;
	if (rc == 0)
		rc = qoi_packet_peer(attempt->fd, &attempt->pid);
	if (rc == 0)
		rc = watch(endpoint, attempt);
	if (rc != 0) {
		dial_failed(attempt, rc);
		return;
	}
	if (attempt->role == QO_SHM_KNOCK) {
		knock(endpoint, attempt);
		return;
	}
	if (qo_shm_handshake_hello(endpoint, attempt, 1) == 0)
		attempt->state = QO_SHM_WAIT_HELLO;
}

int qo_shm_attempt_join(struct qo_shm_endpoint *endpoint, const uint8_t *peer_id,
			struct qo_shm_attempt **attempt_out)
{
	struct qo_shm_attempt *attempt = endpoint->attempts;
	int order =
		memcmp(endpoint->address.endpoint_id, peer_id, QO_SHM_ID_BYTES);

	while (attempt != NULL &&
	       (attempt->role == QO_SHM_ACCEPT || attempt->state == QO_SHM_DONE ||
		memcmp(attempt->peer_id, peer_id, QO_SHM_ID_BYTES) != 0))
		attempt = attempt->next;
	if (attempt == NULL) {
		attempt = create(endpoint,
				 order < 0 ? QO_SHM_CONNECT : QO_SHM_KNOCK);
		if (attempt == NULL)
			return qoi_fail(-ENOMEM, "shm: no room for one more "
						 "connection in the making");
		memcpy(attempt->peer_id, peer_id, QO_SHM_ID_BYTES);
		dial(endpoint, attempt);
	}
	attempt->waiters++;
	*attempt_out = attempt;
	return 0;
}

void qo_shm_attempt_leave(struct qo_shm_endpoint *endpoint,
			  struct qo_shm_attempt *attempt)
{
	assert(attempt->waiters > 0);
	if (--attempt->waiters == 0)
		destroy(endpoint, attempt);
}

/* Turns a peer away when no descriptor is left, or it would knock for ever. */
static void turn_away(struct qo_shm_endpoint *endpoint)
{
	int fd;

	qoi_log_warn("shm: a peer is turned away: %m");
	close(endpoint->spare_fd);
	fd = accept(endpoint->listen_fd, NULL, NULL);
	if (fd >= 0)
		close(fd);
	endpoint->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* 1, or 0 when nobody is at the door. */
static int accept_one(struct qo_shm_endpoint *endpoint)
{
	struct qo_shm_attempt *attempt;
	int fd = accept4(endpoint->listen_fd, NULL, NULL,
			 SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
		    errno == ENOBUFS)
			turn_away(endpoint);
		return 0;
	}
	attempt = create(endpoint, QO_SHM_ACCEPT);
	if (attempt == NULL) {
		qoi_log_warn("shm: a peer is turned away: over %d at once",
			     QO_SHM_ATTEMPTS_MAX);
		close(fd);
		return 1;
	}
	attempt->fd = fd;
	attempt->state = QO_SHM_WAIT_HELLO;
	attempt->expiry_ns = qoi_clock_after(qoi_clock_ns(), PATIENCE_NS);
	if (qoi_packet_peer(fd, &attempt->pid) != 0)
		qo_shm_attempt_fail(attempt, -EPERM, "it is of another user");
	else if (watch(endpoint, attempt) != 0)
		qo_shm_attempt_fail(attempt, -ENOMEM, "epoll: %m");
	return 1;
}

/*
 * A guest could not be taken in: whoever waits here for that very peer need
 * not wait longer.  Before its identity is known, its process tells.
 */
static void tell_knocks(struct qo_shm_endpoint *endpoint,
			const struct qo_shm_attempt *guest)
{
	if (guest->error != -EPERM && guest->error != -EPROTONOSUPPORT &&
	    guest->error != -ENOMEM)
		return;
	for (struct qo_shm_attempt *knock = endpoint->attempts; knock != NULL;
	     knock = knock->next) {
		int same = guest->has_id ? memcmp(knock->peer_id, guest->peer_id,
						  QO_SHM_ID_BYTES) == 0
					 : knock->pid == guest->pid;

		if (same && knock->role == QO_SHM_KNOCK &&
		    knock->state == QO_SHM_HOLD)
			qo_shm_attempt_fail(knock, guest->error, "%s",
					    guest->reason);
	}
}

/* Dials again, and lets go of guests that are done or take too long. */
static void look_after_all(struct qo_shm_endpoint *endpoint)
{
	int64_t now_ns = qoi_clock_ns();
	struct qo_shm_attempt *next;

	for (struct qo_shm_attempt *attempt = endpoint->attempts;
	     attempt != NULL; attempt = next) {
		next = attempt->next;
		if (attempt->state == QO_SHM_DIAL)
			dial(endpoint, attempt);
		if (attempt->role != QO_SHM_ACCEPT)
			continue;
		if (attempt->state != QO_SHM_DONE &&
		    attempt->state != QO_SHM_HOLD && now_ns > attempt->expiry_ns)
			qo_shm_attempt_fail(attempt, -ETIMEDOUT,
					    "it was silent for too long");
		if (attempt->state != QO_SHM_DONE)
			continue;
		tell_knocks(endpoint, attempt);
		destroy(endpoint, attempt);
	}
}

uint32_t qo_shm_attempt_step(struct qo_shm_endpoint *endpoint)
{
	struct epoll_event events[EVENTS_MAX];
	uint32_t work = 0;
	int count = epoll_wait(endpoint->setup_epoll, events, EVENTS_MAX, 0);

	/* Nothing is freed before look_after_all(): the pointers are good. */
	for (int i = 0; i < count; i++) {
		work++;
		if (events[i].data.ptr == &endpoint->listen_fd) {
			for (int n = 0; n < EVENTS_MAX; n++)
				if (!accept_one(endpoint))
					break;
			continue;
		}
		while (qo_shm_handshake_advance(endpoint, events[i].data.ptr))
			work++;
	}
	look_after_all(endpoint);
	return work;
}

int64_t qo_shm_attempt_deadline(const struct qo_shm_endpoint *endpoint)
{
	const struct qo_shm_attempt *attempt = endpoint->attempts;

	while (attempt != NULL && attempt->state != QO_SHM_DIAL)
		attempt = attempt->next;
	if (attempt == NULL)
		return QOI_CLOCK_NEVER;
	return qoi_clock_ns() + REDIAL_NS;
}

void qo_shm_attempt_destroy_all(struct qo_shm_endpoint *endpoint)
{
	while (endpoint->attempts != NULL) {
		assert(endpoint->attempts->waiters == 0);
		destroy(endpoint, endpoint->attempts);
	}
}
