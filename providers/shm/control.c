/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Control messages of a connection: one packet each, with a tag.  Whoever
 * waits first reads for all; what isn't its own goes to the mailbox.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "libqoffload/base/clock.h"
#include "libqoffload/base/error.h"
#include "libqoffload/base/log.h"
#include "providers/deadline.h"
#include "providers/shm/shm.h"

/* How soon to try again when the kernel lacks something it can't announce. */
#define RETRY_NS QOI_NS_PER_MS

static int ended(struct qo_shm_conn *conn, int error)
{
	return qoi_fail(error, "shm: the peer, process %d, %s", (int)conn->pid,
			error == -EPIPE ? "has finalised" : "is lost");
}

/* Nothing that comes after bytes of another kind can be trusted. */
static int foreign_bytes(struct qo_shm_conn *conn)
{
	qoi_log_warn("shm: process %d sent what is not a control message; the "
		     "connection ends",
		     (int)conn->pid);
	shutdown(conn->fd, SHUT_RDWR);
	return -ECONNRESET;
}

static int check(const struct qo_shm_control *header,
		 const struct qoi_packet *packet, size_t bytes)
{
	return header->magic == QO_SHM_MAGIC_CONTROL &&
	       bytes == sizeof(*header) + header->data_bytes &&
	       header->window_count <= 1 &&
	       (packet->fd_count == header->window_count ||
		(packet->fds_lost && header->window_count == 1)) &&
	       (header->window_count == 0 || header->window_bytes > 0);
}

/* Reads one message.  0, -EAGAIN, or how the connection ended, or -ENOMEM. */
static int read_message(struct qo_shm_conn *conn,
			struct qoi_message **message_out)
{
	struct qo_shm_control header;
	struct qoi_packet packet;
	struct qoi_message *message;
	size_t bytes;
	int rc = qoi_packet_next(conn->fd, &bytes);

	if (rc == -EAGAIN)
		return rc;
	if (rc != 0)
		return qo_shm_conn_end(conn);
	if (bytes < sizeof(header) ||
	    bytes > sizeof(header) + QO_CONTROL_BYTES_MAX)
		return foreign_bytes(conn);
	message = qoi_message_create((uint32_t)(bytes - sizeof(header)));
	if (message == NULL)
		return qoi_fail(-ENOMEM, "shm: no memory for a message");
	qoi_packet_init(&packet, &header, sizeof(header));
	packet.parts[1].iov_base = message->data;
	packet.parts[1].iov_len = message->bytes;
	rc = qoi_packet_recv(conn->fd, &packet, &bytes);
	if (rc == 0 && !check(&header, &packet, bytes)) {
		qoi_packet_close(&packet);
		rc = -EBADMSG;
	}
	if (rc != 0) {
		qoi_message_destroy(message);
		if (rc == -ECONNRESET)
			return qo_shm_conn_end(conn);
		return rc == -EAGAIN ? rc : foreign_bytes(conn);
	}
	message->tag.team = header.team;
	message->tag.sequence = header.sequence;
	message->tag.kind = header.kind;
	message->fd = packet.fd_count > 0 ? packet.fds[0] : -1;
	message->window_index = header.window_index;
	message->window_bytes =
		header.window_count > 0 ? header.window_bytes : 0;
	*message_out = message;
	return 0;
}

/* Takes all there is, as the one reader; the mutex is held. */
static int drain(struct qo_shm_conn *conn)
{
	struct qoi_message *message = NULL;
	int rc = 0;

	while (!qoi_mailbox_is_full(&conn->mailbox)) {
		rc = read_message(conn, &message);
		if (rc != 0)
			break;
		qoi_mailbox_append(&conn->mailbox, message);
	}
	if (rc != 0 && rc != -EAGAIN && rc != -ENOMEM)
		conn->control_error = rc;
	pthread_cond_broadcast(&conn->arrived);
	return rc;
}

static int await_message(struct qo_shm_conn *conn,
			 const struct qo_control_tag *tag, size_t capacity,
			 int64_t deadline_ns, struct qoi_message **message_out)
{
	int late = 0;
	int rc;

	for (;;) {
		rc = qoi_mailbox_take(&conn->mailbox, tag, capacity,
				      message_out);
		if (rc != -EAGAIN)
			return rc;
		if (conn->control_error != 0)
			return ended(conn, conn->control_error);
		if (conn->reading) {
			if (late)
				return -ETIMEDOUT;
			late = qoi_deadline_wait(&conn->arrived,
						 &conn->control_mutex,
						 deadline_ns) != 0 &&
			       qoi_clock_ns() >= deadline_ns;
			continue;
		}
		if (qoi_mailbox_is_full(&conn->mailbox))
			return qoi_fail(-ENOMEM,
					"shm: %u control messages "
					"wait unread",
					conn->mailbox.count);
		rc = drain(conn);
		if (rc == -ENOMEM)
			return rc;
		if (rc != -EAGAIN)
			continue;
		/* Nothing in the socket; was its tag among what came? */
		rc = qoi_mailbox_take(&conn->mailbox, tag, capacity,
				      message_out);
		if (rc != -EAGAIN)
			return rc;
		if (late)
			return -ETIMEDOUT;
		conn->reading = 1;
		pthread_mutex_unlock(&conn->control_mutex);
		late = qoi_deadline_poll(conn->fd, POLLIN, deadline_ns) != 0;
		pthread_mutex_lock(&conn->control_mutex);
		/* drain() wakes the others: one reads on if this one leaves. */
		conn->reading = 0;
	}
}

