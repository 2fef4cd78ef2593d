/* SPDX-License-Identifier: BSD-3-Clause */
/* The link while it is in use: questions, commands, the loss of the daemon. */
#define _GNU_SOURCE
#include "libqoffload/client/link.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "libqoffload/base/clock.h"
#include "libqoffload/base/error.h"
#include "libqoffload/base/fail_point.h"
#include "libqoffload/base/log.h"
#include "libqoffload/client/link_wire.h"

/* Looks at a lane's lock before the core is given away. */
#define LANE_SPINS 64

uint32_t qoi_link_forks;

struct qoi_bell *qoi_link_bell(struct qoi_link *link)
{
	return (struct qoi_bell *)(void *)(link->segment.base +
					   link->places.bell);
}

static int fail_lost(struct qoi_link *link)
{
	qoi_publish32(&link->lost, 1);
	return qoi_fail(-ECONNABORTED, "agent lost: process %d",
			link->daemon_pid);
}

static int answer_take(struct qoi_link *link,
		       const struct qoi_attach_message *answer,
		       uint64_t *value_out)
{
	const struct qoi_layout_attach_answer *body = &answer->body.answer;

	if (answer->header.error != 0)
		return qoi_fail(qoi_error_from_errno(answer->header.error),
				"agent process %d refuses: %.*s",
				link->daemon_pid, (int)sizeof(body->text),
				(const char *)body->text);
	if (value_out != NULL)
		*value_out = body->value;
	return 0;
}

/* Waits for the answer to the last question; older ones are left aside. */
static int answer_await(struct qoi_link *link, int64_t deadline_ns,
			struct qoi_attach_message *answer)
{
	int error;

	do {
		error = qoi_wire_recv(link->fd, answer, deadline_ns);
		if (error != 0)
			return error;
		qoi_attach_message_close(answer);
	} while (answer->header.kind != QOI_ATTACH_ANSWER ||
		 answer->header.token != link->token);
	return 0;
}

/*
 * It did not answer: whatever it may still do, when it goes on, must not reach
 * this process any more, and nobody shall wait for it once more.
 */
static int give_up(struct qoi_link *link)
{
	struct qoi_layout_attach_page *page = (void *)link->segment.base;

	qoi_publish32(&page->revoked, 1);
	qoi_publish32(&link->lost, 1);
	/* The agent's thread sees that, and tells who waits for requests. */
	shutdown(link->fd, SHUT_RDWR);
	return qoi_fail(-ETIMEDOUT,
			"agent process %d does not answer in QO_AGENT_TIMEOUT, "
			"and is given up",
			link->daemon_pid);
}

static int ask(struct qoi_link *link, struct qoi_attach_message *question,
	       uint64_t *value_out)
{
	int64_t deadline =
		qoi_clock_after(qoi_clock_ns(), link->config->agent_timeout);
	struct qoi_attach_message answer;
	int error;

	if (link->fd < 0 || qoi_link_is_lost(link))
		return fail_lost(link);
	question->header.token = ++link->token;
	error = qoi_wire_send(link->fd, question, deadline);
	if (question->header.kind == QOI_ATTACH_OP_ADD)
		QOI_FAIL_POINT("op_add_sent");
	if (question->header.kind == QOI_ATTACH_BYE)
		QOI_FAIL_POINT("bye_sent");
	if (error == 0)
		error = answer_await(link, deadline, &answer);
	if (error == 0)
		return answer_take(link, &answer, value_out);
	if (error == -ECONNRESET)
		return fail_lost(link);
	if (error != -ETIMEDOUT)
		return qoi_fail(error, "agent process %d: %s", link->daemon_pid,
				qo_error_string(error));
	return give_up(link);
}

int qoi_link_call(struct qoi_link *link, struct qoi_attach_message *question,
		  uint64_t *value_out)
{
	int error;

	if (qoi_link_is_forked(link))
		return qoi_fail(-EPERM,
				"the link to the agent is that of process %d: "
				"after fork, a child needs a context of its own",
				link->owner_pid);
	pthread_mutex_lock(&link->call_lock);
	error = ask(link, question, value_out);
	pthread_mutex_unlock(&link->call_lock);
	return error;
}

