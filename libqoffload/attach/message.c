/* SPDX-License-Identifier: BSD-3-Clause */
#include <config.h>

#include "libqoffload/attach/message.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include <qoffload/context.h>

#include "libqoffload/base/error.h"
#include "libqoffload/base/node.h"

/* Of a later version's hello: it shall be told why it is refused. */
#define REST_BYTES 1024

#define LIBRARY_VERSION                                                        \
	((uint32_t)(QO_VERSION_MAJOR << 16 | QO_VERSION_MINOR << 8 |           \
		    QO_VERSION_PATCH))

#ifdef QO_DEBUG_HOOKS
#define BUILD QOI_HELLO_BUILD_HOOKS
#else
#define BUILD 0
#endif

_Static_assert(sizeof(((struct qoi_attach_message *)0)->body) ==
		       QOI_ATTACH_BODY_MAX,
	       "every body fits");

/* 0: nothing of that name. */
static uint32_t status_bytes(uint32_t what)
{
	switch (what) {
	case QOI_STATUS_TOTAL:
		return sizeof(struct qoi_layout_attach_status_total);
	case QOI_STATUS_CLIENT:
		return sizeof(struct qoi_layout_attach_status_client);
	case QOI_STATUS_ERROR:
		return sizeof(struct qoi_layout_attach_status_error);
	default:
		return 0;
	}
}

uint32_t qoi_attach_body_bytes(uint16_t kind)
{
	static const uint32_t bytes[] = {
		[QOI_ATTACH_HELLO] = sizeof(struct qoi_layout_hello) +
				     sizeof(struct qoi_layout_attach_offer),
		[QOI_ATTACH_WELCOME] = sizeof(struct qoi_layout_hello) +
				       sizeof(struct qoi_layout_attach_welcome),
		[QOI_ATTACH_REGION_ADD] =
			sizeof(struct qoi_layout_attach_region),
		[QOI_ATTACH_REGION_DROP] =
			sizeof(struct qoi_layout_attach_region),
		[QOI_ATTACH_OP_ADD] = sizeof(struct qoi_layout_attach_op),
		[QOI_ATTACH_OP_DROP] = sizeof(struct qoi_layout_attach_op_end),
		[QOI_ATTACH_BYE] = 0,
		[QOI_ATTACH_STATUS] =
			sizeof(struct qoi_layout_attach_status_ask),
		[QOI_ATTACH_ANSWER] = sizeof(struct qoi_layout_attach_answer),
	};

	if (kind == 0 || kind >= sizeof(bytes) / sizeof(bytes[0]))
		return UINT32_MAX;
	return bytes[kind];
}

void qoi_attach_message_init(struct qoi_attach_message *message, uint16_t kind,
			     uint32_t token)
{
	uint32_t body_bytes = qoi_attach_body_bytes(kind);

	assert(body_bytes <= QOI_ATTACH_BODY_MAX);
	memset(message, 0, sizeof(*message));
	message->header.magic = QOI_ATTACH_MAGIC;
	message->header.kind = kind;
	message->header.token = token;
	message->header.bytes = (uint32_t)sizeof(message->header) + body_bytes;
	for (uint32_t i = 0; i < QOI_ATTACH_FDS_MAX; i++)
		message->fds[i] = -1;
}

void qoi_attach_status_init(struct qoi_attach_message *message, uint32_t what,
			    uint32_t token)
{
	assert(status_bytes(what) != 0);
	qoi_attach_message_init(message, QOI_ATTACH_STATUS, token);
	message->header.bytes =
		(uint32_t)sizeof(message->header) + status_bytes(what);
	/* All three bodies begin with it. */
	message->body.total.what = what;
}

int qoi_attach_send(int fd, struct qoi_attach_message *message)
{
	struct qoi_packet packet;

	assert(message->header.bytes >= sizeof(message->header));
	assert(message->header.bytes <=
	       sizeof(message->header) + QOI_ATTACH_BODY_MAX);
	/* The body follows the header in memory as it does on its way. */
	qoi_packet_init(&packet, &message->header, message->header.bytes);
	for (uint32_t i = 0; i < QOI_ATTACH_FDS_MAX; i++) {
		if (message->fds[i] >= 0)
			packet.fds[packet.fd_count++] = message->fds[i];
	}
	return qoi_packet_send(fd, &packet);
}

/*
 * Whether a hello is of a version that lays it out in its own way: then its
 * size is no offence, and the check of the hello says what is wrong.
 */
