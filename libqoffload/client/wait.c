/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting: the caller's core works for the request, then spins, then yields,
 * then sleeps on the bell.
 */
#include <errno.h>
#include <sched.h>

#include "libqoffload/agent/agent.h"
#include "libqoffload/base/clock.h"
#include "libqoffload/base/error.h"
#include "libqoffload/client/handle.h"
#include "libqoffload/client/patience.h"
#include "libqoffload/client/reader.h"

/* What is waited for: one of `count` requests. */
struct waiting {
	const qo_request_t *handles;
	size_t count;
	size_t index; /* which one ended */
	uint64_t word; /* its completion */
	struct qoi_agent *agent; /* of all of them */
};

static uint64_t look(struct qoi_request *request, uint32_t generation)
{
	uint64_t word = qoi_observe64(&request->completion);

	if (qoi_completion_pending(word) && !qoi_reader_awaits(request)) {
		qoi_reader_move(request, generation);
		word = qoi_observe64(&request->completion);
	}
	return word;
}

/*
 * Looks at each request; moves on what can be.  Returns 1 one has ended, 0
 * none, -EBADF one is stale, -ENOENT all are null.
 */
static int look_all(struct waiting *waiting)
{
	size_t nulls = 0;

	for (size_t i = 0; i < waiting->count; i++) {
		uint32_t generation = (uint32_t)(waiting->handles[i].id >> 32);
		struct qoi_request *request;
		uint64_t word;

		if (waiting->handles[i].id == QO_REQUEST_NULL_ID) {
			nulls++;
			continue;
		}
		request = qoi_request_find(waiting->handles[i]);
		if (request == NULL)
			return -EBADF;
		waiting->agent = request->agent;
		word = look(request, generation);
		if (word >> 32 != generation)
			return -EBADF;
		if (qoi_completion_pending(word))
			continue;
		waiting->index = i;
		waiting->word = word;
		return 1;
	}
	return nulls == waiting->count ? -ENOENT : 0;
}

static int look_ready(void *arg)
{
	return look_all(arg) != 0;
}

/* Lends, or takes back, this core's work for the requests. */
static void lend(const struct waiting *waiting, int on)
{
	for (size_t i = 0; i < waiting->count; i++) {
		struct qoi_request *request =
			qoi_request_find(waiting->handles[i]);
		struct qoi_work *work;

		if (request == NULL || request->work == NULL)
			continue;
		work = request->work;
		if (!work->readable)
			continue;
		if (on)
			qoi_add32(&work->lenders, 1);
		else
			qoi_sub32(&work->lenders, 1);
	}
}

/*
 * While an agent has the request, the waiter moves it on in its place: with
 * read(), which for a work that was handed over is all there is to do.
 */
static void lent_move(const struct waiting *waiting)
{
	for (size_t i = 0; i < waiting->count; i++) {
		struct qoi_request *request =
			qoi_request_find(waiting->handles[i]);
		uint64_t watch;

		if (request == NULL || !qoi_request_pending(request))
			continue;
		watch = qoi_own64((const uint64_t *)&request->watch);
		if (watch == 0)
			qoi_reader_move(request, (uint32_t)(
					waiting->handles[i].id >> 32));
	}
}

/* Sleeps until the bell rings, unless it has ended meanwhile. */
static int sleep_on_bell(struct waiting *waiting, int64_t deadline_ns)
{
	struct qoi_bell *bell = waiting->agent->bell;
	uint32_t sequence = qoi_bell_announce(bell);
	int found;

	lent_move(waiting);
	found = look_all(waiting);
	if (found != 0) {
		qoi_bell_cancel(bell);
		return found;
	}
	if (qoi_bell_sleep(bell, sequence, deadline_ns) == -ETIMEDOUT)
		return -ETIMEDOUT;
	return 0;
}

/* As the agent: nobody else runs the cycle while this thread sleeps. */
static int sleep_inline(struct waiting *waiting, int64_t deadline_ns)
{
	struct qoi_agent *agent = waiting->agent;

	if (pthread_mutex_trylock(&agent->cycle_lock) != 0)
		return sleep_on_bell(waiting, deadline_ns);
	qoi_agent_block(agent, deadline_ns, look_ready, waiting);
	pthread_mutex_unlock(&agent->cycle_lock);
	/* Another waiter may have to take over. */
	qoi_agent_wake_waiters(agent);
	return 0;
}

static int wait_slowly(struct waiting *waiting, int64_t deadline_ns)
{
	struct qoi_agent *agent = waiting->agent;
	struct qoi_patience patience;
	int inlined = !agent->threaded;
	int found = 0;

	qoi_patience_init(&patience, agent->config, agent->crowded);
	while (found == 0) {
		lent_move(waiting);
		if (inlined)
			qoi_agent_try_cycle(agent);
		found = look_all(waiting);
		if (found != 0)
			break;
		switch (qoi_patience_step(&patience, deadline_ns)) {
		case QOI_PATIENCE_OVER:
			return -ETIMEDOUT;
		case QOI_PATIENCE_SLEEP:
			found = inlined ? sleep_inline(waiting, deadline_ns) :
					  sleep_on_bell(waiting, deadline_ns);
			qoi_patience_reset(&patience);
			break;
		default:
			break;
		}
	}
	return found;
}

/* Returns 1, -ETIMEDOUT, -EBADF or -ENOENT. */
static int wait_for(struct waiting *waiting, int64_t deadline_ns)
{
	int found = look_all(waiting);

	if (found != 0)
		return found;
	lend(waiting, 1);
	found = wait_slowly(waiting, deadline_ns);
	lend(waiting, 0);
	/* What is still pending goes back to the agent, which may sleep. */
	if (found != 1 || waiting->count > 1)
		qoi_agent_wake(waiting->agent);
	return found;
}

int qo_wait(qo_request_t request, int64_t deadline_ns,
	    struct qo_status *status_out)
{
	struct waiting waiting = { .handles = &request, .count = 1 };
	int found = wait_for(&waiting, deadline_ns);

	if (found == 1) {
		qoi_completion_unpack(waiting.word, status_out);
		return 0;
	}
	if (found == -ETIMEDOUT)
		return found;
	return qoi_fail(-EBADF, "qo_wait: stale or unknown request");
}

int qo_wait_any(const qo_request_t *requests, size_t count, int64_t deadline_ns,
		size_t *index_out, struct qo_status *status_out)
{
	struct waiting waiting = { .handles = requests, .count = count };
	int found = wait_for(&waiting, deadline_ns);

	if (found == 1) {
		*index_out = waiting.index;
		qoi_completion_unpack(waiting.word, status_out);
		return 0;
	}
	if (found == -EBADF)
		return qoi_fail(found, "qo_wait_any: a request is stale or "
				"unknown");
	return found;
}
