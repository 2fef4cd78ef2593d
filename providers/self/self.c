/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank to itself: windows are ordinary memory, control a list. */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include "libqoffload/base/clock.h"
#include "libqoffload/base/error.h"
#include "libqoffload/base/log.h"
#include "libqoffload/shm/atomic.h"
#include "providers/deadline.h"
#include "providers/mailbox.h"
#include "providers/put.h"

/* Of memory handed out: two cache lines, as the prefetcher takes them. */
#define WINDOW_ALIGNMENT 128
#define NAME_BYTES 16

struct self_endpoint {
	struct qo_endpoint public;
	struct qo_conn conn; /* the only one */
	struct qoi_bell bell;
	uint8_t name[NAME_BYTES]; /* random: its address */
	int event_fd;		  /* owner: the endpoint */
	pthread_mutex_t mutex;	  /* over all below */
	pthread_cond_t arrived;
	struct qoi_mailbox mailbox;
	uint32_t refs; /* of the connection */
};

/* A window, kept by its owner, by remotes, and by messages that offer it. */
struct self_window {
	struct qo_window public;
	uint32_t refs;
};

struct self_remote {
	struct qo_remote public;
	struct self_window *window; /* counted */
};

static struct self_endpoint *to_self(struct qo_endpoint *endpoint)
{
	return (struct self_endpoint *)endpoint;
}

static void window_get(struct self_window *window)
{
	qoi_add32(&window->refs, 1);
}

static void window_put(struct self_window *window)
{
	if (qoi_sub32(&window->refs, 1) != 0)
		return;
	free(window->public.base);
	free(window);
}

static int self_open(const struct qo_provider *provider,
		     const struct qoi_config *config,
		     struct qo_endpoint **endpoint_out)
{
	struct self_endpoint *self = calloc(1, sizeof(*self));

	(void)config;
	if (self == NULL)
		return qoi_fail(-ENOMEM, "self: no memory for an endpoint");
	if (getrandom(self->name, sizeof(self->name), 0) !=
	    (ssize_t)sizeof(self->name)) {
		qoi_fail(-ENODEV, "self: getrandom: %m");
		goto err_free;
	}
	self->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (self->event_fd < 0) {
		qoi_fail(-ENOMEM, "self: eventfd: %m");
		goto err_free;
	}
	if (qoi_deadline_condition_init(&self->arrived) != 0)
		goto err_close;
	pthread_mutex_init(&self->mutex, NULL);
	qoi_mailbox_init(&self->mailbox);
	self->public.provider = provider;
	self->public.bell = &self->bell;
	self->conn.endpoint = &self->public;
	self->conn.peer_bell = &self->bell;
	self->conn.flags = QO_CONN_MAP | QO_CONN_GET | QO_CONN_GET_BY_PEER;
	*endpoint_out = &self->public;
	return 0;

err_close:
	close(self->event_fd);
err_free:
	free(self);
	return -ENOMEM;
}

static void self_close(struct qo_endpoint *endpoint)
{
	struct self_endpoint *self = to_self(endpoint);
	struct qoi_message *message;

	if (self->refs != 0)
		qoi_log_warn("self: closed with %u references", self->refs);
	while ((message = qoi_mailbox_pop(&self->mailbox)) != NULL) {
		if (message->window != NULL)
			window_put(message->window);
		qoi_message_destroy(message);
	}
	close(self->event_fd);
	pthread_cond_destroy(&self->arrived);
	pthread_mutex_destroy(&self->mutex);
	free(self);
}

static int self_address(struct qo_endpoint *endpoint, void *address_out,
			size_t *bytes_out)
{
	memcpy(address_out, to_self(endpoint)->name, NAME_BYTES);
	*bytes_out = NAME_BYTES;
	return 0;
}

static int self_reachable(struct qo_endpoint *endpoint, const void *address,
			  size_t bytes)
{
	if (bytes != NAME_BYTES ||
	    memcmp(address, to_self(endpoint)->name, NAME_BYTES) != 0)
		return -ENETUNREACH;
	return 0;
}

static int self_connect(struct qo_endpoint *endpoint, const void *address,
			size_t bytes, int64_t deadline_ns,
			struct qo_conn **conn_out)
{
	struct self_endpoint *self = to_self(endpoint);