/* This thread's lane: threads are counted as they come. */
static uint32_t lane_own(const struct qoi_link *link)
{
	static _Thread_local uint32_t thread_number;
	static uint32_t threads;

	if (thread_number == 0)
		thread_number = qoi_add32(&threads, 1);
	return thread_number % link->offer.lane_count;
}

static void lane_lock(struct qoi_lane *lane)
{
	uint32_t spins = 0;

	/* Who holds it gives it back after a few stores. */
	while (!qoi_try_lock32(&lane->lock)) {
		if (++spins < LANE_SPINS)
			qoi_pause();
		else
			sched_yield();
	}
}

struct qoi_lane *qoi_link_claim(struct qoi_link *link,
				struct qoi_command **command_out)
{
	uint32_t own = lane_own(link);

	for (uint32_t i = 0; i < link->offer.lane_count; i++) {
		struct qoi_lane *lane =
			&link->lanes[(own + i) % link->offer.lane_count];
		void *payload;

		lane_lock(lane);
		if (qoi_producer_claim(&lane->producer, &payload) == 0) {
			QOI_FAIL_POINT("post_claimed");
			*command_out = payload;
			return lane;
		}
		qoi_unlock32(&lane->lock);
	}
	return NULL;
}

void qoi_link_commit(struct qoi_link *link, struct qoi_lane *lane)
{
	const struct qoi_layout_attach_page *page = (void *)link->segment.base;

	qoi_producer_commit(&lane->producer, sizeof(struct qoi_command),
			    QOI_COMMAND_POST, 0);
	qoi_unlock32(&lane->lock);
	QOI_FAIL_POINT("post_published");
	/* S1: the command, then whether it sleeps */
	qoi_store_load_barrier();
	/* A full count means that it is woken already. */
	if (qoi_own32(&page->asleep) != 0)
		eventfd_write(link->wake_fd, 1);
}

int qoi_link_look(struct qoi_link *link)
{
	struct epoll_event event;

	if (link->told || epoll_wait(link->epoll, &event, 1, 0) <= 0)
		return 0;
	/* Said once; then nothing must keep the agent awake. */
	link->told = 1;
	epoll_ctl(link->epoll, EPOLL_CTL_DEL, link->fd, NULL);
	if (link->pid_fd >= 0)
		epoll_ctl(link->epoll, EPOLL_CTL_DEL, link->pid_fd, NULL);
	qoi_publish32(&link->lost, 1);
	qoi_log_warn("agent lost: process %d", link->daemon_pid);
	return 1;
}

void qoi_link_hold(struct qoi_link *link)
{
	qoi_add32(&link->refs, 1);
}

void qoi_link_put(struct qoi_link *link)
{
	if (qoi_sub32(&link->refs, 1) != 0)
		return;
	while (link->regions != NULL) {
		struct qoi_link_region *region = link->regions;

		link->regions = region->next;
		free(region);
	}
	pthread_mutex_destroy(&link->region_lock);
	pthread_mutex_destroy(&link->call_lock);
	free(link);
}

static void bye(struct qoi_link *link)
{
	struct qoi_attach_message question;
	uint64_t left = 0;

	if (qoi_link_is_forked(link) || qoi_link_is_lost(link))
		return;
	qoi_attach_message_init(&question, QOI_ATTACH_BYE, 0);
	if (qoi_link_call(link, &question, &left) == 0 && left != 0)
		qoi_log_debug("the agent still had %llu operations of ours",
			      (unsigned long long)left);
}

void qoi_link_close(struct qoi_link *link)
{
	bye(link);
	close(link->epoll);
	if (link->pid_fd >= 0)
		close(link->pid_fd);
	close(link->wake_fd);
	/* Whoever still holds it finds an agent that is lost. */
	pthread_mutex_lock(&link->call_lock);
	close(link->fd);
	link->fd = -1;
	qoi_publish32(&link->lost, 1);
	pthread_mutex_unlock(&link->call_lock);
	free(link->lanes);
	link->lanes = NULL;
	qoi_segment_detach(&link->segment);
	qoi_link_put(link);
}
