/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Both sides say hello (with their page and eventfd), read the other's cookie
 * straight from its memory, and tell the result:
 *
 *	lower                    higher
 *	hello  ----------------> checks, reads the cookie
 *	       <---------------- hello, result
 *	checks, reads, result -> connected
 *	connected
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "libqoffload/base/error.h"
#include "providers/shm/shm.h"

/* Of a later version's hello: it shall be told why it is refused. */
#define REST_BYTES 1024

int qo_shm_handshake_hello(struct qo_shm_endpoint *endpoint,
			   struct qo_shm_attempt *attempt, int with_fds)
{
	struct qoi_layout_hello hello = {
		.magic = QOI_HELLO_MAGIC,
		.version = QOI_LAYOUT_VERSION,
		.bytes = sizeof(hello),
		.layout_hash = QOI_LAYOUT_HASH,
		.pid = (uint32_t)getpid(),
		.uid = (uint32_t)geteuid(),
		.window_bytes = sizeof(struct qo_shm_page),
		.probe_address = (uint64_t)(uintptr_t)endpoint->cookie,
	};
	struct qoi_packet packet;
	int rc;

	if (endpoint->get_switch != QOI_CONFIG_SWITCH_OFF)
		hello.flags = QOI_HELLO_MAY_GET;
	memcpy(hello.node_id, endpoint->address.node_id, sizeof(hello.node_id));
	memcpy(hello.endpoint_id, endpoint->address.endpoint_id,
	       QO_SHM_ID_BYTES);
	memcpy(hello.probe_cookie, endpoint->cookie, sizeof(endpoint->cookie));
	qoi_packet_init(&packet, &hello, sizeof(hello));
	packet.fds[0] = endpoint->page->segment.fd;
	packet.fds[1] = endpoint->event_fd;
	packet.fd_count = with_fds ? 2 : 0;
	rc = qoi_packet_send(attempt->fd, &packet);
	if (rc == 0)
		return 0;
	/* A new socket is never full, and a peer that went is lost. */
	if (rc == -ENOMEM)
		qo_shm_attempt_fail(attempt, rc, "%s", qo_error_detail());
	else
		qo_shm_attempt_fail(attempt, -ECONNRESET,
				    "the peer has hung up before the hello");
	return rc;
}

static void send_result(struct qo_shm_attempt *attempt, int error)
{
	struct qo_shm_result result = { .magic = QO_SHM_MAGIC_RESULT,
					.error = (uint32_t)-error };
	struct qoi_packet packet;

	if ((attempt->flags & QO_CONN_GET) != 0)
		result.flags = QO_SHM_RESULT_GETS;
	qoi_packet_init(&packet, &result, sizeof(result));
	qoi_packet_send(attempt->fd, &packet);
}

/* Whether a peer's memory can be read, found by reading it. */
static int can_get(pid_t pid, const struct qoi_layout_hello *hello)
{
	uint8_t cookie[sizeof(hello->probe_cookie)];
	struct iovec to = { cookie, sizeof(cookie) };
	struct iovec from = { (void *)(uintptr_t)hello->probe_address,
			      sizeof(cookie) };

	return process_vm_readv(pid, &to, 1, &from, 1, 0) ==
		       (ssize_t)sizeof(cookie) &&
	       memcmp(cookie, hello->probe_cookie, sizeof(cookie)) == 0;
}

/* Writing into anything else could block, or raise a signal. */
static int is_eventfd(int fd)
{
	static const char expected[] = "anon_inode:[eventfd]";
	char path[32];
	char target[sizeof(expected)];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	length = readlink(path, target, sizeof(target));
	return length == (ssize_t)sizeof(expected) - 1 &&
	       memcmp(target, expected, sizeof(expected) - 1) == 0;
}

