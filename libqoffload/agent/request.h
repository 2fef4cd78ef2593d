/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Request slots: what a test reads.  A table of them per context, reached
 * through the handle alone: context (8 bits), slot (24 bits), generation (32).
 */
#ifndef QOI_REQUEST_H
#define QOI_REQUEST_H

#include <string.h>

#include <qoffload/types.h>

#include "libqoffload/agent/work.h"
#include "libqoffload/shm/completion.h"

#define QOI_CONTEXT_COUNT_MAX 255
#define QOI_REQUEST_SLOTS_MAX (1u << 24)

/* The low half of a completion word: see completion_word in the contract. */
#define QOI_WORD_PENDING UINT32_C(0xffff0000)
#define QOI_WORD_DONE UINT32_C(0xffff0001)
#define QOI_WORD_LATE UINT32_C(0x80)

/*
 * One slot.  The first line is what qo_test() touches.  `completion` has one
 * writer at a time: the poster, then whoever holds the work's lock.
 */
struct qoi_request {
	uint64_t completion; /* P4 -> O4: results before it */
	/*
	 * A test has nothing to do before *watch is watch_value: the word
	 * where the next arrival lands; or one that never is, when an agent
	 * must move it on; or always, under an inline agent.  Both are hints:
	 * a torn pair costs one vain look or one more test.
	 */
	const uint64_t *watch;
	uint64_t watch_value;
	struct qoi_work *work; /* what carries it out; owner: op or mesh */
	struct qoi_agent *agent;
	int64_t deadline_ns;
	uint32_t inlined;  /* 1: its context's agent is inline */
	uint32_t arrivals; /* 1: nothing but arrivals remains; readers move it */
	uint32_t used;	   /* 1: taken by an op or mesh; table lock */
	uint32_t index;	   /* of this slot */
	uint8_t pad[64];
};
_Static_assert(sizeof(struct qoi_request) == 128, "one request, two lines");
_Static_assert(sizeof(struct qo_status) == 16, "a status is two words");

struct qoi_request_table {
	struct qoi_request *slots; /* owner: the table */
	uint64_t mask;		   /* slots - 1; there is a power of two */
};

/* By context.  One that is not there has one slot, which fits no handle. */
extern struct qoi_request_table qoi_request_tables[QOI_CONTEXT_COUNT_MAX + 1];
/* How many of a table's slots may be taken. */
extern uint64_t qoi_request_limits[QOI_CONTEXT_COUNT_MAX + 1];
/* A word for `watch` that is 0 for ever. */
extern const uint64_t qoi_request_zero;

/* Returns 0 and the context's number (1 ..), -EAGAIN, -ENOMEM. */
int qoi_request_table_open(uint64_t count, struct qoi_agent *agent, int inlined,
			   uint32_t *number_out);
void qoi_request_table_close(uint32_t number);

/* Takes and gives back a slot; caller serialises per context. -EAGAIN. */
int qoi_request_take(uint32_t number, struct qoi_work *work,
		     struct qoi_request **request_out);
void qoi_request_give(struct qoi_request *request);
uint64_t qoi_request_used(uint32_t number);

static inline uint32_t qoi_request_generation(const struct qoi_request *request)
{
	return (uint32_t)(qoi_own64(&request->completion) >> 32);
}

static inline int qoi_completion_pending(uint64_t word)
{
	return (word & 0x7f) == QO_PENDING;
}

static inline int qoi_request_pending(const struct qoi_request *request)
{
	return qoi_completion_pending(
		qoi_completion_observe(&request->completion));
}

/* Makes the slot pending with the next generation. */
void qoi_request_start(struct qoi_request *request, int64_t deadline_ns);

/* Ends it.  error: 0 or negative errno; rank: to blame, or QO_RANK_NONE. */
void qoi_request_finish(struct qoi_request *request, int error, int32_t rank);

/* The slot is nobody's request any more: its handle is stale. */
void qoi_request_retire(struct qoi_request *request);

static inline void qoi_request_watch(struct qoi_request *request,
				     const uint64_t *watch, uint64_t value)
{
	qoi_set_own64(&request->watch_value, value);
	qoi_set_own64((uint64_t *)&request->watch, (uint64_t)(uintptr_t)watch);
}

/* Nothing to watch: an agent must move it on, or, inline, whoever looks. */
static inline void qoi_request_unwatch(struct qoi_request *request)
{
	qoi_set_own32(&request->arrivals, 0);
	qoi_request_watch(request, &qoi_request_zero, !request->inlined);
}

/* Nothing but arrivals remains, and the next one lands at `watch`. */
static inline void qoi_request_await(struct qoi_request *request,
				     const uint64_t *watch, uint64_t value)
{
	qoi_set_own32(&request->arrivals, 1);
	if (!request->inlined)
		qoi_request_watch(request, watch, value);
}

static inline const uint64_t *
qoi_request_watched(const struct qoi_request *request)
{
	return (const uint64_t *)(uintptr_t)qoi_own64(
		(const uint64_t *)&request->watch);
}

/* Whether a test or a wait has nothing to do yet. */
static inline int qoi_request_awaits(const struct qoi_request *request)
{
	return qoi_own64(qoi_request_watched(request)) !=
	       qoi_own64(&request->watch_value);
}

qo_request_t qoi_request_handle(const struct qoi_request *request,
				uint32_t number);

/*
 * The slot that a handle names; whether it is its own: see the generation.
 * A plain read: the table is there before its handles, and goes after them.
 */
static inline struct qoi_request *qoi_request_find(qo_request_t handle)
{
	const struct qoi_request_table *table =
		&qoi_request_tables[(uint32_t)handle.id >> 24];

	return &table->slots[(uint32_t)handle.id & table->mask];
}

/* Whether a completion word belongs to a handle. */
static inline int qoi_completion_fits(uint64_t word, qo_request_t handle)
{
	return (word ^ handle.id) >> 32 == 0;
}

/* The status in a completion word: one word, so that it can't be torn. */
static inline void qoi_completion_unpack(uint64_t word, struct qo_status *out)
{
	out->state = (int32_t)(word & 0x7f);
	out->error = -(int32_t)((word >> 8) & 0xff);
	out->rank = (int16_t)(uint16_t)(word >> 16);
	out->flags = (uint32_t)(word >> 7) & QO_STATUS_LATE;
}

#endif
