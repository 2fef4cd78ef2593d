/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Puts on their way.  What must hold whatever the plan: a word never comes
 * before its payload; puts to the same word keep their order, so that it never
 * goes backwards; of two copies the second is thrown away.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libqoffload/base/error.h"
#include "providers/fault/internal.h"
#include "providers/put.h"

/* Beyond a chunk: headers that a chunk may carry. */
#define ITEM_SLACK_BYTES 4096
#define WORD_BYTES sizeof(uint64_t)

int qo_fault_queue_init(struct fault_endpoint *endpoint,
			const struct qoi_config *config)
{
	endpoint->item_bytes_max = config->shm_chunk_bytes + ITEM_SLACK_BYTES;
	endpoint->data = calloc(QO_FAULT_ITEMS_MAX, endpoint->item_bytes_max);
	if (endpoint->data == NULL)
		return qoi_fail(-ENOMEM, "fault: no memory for its queue");
	for (uint32_t i = 0; i < QO_FAULT_ITEMS_MAX; i++) {
		struct fault_item *item = &endpoint->items[i];

		item->data = endpoint->data + i * endpoint->item_bytes_max;
		item->next = endpoint->free;
		endpoint->free = item;
	}
	endpoint->free_count = QO_FAULT_ITEMS_MAX;
	return 0;
}

void qo_fault_queue_fini(struct fault_endpoint *endpoint)
{
	free(endpoint->data);
}

static void item_free(struct fault_endpoint *endpoint, struct fault_item *item)
{
	struct fault_item **link = &endpoint->queued;

	while (*link != item)
		link = &(*link)->next;
	*link = item->next;
	if (item->twin != NULL)
		item->twin->twin = NULL;
	item->next = endpoint->free;
	endpoint->free = item;
	endpoint->free_count++;
}

static struct fault_item *enqueue(struct fault_endpoint *endpoint,
				  struct fault_remote *remote,
				  const struct qo_put *put, uint64_t due)
{
	struct fault_item **link = &endpoint->queued;
	struct fault_item *item = endpoint->free;
	uint8_t *data = item->data;

	endpoint->free = item->next;
	endpoint->free_count--;
	memset(item, 0, sizeof(*item));
	item->data = data;
	item->remote = remote;
	item->put = *put;
	item->put.data = data;
	item->due = due;
	if (put->bytes > 0)
		memcpy(data, put->data, put->bytes);
	while (*link != NULL && (*link)->due <= due)
		link = &(*link)->next;
	item->next = *link;
	*link = item;
	return item;
}

/* When the last put to the same word is due, or 0. */
static uint64_t last_due(const struct fault_endpoint *endpoint,
			 const struct fault_remote *remote,
			 const struct qo_put *put)
{
	uint64_t due = 0;

	for (const struct fault_item *item = endpoint->queued; item != NULL;
	     item = item->next)
		if (item->remote == remote && !item->is_copy &&
		    item->put.word_offset == put->word_offset)
			due = item->due;
	return due;
}

/*
 * How much of the payload is written first: up to a word of it that is put
 * as a word, since every put ends with one.  0 when it is too short.
 */
static uint64_t first_piece(const struct qo_put *put)
{
	uint64_t half = put->offset + put->bytes / 2;
	uint64_t end = half / WORD_BYTES * WORD_BYTES;

	if (end < put->offset || put->bytes < 2 * WORD_BYTES ||
	    end + WORD_BYTES > put->offset + put->bytes)
		return 0;
	return end + WORD_BYTES - put->offset;
}

static int deliver_first_piece(struct fault_endpoint *endpoint,
			       struct fault_item *item)
{
	struct qo_put piece = item->put;
	int rc;

	piece.bytes = first_piece(&item->put) - WORD_BYTES;
	piece.word_offset = item->put.offset + piece.bytes;
	memcpy(&piece.word, item->data + piece.bytes, WORD_BYTES);
	rc = endpoint->ops->put(item->remote->inner, &piece);
	if (rc == 0)
		item->done_bytes = piece.bytes + WORD_BYTES;
	return rc;
}

static int deliver(struct fault_endpoint *endpoint, struct fault_item *item)
{
	struct qo_put rest = item->put;
	int rc;

	if (item->is_stale) {
		endpoint->stats.stale++;
		item_free(endpoint, item);
		return 0;
	}
	rest.offset += item->done_bytes;
	rest.data = item->data + item->done_bytes;
	rest.bytes -= item->done_bytes;
	rc = endpoint->ops->put(item->remote->inner, &rest);
	if (rc == -EAGAIN)
		return rc;
	if (item->twin != NULL)
		item->twin->is_stale = 1;
	if (rc == 0)
		endpoint->stats.delivered++;
	else
		endpoint->stats.discarded++;
	item_free(endpoint, item);
	return 0;
}

uint32_t qo_fault_queue_deliver(struct fault_endpoint *endpoint, uint32_t budget)
{
	struct fault_item *next;
	uint32_t work = 0;

	for (struct fault_item *item = endpoint->queued;
	     item != NULL && work < budget; item = next) {
		int rc = 0;

		next = item->next;
		if (item->due <= endpoint->now)
			rc = deliver(endpoint, item);
		else if (item->torn && item->done_bytes == 0 &&
			 !item->is_stale && item->tear_due <= endpoint->now)
			rc = deliver_first_piece(endpoint, item);
		else
			continue;
		/* Nobody overtakes the one that the inner provider refuses. */
		if (rc == -EAGAIN)
			break;
		work++;
	}
	return work;
}

