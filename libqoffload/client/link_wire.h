/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of a link with a deadline: for its set-up and its questions. */
#ifndef QOI_LINK_WIRE_H
#define QOI_LINK_WIRE_H

#include <stdint.h>

#include "libqoffload/attach/message.h"

/* Return as qoi_attach_send() and _recv(), and -ETIMEDOUT for -EAGAIN. */
int qoi_wire_send(int fd, struct qoi_attach_message *message,
		  int64_t deadline_ns);
int qoi_wire_recv(int fd, struct qoi_attach_message *message,
		  int64_t deadline_ns);

#endif
