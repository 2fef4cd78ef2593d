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
	uint32_t moved;		 /* QOI_READER_*: what the looks did */
	size_t index;		 /* which one ended */
	uint64_t word;		 /* its completion */
	struct qoi_agent *agent; /* of all of them */
};

/* How closely to look. */
enum closeness {
	LOOK_WATCH, /* where the hints say that something happened */
	LOOK_LENT,  /* and at what an agent has, which it leaves to us */
	LOOK_LAST   /* everywhere: hints may be torn, and then we sleep */
};

/*
 * The completion word, after moving the request on if there is something to
 * do.
 */
static uint64_t look(struct waiting *waiting, struct qoi_request *request,
		     uint32_t generation, enum closeness closeness)
{
	uint64_t word = qoi_completion_observe(&request->completion);
	int ours =
		closeness == LOOK_LAST ||
		(closeness == LOOK_LENT && qoi_own32(&request->arrivals) == 0);

	if (!qoi_completion_pending(word))
		return word;
	if (closeness != LOOK_WATCH && request->work != NULL &&
	    request->work->yielding &&
	    request->work->ops->lend(request->work, request))
		waiting->moved |= QOI_READER_MOVED;
	if (!ours && qoi_request_awaits(request)) {
		/* The payload may end in the line behind the watched one. */
		__builtin_prefetch(qoi_request_watched(request) + 8);
		return word;
	}
	waiting->moved |= qoi_reader_move(request, generation);
	return qoi_completion_observe(&request->completion);
}

/*
 * Looks at each request; moves on what can be.  Returns 1 one has ended, 0
 * none, -EBADF one is stale, -ENOENT all are null, -EINVAL several contexts.
 */
