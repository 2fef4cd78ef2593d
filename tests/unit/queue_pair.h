/* SPDX-License-Identifier: BSD-3-Clause */
/* Both ends of a queue in one process, for tests. */
#ifndef QO_TEST_QUEUE_PAIR_H
#define QO_TEST_QUEUE_PAIR_H

#include <stdlib.h>

#include "libqoffload/shm/queue.h"

struct pair {
	struct qoi_queue_shape shape;
	struct qoi_producer producer;
	struct qoi_consumer consumer;
	uint8_t *slots;
	uint64_t *credit;
	void *staging[2];
};

/* 0, or what the format says; exits when there is no memory. */
static inline int pair_create(struct pair *pair, uint32_t slot_count,
			      uint32_t payload_bytes, uint32_t encoding,
			      uint64_t start, uint32_t batch)
{
	struct qoi_queue_shape shape = { slot_count, payload_bytes, encoding };
	uint64_t staging;
	int error = qoi_queue_shape_check(&shape);

	memset(pair, 0, sizeof(*pair));
	if (error != 0)
		return error;
	pair->shape = shape;
	pair->slots = aligned_alloc(128, qoi_queue_bytes(&shape));
	pair->credit = aligned_alloc(128, QOI_CREDIT_BYTES);
	staging = qoi_queue_staging_bytes(&shape);
	if (staging != 0) {
		pair->staging[0] = malloc(staging);
		pair->staging[1] = malloc(staging);
	}
	if (pair->slots == NULL || pair->credit == NULL)
		abort();
	memset(pair->slots, 0xa5, qoi_queue_bytes(&shape));
	error = qoi_queue_format(&shape, pair->slots, start);
	qoi_credit_format(pair->credit, start);
	qoi_producer_init(&pair->producer, &shape, pair->slots, pair->credit,
			  start);
	qoi_consumer_init(&pair->consumer, &shape, pair->slots, pair->credit,
			  start, batch);
	qoi_producer_set_staging(&pair->producer, pair->staging[0]);
	qoi_consumer_set_staging(&pair->consumer, pair->staging[1]);
	return error;
}

static inline void pair_destroy(struct pair *pair)
{
	free(pair->slots);
	free(pair->credit);
	free(pair->staging[0]);
	free(pair->staging[1]);
}

#endif