void qo_fault_queue_flush(struct fault_endpoint *endpoint,
			  struct fault_remote *remote)
{
	struct fault_item *next;

	for (struct fault_item *item = endpoint->queued; item != NULL;
	     item = next) {
		next = item->next;
		if (item->remote != remote)
			continue;
		if (deliver(endpoint, item) == 0)
			continue;
		endpoint->stats.discarded++;
		item_free(endpoint, item);
	}
}

void qo_fault_queue_discard(struct fault_endpoint *endpoint,
			    struct fault_conn *conn)
{
	struct fault_item *next;

	for (struct fault_item *item = endpoint->queued; item != NULL;
	     item = next) {
		next = item->next;
		if (item->remote->conn != conn)
			continue;
		if (item->is_stale)
			endpoint->stats.stale++;
		else if (item->twin != NULL)
			item->twin->is_stale = 1;
		else
			endpoint->stats.discarded++;
		item_free(endpoint, item);
	}
}

/* Refused: by plan, or because there is no room for it and a copy. */
static int refuses(struct fault_endpoint *endpoint, struct fault_conn *conn,
		   const struct qo_put *put)
{
	int fits = put->bytes <= endpoint->item_bytes_max;

	if ((fits && endpoint->free_count < 2) ||
	    (!fits && endpoint->queued != NULL)) {
		endpoint->stats.full++;
		return 1;
	}
	if (!conn->has_plan) {
		qo_fault_plan_look(&endpoint->plan, conn->index,
				   conn->put_count, &conn->plan);
		conn->has_plan = 1;
	}
	if (conn->plan.refusals == 0)
		return 0;
	conn->plan.refusals--;
	conn->retry_polls = QO_FAULT_RETRY_POLLS;
	endpoint->stats.refused++;
	return 1;
}

static void accepted(struct fault_endpoint *endpoint, struct fault_conn *conn)
{
	endpoint->stats.accepted++;
	conn->put_count++;
	conn->has_plan = 0;
}

/* Sends it on its way, late, torn, twice, as planned. */
static void send(struct fault_endpoint *endpoint, struct fault_remote *remote,
		 const struct qo_put *put, uint64_t due)
{
	struct qo_fault_fate *plan = &remote->conn->plan;
	struct fault_item *item;
	struct fault_item *copy;
	uint64_t tear_due = due;
	int torn = plan->tear_polls > 0 && first_piece(put) > 0;

	if (torn)
		due += plan->tear_polls;
	item = enqueue(endpoint, remote, put, due);
	item->torn = torn;
	item->tear_due = tear_due;
	endpoint->stats.torn += torn;
	if (plan->duplicate_polls == 0)
		return;
	/* Before or after the first; never before an earlier put's word. */
	due = tear_due;
	if (plan->duplicate_polls % 2 == 0)
		due += plan->duplicate_polls;
	copy = enqueue(endpoint, remote, put, due);
	copy->is_copy = 1;
	copy->twin = item;
	item->twin = copy;
	endpoint->stats.duplicated++;
}

static int put_planned(struct fault_endpoint *endpoint,
		       struct fault_remote *remote, const struct qo_put *put)
{
	struct fault_conn *conn = remote->conn;
	struct qo_fault_fate *plan = &conn->plan;
	uint64_t last = last_due(endpoint, remote, put);
	uint64_t due = endpoint->now;
	int rc;

	if (due < conn->floor)
		due = conn->floor;
	due += plan->delay_polls;
	if (plan->delay_polls > 0) {
		conn->floor = due;
		endpoint->stats.delayed++;
	}
	if (plan->reorder_polls > 0) {
		due += plan->reorder_polls;
		endpoint->stats.reordered++;
	}
	if (due < last)
		due = last;
	if (put->bytes > endpoint->item_bytes_max ||
	    (due == endpoint->now && last == 0 && plan->tear_polls == 0 &&
	     plan->duplicate_polls == 0)) {
		rc = endpoint->ops->put(remote->inner, put);
		if (rc != 0)
			return rc;
		endpoint->stats.delivered++;
	} else {
		send(endpoint, remote, put, due);
	}
	accepted(endpoint, conn);
	return 0;
}

static int put_locked(struct fault_endpoint *endpoint,
		      struct fault_remote *remote, const struct qo_put *put)
{
	struct fault_conn *conn = remote->conn;

	if (conn->lost || conn->public.fate != 0)
		return -ECONNRESET;
	if (!qoi_put_fits(&remote->public, put))
		return -EINVAL;
	if (refuses(endpoint, conn, put))
		return -EAGAIN;
	if (conn->plan.kill) {
		qo_fault_conn_break(conn);
		return -ECONNRESET;
	}
	if (!conn->dropping && conn->plan.drop_polls > 0) {
		conn->dropping = 1;
		conn->break_at = endpoint->now + conn->plan.drop_polls;
	}
	if (!conn->dropping)
		return put_planned(endpoint, remote, put);
	endpoint->stats.dropped++;
	accepted(endpoint, conn);
	return 0;
}

int qo_fault_put(struct qo_remote *public, const struct qo_put *put)
{
	struct fault_remote *remote = (struct fault_remote *)public;
	struct fault_endpoint *endpoint =
		fault_of(remote->conn->public.endpoint);
	int rc;

	pthread_mutex_lock(&endpoint->mutex);
	rc = put_locked(endpoint, remote, put);
	qo_fault_busy_update(endpoint);
	pthread_mutex_unlock(&endpoint->mutex);
	return rc;
}