	(void)deadline_ns;
	if (self_reachable(endpoint, address, bytes) != 0)
		return qoi_fail(-EPERM, "self: this is another endpoint");
	pthread_mutex_lock(&self->mutex);
	self->refs++;
	pthread_mutex_unlock(&self->mutex);
	*conn_out = &self->conn;
	return 0;
}

static void self_disconnect(struct qo_conn *conn)
{
	struct self_endpoint *self = to_self(conn->endpoint);

	pthread_mutex_lock(&self->mutex);
	assert(self->refs > 0);
	self->refs--;
	pthread_mutex_unlock(&self->mutex);
}

static int self_control_send(struct qo_conn *conn,
			     const struct qo_control_tag *tag, const void *data,
			     size_t bytes, struct qo_window *window,
			     int64_t deadline_ns)
{
	struct self_endpoint *self = to_self(conn->endpoint);
	struct qoi_message *message;
	int rc = 0;

	if (bytes > QO_CONTROL_BYTES_MAX)
		return qoi_fail(-EMSGSIZE,
				"control message of %zu bytes, "
				"at most %d",
				bytes, QO_CONTROL_BYTES_MAX);
	message = qoi_message_create((uint32_t)bytes);
	if (message == NULL)
		return qoi_fail(-ENOMEM, "self: no memory for a message");
	message->tag = *tag;
	if (bytes > 0)
		memcpy(message->data, data, bytes);
	pthread_mutex_lock(&self->mutex);
	while (rc == 0 && qoi_mailbox_is_full(&self->mailbox))
		rc = qoi_deadline_wait(&self->arrived, &self->mutex,
				       deadline_ns);
	if (rc == 0) {
		if (window != NULL) {
			message->window = window;
			window_get((struct self_window *)window);
		}
		qoi_mailbox_append(&self->mailbox, message);
		pthread_cond_broadcast(&self->arrived);
	}
	pthread_mutex_unlock(&self->mutex);
	if (rc == 0)
		return 0;
	qoi_message_destroy(message);
	return qoi_fail(-ETIMEDOUT, "self: %d control messages wait unread",
			QOI_MAILBOX_MESSAGES_MAX);
}

/* The reference of the message becomes that of the remote. */
static int open_remote(struct qo_conn *conn, struct qoi_message *message,
		       struct qo_remote **remote_out)
{
	struct self_window *window = message->window;
	struct self_remote *remote;

	if (window == NULL) {
		*remote_out = NULL;
		return 0;
	}
	remote = calloc(1, sizeof(*remote));
	if (remote == NULL) {
		window_put(window);
		return qoi_fail(-ENOMEM, "self: no memory for a window");
	}
	remote->public.conn = conn;
	remote->public.base = window->public.base;
	remote->public.bytes = window->public.bytes;
	remote->window = window;
	*remote_out = &remote->public;
	return 0;
}

static int take(struct self_endpoint *self, const struct qo_control_tag *tag,
		size_t capacity, int64_t deadline_ns,
		struct qoi_message **message_out)
{
	int rc;

	pthread_mutex_lock(&self->mutex);
	for (;;) {
		rc = qoi_mailbox_take(&self->mailbox, tag, capacity,
				      message_out);
		if (rc != -EAGAIN)
			break;
		if (qoi_deadline_wait(&self->arrived, &self->mutex,
				      deadline_ns) != 0 &&
		    qoi_clock_ns() >= deadline_ns) {
			rc = -ETIMEDOUT;
			break;
		}
	}
	if (rc == 0) /* somebody may wait for room */
		pthread_cond_broadcast(&self->arrived);
	pthread_mutex_unlock(&self->mutex);
	return rc;
}

static int self_control_recv(struct qo_conn *conn,
			     const struct qo_control_tag *tag, void *data_out,
			     size_t capacity, size_t *bytes_out,
			     struct qo_remote **remote_out, int64_t deadline_ns)
{
	struct qo_remote *remote = NULL;
	struct qoi_message *message;
	int rc = take(to_self(conn->endpoint), tag, capacity, deadline_ns,
		      &message);

