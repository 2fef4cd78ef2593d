/* SPDX-License-Identifier: BSD-3-Clause */
#include "providers/mailbox.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "libqoffload/base/error.h"

struct qoi_message *qoi_message_create(uint32_t bytes)
{
	struct qoi_message *message = calloc(1, sizeof(*message) + bytes);

	if (message == NULL)
		return NULL;
	message->fd = -1;
	message->bytes = bytes;
	return message;
}

void qoi_message_destroy(struct qoi_message *message)
{
	if (message->fd >= 0)
		close(message->fd);
	free(message);
}

void qoi_mailbox_init(struct qoi_mailbox *mailbox)
{
	mailbox->first = NULL;
	mailbox->last = &mailbox->first;
	mailbox->count = 0;
}

static struct qoi_message *unlink_at(struct qoi_mailbox *mailbox,
				     struct qoi_message **link)
{
	struct qoi_message *message = *link;

	*link = message->next;
	if (mailbox->last == &message->next)
		mailbox->last = link;
	mailbox->count--;
	message->next = NULL;
	return message;
}

struct qoi_message *qoi_mailbox_pop(struct qoi_mailbox *mailbox)
{
	if (mailbox->first == NULL)
		return NULL;
	return unlink_at(mailbox, &mailbox->first);
}

int qoi_mailbox_is_full(const struct qoi_mailbox *mailbox)
{
	return mailbox->count >= QOI_MAILBOX_MESSAGES_MAX;
}

void qoi_mailbox_append(struct qoi_mailbox *mailbox, struct qoi_message *message)
{
	assert(!qoi_mailbox_is_full(mailbox));
	message->next = NULL;
	*mailbox->last = message;
	mailbox->last = &message->next;
	mailbox->count++;
}

static int tags_are_equal(const struct qo_control_tag *a,
			  const struct qo_control_tag *b)
{
	return a->team == b->team && a->sequence == b->sequence &&
	       a->kind == b->kind;
}

int qoi_mailbox_take(struct qoi_mailbox *mailbox,
		     const struct qo_control_tag *tag, size_t capacity,
		     struct qoi_message **message_out)
{
	struct qoi_message **link = &mailbox->first;

	while (*link != NULL && !tags_are_equal(&(*link)->tag, tag))
		link = &(*link)->next;
	if (*link == NULL)
		return -EAGAIN;
	if ((*link)->bytes > capacity)
		return qoi_fail(-EMSGSIZE,
				"control message of %u bytes, room for %zu",
				(*link)->bytes, capacity);
	*message_out = unlink_at(mailbox, link);
	return 0;
}
