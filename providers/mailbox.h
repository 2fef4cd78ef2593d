/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Control messages that came before somebody asked for them: a bounded list,
 * looked up by tag, first in first out for each tag.  Callers lock.
 */
#ifndef QOI_MAILBOX_H
#define QOI_MAILBOX_H

#include "providers/provider.h"

#define QOI_MAILBOX_MESSAGES_MAX 256

struct qoi_message {
	struct qoi_message *next; /* owner: the mailbox */
	struct qo_control_tag tag;
	int fd;	      /* of an offered window, or -1.  Owner: the message */
	void *window; /* provider's own.  Owner: the provider */
	uint64_t window_index;
	uint64_t window_bytes; /* 0: none is offered */
	uint32_t bytes;
	uint8_t data[];
};

struct qoi_mailbox {
	struct qoi_message *first; /* owner: the mailbox */
	struct qoi_message **last;
	uint32_t count;
};

/* A message with room for `bytes` of data, or NULL. */
struct qoi_message *qoi_message_create(uint32_t bytes);
void qoi_message_destroy(struct qoi_message *message);

void qoi_mailbox_init(struct qoi_mailbox *mailbox);
/* Takes the first message out, whatever its tag; NULL when empty. */
struct qoi_message *qoi_mailbox_pop(struct qoi_mailbox *mailbox);
int qoi_mailbox_is_full(const struct qoi_mailbox *mailbox);
/* The mailbox owns the message from here.  Not when it is full. */
void qoi_mailbox_append(struct qoi_mailbox *mailbox,
			struct qoi_message *message);
/*
 * Takes the oldest message of a tag; the caller owns it.
 * Returns 0, -EAGAIN (none is here), -EMSGSIZE (larger than the capacity; it
 * stays).
 */
int qoi_mailbox_take(struct qoi_mailbox *mailbox,
		     const struct qo_control_tag *tag, size_t capacity,
		     struct qoi_message **message_out);

#endif