static int check_layout(struct qo_shm_endpoint *endpoint,
			struct qo_shm_attempt *attempt,
			const struct qoi_layout_hello *hello, size_t bytes)
{
	/* Any version has these at these places; the rest may differ. */
	if (bytes < offsetof(struct qoi_layout_hello, library_version) ||
	    hello->magic != QOI_HELLO_MAGIC) {
		qo_shm_attempt_fail(attempt, -EBADMSG, "its bytes are not ours");
		return -EBADMSG;
	}
	if (hello->version == QOI_LAYOUT_VERSION &&
	    hello->layout_hash == QOI_LAYOUT_HASH && bytes == sizeof(*hello) &&
	    hello->bytes == sizeof(*hello))
		return 0;
	/* It shall be able to say the same. */
	if (attempt->role == QO_SHM_ACCEPT &&
	    qo_shm_handshake_hello(endpoint, attempt, 0) != 0)
		return -ECONNRESET;
	send_result(attempt, -EPROTONOSUPPORT);
	qo_shm_attempt_fail(attempt, -EPROTONOSUPPORT,
			    "layouts differ: the peer has version %u, hash "
			    "%016" PRIx64 ", this library version %u, hash "
			    "%016" PRIx64,
			    hello->version, hello->layout_hash,
			    QOI_LAYOUT_VERSION, QOI_LAYOUT_HASH);
	return -EPROTONOSUPPORT;
}

/* Takes the peer's page and eventfd out of the packet. */
static int take_fds(struct qo_shm_attempt *attempt,
		    const struct qoi_layout_hello *hello,
		    struct qoi_packet *packet)
{
	struct qo_shm_window_id id = { .index = 0 };
	int rc;

	if (packet->fd_count != 2 || !is_eventfd(packet->fds[1]) ||
	    hello->window_bytes != sizeof(struct qo_shm_page)) {
		qoi_packet_close(packet);
		qo_shm_attempt_fail(attempt, -EBADMSG,
				    "its hello lacks a page or an eventfd");
		return -EBADMSG;
	}
	memcpy(id.endpoint, hello->endpoint_id, QO_SHM_ID_BYTES);
	packet->fd_count = 0;
	attempt->peer_event_fd = packet->fds[1];
	rc = qo_shm_mapping_attach(&id, attempt->pid == getpid(), packet->fds[0],
				   hello->window_bytes, &attempt->page);
	if (rc != 0)
		qo_shm_attempt_fail(attempt, rc, "its page: %s",
				    qo_error_detail());
	return rc;
}

/* Who connects must be the lower id, and the one that was dialled. */
static int check_identity(struct qo_shm_endpoint *endpoint,
			  struct qo_shm_attempt *attempt,
			  const struct qoi_layout_hello *hello)
{
	int order = memcmp(hello->endpoint_id, endpoint->address.endpoint_id,
			   QO_SHM_ID_BYTES);

	if (attempt->role == QO_SHM_CONNECT &&
	    memcmp(hello->endpoint_id, attempt->peer_id, QO_SHM_ID_BYTES) == 0)
		return 0;
	if (attempt->role == QO_SHM_ACCEPT && order < 0) {
		memcpy(attempt->peer_id, hello->endpoint_id, QO_SHM_ID_BYTES);
		attempt->has_id = 1;
		return 0;
	}
	qo_shm_attempt_fail(attempt, -EBADMSG, "it has another identity");
	return -EBADMSG;
}

static void hello_came(struct qo_shm_endpoint *endpoint,
		       struct qo_shm_attempt *attempt,
		       const struct qoi_layout_hello *hello,
		       struct qoi_packet *packet)
{
	int gets;

	if (check_identity(endpoint, attempt, hello) != 0) {
		qoi_packet_close(packet);
		return;
	}
	if (take_fds(attempt, hello, packet) != 0)
		return;
	attempt->flags = QO_CONN_MAP;
	gets = endpoint->get_switch != QOI_CONFIG_SWITCH_OFF &&
	       (hello->flags & QOI_HELLO_MAY_GET) != 0 &&
	       can_get(attempt->pid, hello);
	if (gets)
		attempt->flags |= QO_CONN_GET;
	if (attempt->role == QO_SHM_ACCEPT &&
	    qo_shm_handshake_hello(endpoint, attempt, 1) != 0)
		return;
	if (!gets && endpoint->get_switch == QOI_CONFIG_SWITCH_ON) {
		send_result(attempt, -EPERM);
		qo_shm_attempt_fail(attempt, -EPERM,
				    "QO_SHM_GET is on, but "
				    "the memory of process %d can't be read "
				    "(see kernel.yama.ptrace_scope)",
				    (int)attempt->pid);
		return;
	}
	/* If it has hung up already, then its result may say why. */
	send_result(attempt, 0);
	attempt->state = QO_SHM_WAIT_RESULT;
}