static int look_all(struct waiting *waiting, enum closeness closeness)
{
	size_t nulls = 0;

	for (size_t i = 0; i < waiting->count; i++) {
		qo_request_t handle = waiting->handles[i];
		struct qoi_request *request = qoi_request_find(handle);
		uint64_t word;

		if (handle.id == QO_REQUEST_NULL_ID) {
			nulls++;
			continue;
		}
		word = look(waiting, request, (uint32_t)(handle.id >> 32),
			    closeness);
		/* Nobody's slot, which an invented handle fits, has no work. */
		if (!qoi_completion_fits(word, handle) || request->work == NULL)
			return -EBADF;
		if (waiting->agent != NULL && waiting->agent != request->agent)
			return -EINVAL;
		waiting->agent = request->agent;
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
	struct waiting *waiting = arg;

	waiting->moved = 0;
	return look_all(waiting, LOOK_LAST) != 0 || waiting->moved != 0;
}

/*
 * Lends this core's work to the requests, or takes it back.  Returns 1 when
 * another waiter is there too.
 */
static int lend(const struct waiting *waiting, int on)
{
	uint32_t others = 0;

	for (size_t i = 0; i < waiting->count; i++) {
		const struct qoi_request *request =
			qoi_request_find(waiting->handles[i]);
		struct qoi_work *work = request->work;

		if (waiting->handles[i].id == QO_REQUEST_NULL_ID ||
		    work == NULL || !work->lendable)
			continue;
		if (on)
			others |= qoi_add32(&work->lenders, 1) - 1;
		else
			others |= qoi_sub32(&work->lenders, 1);
	}
	return others != 0;
}

/*
 * Sleeps until the bell rings since it was announced, unless it has ended or
 * moved meanwhile.
 */
static int sleep_announced(struct waiting *waiting, uint32_t sequence,
			   int64_t deadline_ns)
{
	struct qoi_bell *bell = waiting->agent->bell;
	int found;

	waiting->moved = 0;
	found = look_all(waiting, LOOK_LAST);
	/*
	 * What moved may go on: nobody rings for a budget that was used up.
	 * And who holds the lock may have looked before the last arrival.
	 */
	if (found != 0 || waiting->moved != 0) {
		qoi_bell_cancel(bell);
		return found;
	}
	if (qoi_bell_sleep(bell, sequence, deadline_ns) == -ETIMEDOUT)
		return -ETIMEDOUT;
	return 0;
}

static int sleep_on_bell(struct waiting *waiting, int64_t deadline_ns)
{
	uint32_t sequence = qoi_bell_announce(waiting->agent->bell);

	return sleep_announced(waiting, sequence, deadline_ns);
}

/*
 * As the agent: nobody else runs the cycle while this thread sleeps.  When
 * another does now, it rings after it, so announce before looking at the lock.
 */
static int sleep_inline(struct waiting *waiting, int64_t deadline_ns)
{
	struct qoi_agent *agent = waiting->agent;
	uint32_t sequence = qoi_bell_announce(agent->bell);

	if (pthread_mutex_trylock(&agent->cycle_lock) != 0)
		return sleep_announced(waiting, sequence, deadline_ns);
	qoi_bell_cancel(agent->bell);
	qoi_agent_block(agent, deadline_ns, look_ready, waiting);
	pthread_mutex_unlock(&agent->cycle_lock);
	/* Another waiter may have to take over. */
	qoi_agent_wake_waiters(agent);
	return 0;
}

/* Whether others want this core: ranks, or the daemon that does the work. */
static int is_crowded(const struct waiting *waiting)
{
	if (qoi_own32(&waiting->agent->crowded) != 0)
		return 1;
	if (qoi_own32(&waiting->agent->far_crowded) == 0)
		return 0;
	for (size_t i = 0; i < waiting->count; i++) {
		const struct qoi_request *request =
			qoi_request_find(waiting->handles[i]);

		if (waiting->handles[i].id != QO_REQUEST_NULL_ID &&
		    request->work != NULL && request->work->yielding)
			return 1;
	}
	return 0;
}

static int wait_slowly(struct waiting *waiting, int64_t deadline_ns)
{
	struct qoi_agent *agent = waiting->agent;
	struct qoi_patience patience;
	int inlined = !agent->threaded;
	int found = 0;

	qoi_patience_init(&patience, agent->config, is_crowded(waiting));
	while (found == 0) {
		waiting->moved = 0;
		if (inlined)
			qoi_agent_try_cycle(agent);
		found = look_all(waiting, LOOK_LENT);
		if (found != 0)
			break;
		if ((waiting->moved & QOI_READER_MOVED) != 0)
			qoi_patience_reset(&patience);
		switch (qoi_patience_step(&patience, deadline_ns)) {
		case QOI_PATIENCE_OVER:
			found = -ETIMEDOUT;
			break;
		case QOI_PATIENCE_SLEEP:
			found = inlined ? sleep_inline(waiting, deadline_ns)
					: sleep_on_bell(waiting, deadline_ns);
			qoi_patience_reset(&patience);
			break;
		default:
			break;
		}
	}
	/* It may have ended while this thread was off its core. */
	if (found == -ETIMEDOUT && look_all(waiting, LOOK_LENT) == 1)
		found = 1;
	return found;
}

/*
 * Whether an agent left something to us that is still pending: it may sleep
 * over it.
 */
static int must_hand_back(const struct waiting *waiting)
{
	for (size_t i = 0; i < waiting->count; i++) {
		const struct qoi_request *request =
			qoi_request_find(waiting->handles[i]);

		if (waiting->handles[i].id != QO_REQUEST_NULL_ID &&
		    qoi_request_pending(request) &&
		    qoi_own32(&request->arrivals) == 0)
			return 1;
	}
	return 0;
}

/* With a deadline that has passed: looks once, and lends nothing. */
static int look_once(struct waiting *waiting)
{
	int found;

	if (!waiting->agent->threaded)
		qoi_agent_try_cycle(waiting->agent);
	found = look_all(waiting, LOOK_WATCH);
	return found == 0 ? -ETIMEDOUT : found;
}

static int wait_lending(struct waiting *waiting, int64_t deadline_ns)
{
	int found;

	lend(waiting, 1);
	found = wait_slowly(waiting, deadline_ns);
	/* We ended it: nobody told those who wait for it too. */
	if (lend(waiting, 0) || (waiting->moved & QOI_READER_ENDED) != 0)
		qoi_agent_tell_waiters(waiting->agent);
	if (must_hand_back(waiting))
		qoi_agent_wake(waiting->agent);
	return found;
}

/* Returns 1, -ETIMEDOUT, -EBADF, -ENOENT or -EINVAL. */
static int wait_for(struct waiting *waiting, int64_t deadline_ns)
{
	int found = look_all(waiting, LOOK_WATCH);

	if (found == 0 && deadline_ns != QO_NO_DEADLINE &&
	    qoi_clock_ns() >= deadline_ns)
		found = look_once(waiting);
	if (found == 0)
		return wait_lending(waiting, deadline_ns);
	if ((waiting->moved & QOI_READER_ENDED) != 0)
		qoi_agent_tell_waiters(waiting->agent);
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
	return qoi_answer(-EBADF, "qo_wait: stale or unknown request");
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
	if (found == -EINVAL)
		return qoi_fail(found, "qo_wait_any: requests of several "
				       "contexts: wait for each context's");
	return found;
}