	if (rc == -ETIMEDOUT && deadline_ns == 0)
		return rc; /* a look, not a failure */
	if (rc == -ETIMEDOUT)
		return qoi_fail(rc,
				"self: no control message of team %" PRIu64 ", "
				"sequence %u, kind %u",
				tag->team, tag->sequence, tag->kind);
	if (rc != 0)
		return rc;
	if (remote_out != NULL)
		rc = open_remote(conn, message, &remote);
	else if (message->window != NULL)
		window_put(message->window);
	if (rc == 0) {
		if (message->bytes > 0)
			memcpy(data_out, message->data, message->bytes);
		*bytes_out = message->bytes;
		if (remote_out != NULL)
			*remote_out = remote;
	}
	qoi_message_destroy(message);
	return rc;
}

static int self_window_create(struct qo_endpoint *endpoint, uint64_t bytes,
			      struct qo_window **window_out)
{
	struct self_window *window = calloc(1, sizeof(*window));
	void *base;

	if (window == NULL || bytes > SIZE_MAX - WINDOW_ALIGNMENT ||
	    posix_memalign(&base, WINDOW_ALIGNMENT, bytes) != 0) {
		free(window);
		return qoi_fail(-ENOMEM,
				"self: no memory for a window "
				"of %" PRIu64 " bytes",
				bytes);
	}
	memset(base, 0, bytes);
	window->public.endpoint = endpoint;
	window->public.base = base;
	window->public.bytes = bytes;
	window->refs = 1;
	*window_out = &window->public;
	return 0;
}

static void self_window_destroy(struct qo_window *window)
{
	window_put((struct self_window *)window);
}

static void self_remote_release(struct qo_remote *remote)
{
	window_put(((struct self_remote *)remote)->window);
	free(remote);
}

static int self_get(struct qo_conn *conn, uint64_t remote_address, void *local,
		    uint64_t bytes)
{
	(void)conn;
	memcpy(local, (const void *)(uintptr_t)remote_address, bytes);
	return 0;
}

static int self_poll(struct qo_endpoint *endpoint, uint32_t budget,
		     uint32_t *work_out)
{
	(void)endpoint;
	(void)budget;
	*work_out = 0;
	return 0;
}

static int self_fd(struct qo_endpoint *endpoint)
{
	return to_self(endpoint)->event_fd;
}

static void self_wake(struct qo_conn *conn)
{
	struct self_endpoint *self = to_self(conn->endpoint);
	uint32_t wanted = qoi_bell_wanted(&self->bell, QOI_BELL_AGENT_DATA);

	if ((wanted & QOI_BELL_WAKE_WAITERS) != 0)
		qoi_bell_ring_waiters(&self->bell);
	if ((wanted & QOI_BELL_WAKE_AGENT) != 0)
		eventfd_write(self->event_fd, 1);
}

static void self_wake_clear(struct qo_endpoint *endpoint)
{
	eventfd_t count;

	eventfd_read(to_self(endpoint)->event_fd, &count);
}

/* Another thread of this process may sleep. */
static int self_put(struct qo_remote *remote, const struct qo_put *put)
{
	int rc = qoi_put_mapped(remote, put);

	if (rc == 0)
		self_wake(remote->conn);
	return rc;
}

static const struct qo_provider_ops self_ops = {
	.size = sizeof(struct qo_provider_ops),
	.open = self_open,
	.close = self_close,
	.address = self_address,
	.reachable = self_reachable,
	.connect = self_connect,
	.disconnect = self_disconnect,
	.control_send = self_control_send,
	.control_recv = self_control_recv,
	.window_create = self_window_create,
	.window_destroy = self_window_destroy,
	.remote_release = self_remote_release,
	.put = self_put,
	.get = self_get,
	.poll = self_poll,
	.fd = self_fd,
	.wake = self_wake,
	.wake_clear = self_wake_clear,
};

extern const struct qo_provider qo_self_provider;
const struct qo_provider qo_self_provider = {
	.abi = QO_PROVIDER_ABI,
	.caps = QO_CAP_MAP | QO_CAP_PUT | QO_CAP_GET | QO_CAP_FD,
	.name = "self",
	.doc = "a rank to itself",
	.ops = &self_ops,
};
