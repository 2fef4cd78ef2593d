/* SPDX-License-Identifier: BSD-3-Clause */
#include "libqoffload/agent/request.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "libqoffload/agent/agent.h"
#include "libqoffload/base/clock.h"
#include "libqoffload/base/error.h"

const uint64_t qoi_request_zero;

/* Its generation is given to no request. */
static struct qoi_request nobody = {
	.completion = UINT64_MAX,
	.watch = &qoi_request_zero,
	.watch_value = 1,
};

#define NO_TABLE                                                               \
	{                                                                      \
		&nobody, 0                                                     \
	}
#define NO_TABLES_16                                                           \
	NO_TABLE, NO_TABLE, NO_TABLE, NO_TABLE, NO_TABLE, NO_TABLE, NO_TABLE,  \
		NO_TABLE, NO_TABLE, NO_TABLE, NO_TABLE, NO_TABLE, NO_TABLE,    \
		NO_TABLE, NO_TABLE, NO_TABLE
#define NO_TABLES_64 NO_TABLES_16, NO_TABLES_16, NO_TABLES_16, NO_TABLES_16

struct qoi_request_table qoi_request_tables[QOI_CONTEXT_COUNT_MAX + 1] = {
	NO_TABLES_64, NO_TABLES_64, NO_TABLES_64, NO_TABLES_64
};

uint64_t qoi_request_limits[QOI_CONTEXT_COUNT_MAX + 1];

/* Guards which numbers are taken; never on the data path. */
static pthread_mutex_t tables_lock = PTHREAD_MUTEX_INITIALIZER;

/* 0 and UINT32_MAX are never given out: the null handle's, and nobody's. */
static uint32_t generation_after(uint32_t generation)
{
	return generation >= UINT32_MAX - 1 ? 1 : generation + 1;
}

static void slot_init(struct qoi_request *slot, uint32_t index,
		      struct qoi_agent *agent, int inlined)
{
	slot->index = index;
	slot->agent = agent;
	slot->inlined = inlined != 0;
	slot->completion = QOI_WORD_DONE;
	qoi_request_unwatch(slot);
}

static int number_find(uint32_t *number_out)
{
	for (uint32_t i = 1; i <= QOI_CONTEXT_COUNT_MAX; i++) {
		if (qoi_request_tables[i].slots == &nobody) {
			*number_out = i;
			return 0;
		}
	}
	return qoi_fail(-EAGAIN, "%d contexts are open: qo_fini() one first",
			QOI_CONTEXT_COUNT_MAX);
}

static void table_set(uint32_t number, struct qoi_request *slots, uint64_t mask,
		      uint64_t limit)
{
	qoi_request_tables[number].slots = slots;
	qoi_request_tables[number].mask = mask;
	qoi_request_limits[number] = limit;
}

int qoi_request_table_open(uint64_t count, struct qoi_agent *agent, int inlined,
			   uint32_t *number_out)
{
	struct qoi_request *slots;
	uint64_t room = 1;
	uint32_t number;
	int error;

	while (room < count)
		room *= 2;
	slots = aligned_alloc(128, room * sizeof(*slots));
	if (slots == NULL)
		return qoi_fail(-ENOMEM,
				"no memory for %llu request slots: "
				"lower QO_REQUEST_COUNT",
				(unsigned long long)count);
	memset(slots, 0, room * sizeof(*slots));
	for (uint64_t i = 0; i < room; i++)
		slot_init(&slots[i], (uint32_t)i, agent, inlined);
	pthread_mutex_lock(&tables_lock);
	error = number_find(&number);
	if (error == 0) {
		table_set(number, slots, room - 1, count);
		*number_out = number;
	}
	pthread_mutex_unlock(&tables_lock);
	if (error != 0)
		free(slots);
	return error;
}

void qoi_request_table_close(uint32_t number)
{
	struct qoi_request *slots;

	pthread_mutex_lock(&tables_lock);
	slots = qoi_request_tables[number].slots;
	table_set(number, &nobody, 0, 0);
	pthread_mutex_unlock(&tables_lock);
	free(slots);
}

int qoi_request_take(uint32_t number, struct qoi_work *work,
		     struct qoi_request **request_out)
{
	struct qoi_request_table *table = &qoi_request_tables[number];

	for (uint64_t i = 0; i < qoi_request_limits[number]; i++) {
		struct qoi_request *slot = &table->slots[i];

		if (slot->used != 0)
			continue;
		slot->used = 1;
		slot->work = work;
		*request_out = slot;
		return 0;
	}
	return qoi_fail(-EAGAIN,
			"all %llu request slots are taken: destroy "
			"operations, or raise QO_REQUEST_COUNT",
			(unsigned long long)qoi_request_limits[number]);
}

void qoi_request_give(struct qoi_request *request)
{
	qoi_request_retire(request);
	request->work = NULL;
	request->used = 0;
}

uint64_t qoi_request_used(uint32_t number)
{
	const struct qoi_request_table *table = &qoi_request_tables[number];
	uint64_t used = 0;

	for (uint64_t i = 0; i < qoi_request_limits[number]; i++)
		used += table->slots[i].used != 0;
	return used;
}

static uint64_t word_of(uint32_t generation, uint32_t low)
{
	return (uint64_t)generation << 32 | low;
}

void qoi_request_start(struct qoi_request *request, int64_t deadline_ns)
{
	uint32_t generation = generation_after(qoi_request_generation(request));

	request->deadline_ns = deadline_ns;
	qoi_request_unwatch(request);
	qoi_completion_publish(&request->completion,
			       word_of(generation, QOI_WORD_PENDING));
}

static uint32_t failure_of(struct qoi_request *request, int error, int32_t rank)
{
	qoi_count64(&request->agent->failed_requests, 1);
	return (uint32_t)QO_FAILED | (uint32_t)(-error & 0xff) << 8 |
	       (uint32_t)(uint16_t)(int16_t)rank << 16;
}

void qoi_request_finish(struct qoi_request *request, int error, int32_t rank)
{
	uint32_t low = QOI_WORD_DONE;

	if (error != 0)
		low = failure_of(request, error, rank);
	if (request->deadline_ns != QO_NO_DEADLINE &&
	    qoi_clock_ns() > request->deadline_ns) {
		qoi_count64(&request->agent->late_requests, 1);
		low |= QOI_WORD_LATE;
	}
	qoi_completion_publish(&request->completion,
			       word_of(qoi_request_generation(request), low));
}

void qoi_request_retire(struct qoi_request *request)
{
	uint32_t generation = generation_after(qoi_request_generation(request));

	qoi_completion_publish(&request->completion,
			       word_of(generation, QOI_WORD_DONE));
}

qo_request_t qoi_request_handle(const struct qoi_request *request,
				uint32_t number)
{
	qo_request_t handle = { (uint64_t)qoi_request_generation(request) << 32 |
				(uint64_t)number << 24 | request->index };

	return handle;
}