static int is_foreign_hello(const struct qoi_attach_message *message,
			    size_t body_bytes)
{
	const struct qoi_layout_hello *hello = &message->body.hello.hello;

	if (message->header.kind != QOI_ATTACH_HELLO &&
	    message->header.kind != QOI_ATTACH_WELCOME)
		return 0;
	if (body_bytes < offsetof(struct qoi_layout_hello, library_version))
		return 0;
	return hello->version != QOI_LAYOUT_VERSION ||
	       hello->layout_hash != QOI_LAYOUT_HASH;
}

static int size_is_right(const struct qoi_attach_message *message,
			 size_t body_bytes)
{
	if (body_bytes == qoi_attach_body_bytes(message->header.kind))
		return 1;
	if (is_foreign_hello(message, body_bytes))
		return 1;
	if (message->header.kind != QOI_ATTACH_STATUS ||
	    body_bytes < sizeof(message->body.total.what))
		return 0;
	/* 0: there is no further one of what was asked for. */
	if (message->body.total.what == 0)
		return body_bytes == status_bytes(QOI_STATUS_CLIENT) ||
		       body_bytes == status_bytes(QOI_STATUS_ERROR);
	return body_bytes == status_bytes(message->body.total.what);
}

static int check(const struct qoi_attach_message *message, size_t bytes)
{
	size_t header_bytes = sizeof(message->header);

	if (bytes < header_bytes || message->header.magic != QOI_ATTACH_MAGIC)
		return qoi_fail(-EBADMSG,
				"attach: %zu bytes that are none of ours",
				bytes);
	if (message->header.bytes != bytes ||
	    qoi_attach_body_bytes(message->header.kind) == UINT32_MAX ||
	    !size_is_right(message, bytes - header_bytes))
		return qoi_fail(-EBADMSG,
				"attach: a message of kind %u, %zu bytes, that "
				"says %" PRIu32 " bytes",
				message->header.kind, bytes,
				message->header.bytes);
	return 0;
}

int qoi_attach_recv(int fd, struct qoi_attach_message *message)
{
	uint8_t rest[REST_BYTES];
	struct qoi_packet packet;
	size_t bytes;
	int rc;

	memset(message, 0, sizeof(*message));
	for (uint32_t i = 0; i < QOI_ATTACH_FDS_MAX; i++)
		message->fds[i] = -1;
	qoi_packet_init(&packet, &message->header,
			sizeof(message->header) + sizeof(message->body));
	packet.parts[1].iov_base = rest;
	packet.parts[1].iov_len = sizeof(rest);
	rc = qoi_packet_recv(fd, &packet, &bytes);
	if (rc != 0)
		return rc;
	rc = check(message, bytes);
	if (rc != 0) {
		qoi_packet_close(&packet);
		return rc;
	}
	for (uint32_t i = 0; i < packet.fd_count; i++)
		message->fds[i] = packet.fds[i];
	message->fds_lost = packet.fds_lost;
	return 0;
}

void qoi_attach_message_close(struct qoi_attach_message *message)
{
	for (uint32_t i = 0; i < QOI_ATTACH_FDS_MAX; i++) {
		if (message->fds[i] >= 0)
			qoi_packet_close_fd(message->fds[i]);
		message->fds[i] = -1;
	}
}

void qoi_attach_hello_fill(struct qoi_layout_hello *hello)
{
	memset(hello, 0, sizeof(*hello));
	hello->magic = QOI_HELLO_MAGIC;
	hello->version = QOI_LAYOUT_VERSION;
	hello->bytes = sizeof(*hello);
	hello->layout_hash = QOI_LAYOUT_HASH;
	hello->library_version = LIBRARY_VERSION;
	hello->build = BUILD;
	hello->pid = (uint32_t)getpid();
	hello->uid = (uint32_t)geteuid();
	/* Without a boot id it stays zero; nothing here depends on it. */
	(void)qoi_node_id(hello->node_id);
}

int qoi_attach_hello_check(const struct qoi_layout_hello *hello)
{
	if (hello->magic != QOI_HELLO_MAGIC)
		return qoi_fail(-EBADMSG, "attach: that is no hello of ours");
	if (hello->version != QOI_LAYOUT_VERSION ||
	    hello->layout_hash != QOI_LAYOUT_HASH)
		return qoi_fail(-EPROTONOSUPPORT,
				"attach: layouts differ: the other side has "
				"version %" PRIu32 ", hash %016" PRIx64
				", this library version %d, hash %016" PRIx64
				"; use one build for both",
				hello->version, hello->layout_hash,
				QOI_LAYOUT_VERSION, QOI_LAYOUT_HASH);
	if (hello->bytes != sizeof(*hello))
		return qoi_fail(-EBADMSG,
				"attach: a hello of %" PRIu32 " bytes, not %zu",
				hello->bytes, sizeof(*hello));
	return 0;
}