int qo_shm_control_recv(struct qo_conn *public, const struct qo_control_tag *tag,
			void *data_out, size_t capacity, size_t *bytes_out,
			struct qo_remote **remote_out, int64_t deadline_ns)
{
	struct qo_shm_conn *conn = (struct qo_shm_conn *)public;
	struct qo_remote *remote = NULL;
	struct qoi_message *message = NULL;
	int rc;

	pthread_mutex_lock(&conn->control_mutex);
	rc = await_message(conn, tag, capacity, deadline_ns, &message);
	pthread_mutex_unlock(&conn->control_mutex);
	if (rc == -ETIMEDOUT && deadline_ns == 0)
		return rc; /* a look, not a failure */
	if (rc == -ETIMEDOUT)
		return qoi_fail(rc,
				"shm: no control message of team %" PRIu64
				", sequence %u, kind %u from process %d in "
				"time",
				tag->team, tag->sequence, tag->kind,
				(int)conn->pid);
	if (rc != 0)
		return rc;
	if (remote_out != NULL && message->window_bytes > 0)
		rc = qo_shm_remote_open(conn, message, &remote);
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

/*
 * The peer's end is full.  Takes in what has come meanwhile, so that two who
 * send to each other at once both go on.
 */
static void make_way(struct qo_shm_conn *conn, int64_t deadline_ns)
{
	short events = POLLOUT;

	pthread_mutex_lock(&conn->control_mutex);
	if (!conn->reading && conn->control_error == 0) {
		drain(conn);
		if (!qoi_mailbox_is_full(&conn->mailbox))
			events |= POLLIN;
	}
	pthread_mutex_unlock(&conn->control_mutex);
	qoi_deadline_poll(conn->fd, events, deadline_ns);
}

static void pause_briefly(int64_t deadline_ns)
{
	int64_t until_ns = qoi_clock_after(qoi_clock_ns(), RETRY_NS);

	qoi_deadline_poll(-1, 0,
			  until_ns < deadline_ns ? until_ns : deadline_ns);
}

int qo_shm_control_send(struct qo_conn *public, const struct qo_control_tag *tag,
			const void *data, size_t bytes,
			struct qo_window *window, int64_t deadline_ns)
{
	struct qo_shm_conn *conn = (struct qo_shm_conn *)public;
	struct qo_shm_control header = { .magic = QO_SHM_MAGIC_CONTROL,
					 .team = tag->team,
					 .sequence = tag->sequence,
					 .kind = tag->kind,
					 .data_bytes = (uint32_t)bytes };
	struct qoi_packet packet;

	if (bytes > QO_CONTROL_BYTES_MAX)
		return qoi_fail(-EMSGSIZE,
				"control message of %zu bytes, "
				"at most %d",
				bytes, QO_CONTROL_BYTES_MAX);
	qoi_packet_init(&packet, &header, sizeof(header));
	packet.parts[1].iov_base = (void *)(uintptr_t)data;
	packet.parts[1].iov_len = bytes;
	if (window != NULL) {
		struct qo_shm_mapping *mapping =
			((struct qo_shm_window *)window)->mapping;

		header.window_count = 1;
		header.window_index = mapping->id.index;
		header.window_bytes = mapping->segment.bytes;
		packet.fds[0] = mapping->segment.fd;
		packet.fd_count = 1;
	}
	for (;;) {
		int rc = qoi_packet_send(conn->fd, &packet);

		if (rc == -ECONNRESET)
			return ended(conn, qo_shm_conn_end(conn));
		if (rc != -EAGAIN && rc != -ENOMEM)
			return rc == 0 ? 0 : -ECONNRESET;
		if (qoi_clock_ns() >= deadline_ns)
			return qoi_fail(-ETIMEDOUT,
					"shm: process %d takes no "
					"control message in time",
					(int)conn->pid);
		if (rc == -EAGAIN)
			make_way(conn, deadline_ns);
		else
			pause_briefly(deadline_ns);
	}
}