static void result_came(struct qo_shm_endpoint *endpoint,
			struct qo_shm_attempt *attempt,
			const struct qo_shm_result *result)
{
	int rc;

	if (result->error == EPERM || result->error == EPROTONOSUPPORT) {
		qo_shm_attempt_fail(attempt, -(int)result->error,
				    "process %d refuses: %s", (int)attempt->pid,
				    qo_error_string(-(int)result->error));
		return;
	}
	if (result->error != 0) {
		qo_shm_attempt_fail(attempt, -ECONNRESET, "process %d refuses",
				    (int)attempt->pid);
		return;
	}
	if ((result->flags & QO_SHM_RESULT_GETS) != 0)
		attempt->flags |= QO_CONN_GET_BY_PEER;
	epoll_ctl(endpoint->setup_epoll, EPOLL_CTL_DEL, attempt->fd, NULL);
	rc = qo_shm_conn_create(endpoint, attempt);
	if (rc != 0)
		qo_shm_attempt_fail(attempt, rc, "%s", qo_error_detail());
	else
		attempt->state = QO_SHM_DONE;
}

/* What may come first: in answer to a hello also a refusal. */
static void first_came(struct qo_shm_endpoint *endpoint,
		       struct qo_shm_attempt *attempt,
		       struct qoi_packet *packet, size_t bytes)
{
	const struct qoi_layout_hello *hello = packet->parts[0].iov_base;
	struct qo_shm_result result;

	if (attempt->role == QO_SHM_ACCEPT &&
	    hello->magic == QO_SHM_MAGIC_KNOCK &&
	    bytes == sizeof(struct qo_shm_knock)) {
		qoi_packet_close(packet);
		attempt->state = QO_SHM_HOLD;
		return;
	}
	if (attempt->role == QO_SHM_CONNECT &&
	    hello->magic == QO_SHM_MAGIC_RESULT && bytes == sizeof(result)) {
		memcpy(&result, hello, sizeof(result));
		qoi_packet_close(packet);
		/* Agreement can't come before its hello. */
		if (result.error == 0)
			result.error = EBADMSG;
		result_came(endpoint, attempt, &result);
		return;
	}
	if (check_layout(endpoint, attempt, hello, bytes) != 0)
		qoi_packet_close(packet);
	else
		hello_came(endpoint, attempt, hello, packet);
}

int qo_shm_handshake_advance(struct qo_shm_endpoint *endpoint,
			     struct qo_shm_attempt *attempt)
{
	struct qoi_layout_hello message; /* the largest of this version */
	uint8_t rest[REST_BYTES];
	struct qo_shm_result result;
	struct qoi_packet packet;
	size_t bytes;
	int rc;

	if (attempt->state == QO_SHM_DONE || attempt->state == QO_SHM_DIAL)
		return 0;
	memset(&message, 0, sizeof(message));
	qoi_packet_init(&packet, &message, sizeof(message));
	packet.parts[1].iov_base = rest;
	packet.parts[1].iov_len = sizeof(rest);
	rc = qoi_packet_recv(attempt->fd, &packet, &bytes);
	if (rc == -EAGAIN)
		return 0;
	if (rc == -ECONNRESET) {
		qo_shm_attempt_fail(attempt, rc, "the peer has hung up");
		return 0;
	}
	if (rc == 0 && attempt->state == QO_SHM_WAIT_HELLO) {
		first_came(endpoint, attempt, &packet, bytes);
		return 1;
	}
	if (rc == 0)
		qoi_packet_close(&packet);
	memcpy(&result, &message, sizeof(result));
	if (rc == 0 && attempt->state == QO_SHM_WAIT_RESULT &&
	    result.magic == QO_SHM_MAGIC_RESULT && bytes == sizeof(result)) {
		result_came(endpoint, attempt, &result);
		return 1;
	}
	qo_shm_attempt_fail(attempt, -EBADMSG, "its bytes are not ours");
	return 0;
}
