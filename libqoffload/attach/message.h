/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between a client and the daemon: attach_header, then a body. */
#ifndef QOI_ATTACH_MESSAGE_H
#define QOI_ATTACH_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "libqoffload/shm/layout.h"
#include "libqoffload/shm/packet.h"

/* The longest is a hello: header, hello and offer; room for more is a bug. */
#define QOI_ATTACH_BODY_MAX 256
#define QOI_ATTACH_FDS_MAX QOI_PACKET_FDS_MAX

struct qoi_attach_message {
	struct qoi_layout_attach_header header;
	union {
		uint8_t bytes[QOI_ATTACH_BODY_MAX];
		struct {
			struct qoi_layout_hello hello;
			struct qoi_layout_attach_offer offer;
		} hello;
		struct {
			struct qoi_layout_hello hello;
			struct qoi_layout_attach_welcome welcome;
		} welcome;
		struct qoi_layout_attach_region region;
		struct qoi_layout_attach_op op;
		struct qoi_layout_attach_op_end op_end;
		struct qoi_layout_attach_answer answer;
		struct qoi_layout_attach_status_ask ask;
		struct qoi_layout_attach_status_total total;
		struct qoi_layout_attach_status_client client;
		struct qoi_layout_attach_status_error error;
	} body;
	int fds[QOI_ATTACH_FDS_MAX]; /* -1: none.  Of who holds the message */
	uint32_t fds_lost; /* 1: descriptors came that had no room here */
};

/* Zeroes it, no descriptors; the kind is a known one and gives the size. */
void qoi_attach_message_init(struct qoi_attach_message *message, uint16_t kind,
			     uint32_t token);
/*
 * Likewise, an answer of kind STATUS, with the size that goes with `what`,
 * QOI_STATUS_*.  What the body says may be set to 0 afterwards: no further one.
 */
void qoi_attach_status_init(struct qoi_attach_message *message, uint32_t what,
			    uint32_t token);

/*
 * Size of the body of a kind, 0 for none, UINT32_MAX for an unknown kind; of
 * STATUS, that of the question.
 */
uint32_t qoi_attach_body_bytes(uint16_t kind);

/*
 * Sends it with its descriptors, which stay the caller's.  Never blocks.
 * Returns 0, -EAGAIN, -ECONNRESET, -ENOMEM, -EIO.
 */
int qoi_attach_send(int fd, struct qoi_attach_message *message);

/*
 * Takes one message; its descriptors are the caller's then.  Never blocks.
 * STATUS answers have the size of what was asked for: the body's first word.
 * A hello of another layout may have any size, up to a limit: its check tells.
 * Returns 0, -EAGAIN, -ECONNRESET, -EBADMSG (told: magic, size or kind;
 * descriptors are closed), -EIO.
 */
int qoi_attach_recv(int fd, struct qoi_attach_message *message);

/* Closes the descriptors that nobody took (set those taken to -1). */
void qoi_attach_message_close(struct qoi_attach_message *message);

/* The fixed part of a hello of this library and process. */
void qoi_attach_hello_fill(struct qoi_layout_hello *hello);
/*
 * Checks the other side's.  Returns 0, -EPROTONOSUPPORT (both versions and
 * hashes are told), -EBADMSG.
 */
int qoi_attach_hello_check(const struct qoi_layout_hello *hello);

#endif
