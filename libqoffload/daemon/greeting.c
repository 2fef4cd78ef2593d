/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* eventfd under -std=c11 */
/* How a connection becomes a client: its hello, its segment, the welcome. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "libqoffload/base/clock.h"
#include "libqoffload/base/error.h"
#include "libqoffload/base/fail_point.h"
#include "libqoffload/base/log.h"
#include "libqoffload/daemon/half.h"
#include "libqoffload/daemon/session.h"

#define COOKIE_BYTES sizeof(((struct qoi_layout_hello *)0)->probe_cookie)
/* Credits of a lane go back when so many of its slots were read. */
#define LANE_CREDITS 4

/* Returns 0 or -EAGAIN: not now. */
static int check_room(const struct qoi_session *session)
{
	const struct qoi_daemon *daemon = session->daemon;
	uint32_t jobs_max = daemon->params.jobs_max;

	if (daemon->stop_ns != 0)
		return qoi_answer(-EAGAIN, "the daemon is about to end");
	if (daemon->client_count == QOI_SESSIONS_MAX)
		return qoi_answer(-EAGAIN,
				  "the daemon has %d clients, as many as it "
				  "takes",
				  QOI_SESSIONS_MAX);
	if (jobs_max == 0 || daemon->job_count < jobs_max ||
	    qoi_session_has_job_mate(session))
		return 0;
	return qoi_answer(-EAGAIN,
			  "the daemon serves %" PRIu32
			  " jobs, as many as it may (--jobs)",
			  jobs_max);
}

/* For the status: printable, and ending with a zero. */
static void job_set(struct qoi_session *session,
		    const struct qoi_layout_attach_offer *offer)
{
	_Static_assert(sizeof(session->job) == sizeof(offer->job) + 1,
		       "a name of full length has room for its zero");
	memset(session->job, 0, sizeof(session->job));
	for (size_t i = 0; i < sizeof(offer->job) && offer->job[i] != 0; i++)
		session->job[i] = offer->job[i] < ' ' || offer->job[i] > '~'
					  ? '?'
					  : (char)offer->job[i];
}

static int segment_map(struct qoi_session *session, uint64_t window_bytes,
		       int *fd)
{
	uint64_t bytes = session->places.bytes;
	int error;

	if (*fd < 0 || window_bytes != bytes)
		return qoi_fail(-EBADMSG,
				"a segment of %" PRIu64
				" bytes was offered, %" PRIu64 " are needed",
				*fd < 0 ? 0 : window_bytes, bytes);
	error = qoi_region_check(*fd, bytes);
	if (error == 0)
		error = qoi_segment_attach(*fd, bytes, &session->segment);
	if (error != 0)
		return error;
	*fd = -1;
	qoi_segment_close_fd(&session->segment);
	return 0;
}

static int bell_map(struct qoi_session *session, int *fd)
{
	const struct qoi_layout_attach_offer *offer = &session->offer;
	int error;

	_Static_assert(sizeof(struct qoi_bell) == sizeof(struct qoi_layout_bell),
		       "the places were checked for this bell");
	if (offer->bell_bytes == 0) {
		session->bell =
			(void *)(session->segment.base + session->places.bell);
		return 0;
	}
	if (*fd < 0)
		return qoi_fail(-EBADMSG, "a bell was offered without its page");
	error = qoi_region_check(*fd, offer->bell_bytes);
	if (error == 0)
		error = qoi_segment_attach(*fd, offer->bell_bytes,
					   &session->bell_page);
	if (error != 0)
		return error;
	*fd = -1;
	qoi_segment_close_fd(&session->bell_page);
	session->bell = (void *)(session->bell_page.base + offer->bell_offset);
	return 0;
}

static void lanes_init(struct qoi_session *session)
{
	const struct qoi_attach_places *places = &session->places;
	uint8_t *base = session->segment.base;
	uint32_t batch = places->lane_shape.slot_count / LANE_CREDITS;

	for (uint32_t i = 0; i < session->offer.lane_count; i++)
		qoi_consumer_init(&session->lanes[i], &places->lane_shape,
				  qoi_attach_lane_slots(places, base, i),
				  qoi_attach_lane_credit(places, base, i), 0,
				  batch);
}

static int wake_open(struct qoi_session *session)
{
	/* Each write is an edge, so that nobody needs to read it empty. */
	struct epoll_event event = {
		.events = EPOLLIN | EPOLLET,
		.data.u64 = (uintptr_t)session | QOI_EVENT_WAKE,
	};

	session->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (session->wake_fd < 0)
		return qoi_fail(-ENOMEM, "the daemon's eventfd: %m; raise its "
					 "ulimit -n");
	if (epoll_ctl(session->daemon->epoll, EPOLL_CTL_ADD, session->wake_fd,
		      &event) == 0)
		return 0;
	return qoi_fail(-ENOMEM, "the daemon watches too much: %m "
				 "(fs.epoll.max_user_watches)");
}

/*
 * Tries the real pair.  What may be read is proven by the cookie; what may be
 * written the client sees: the cookie appears behind itself.
 */
static void reach_find(struct qoi_session *session,
		       const struct qoi_layout_hello *hello)
{
	uint8_t found[COOKIE_BYTES];

	session->reach = 0;
	if (session->daemon->params.no_cross ||
	    (hello->flags & QOI_HELLO_MAY_GET) == 0 || session->far.pid <= 0)
		return;
	if (qoi_far_read(&session->far, hello->probe_address, found,
			 sizeof(found)) != 0 ||
	    memcmp(found, hello->probe_cookie, sizeof(found)) != 0)
		return;
	session->reach = QOI_REACH_READ;
	if (qoi_far_write(&session->far, hello->probe_address + COOKIE_BYTES,
			  hello->probe_cookie, COOKIE_BYTES) == 0)
		session->reach |= QOI_REACH_WRITE;
}

static int attach(struct qoi_session *session,
		  struct qoi_attach_message *message)
{
	const struct qoi_layout_hello *hello = &message->body.hello.hello;
	int error;

	session->offer = message->body.hello.offer;
	job_set(session, &session->offer);
	error = check_room(session);
	if (error == 0)
		error = qoi_attach_places(&session->offer, &session->places);
	if (error == 0)
		error = segment_map(session, hello->window_bytes,
				    &message->fds[0]);
	if (error == 0)
		error = bell_map(session, &message->fds[1]);
	if (error == 0)
		error = wake_open(session);
	if (error != 0) {
		qoi_session_forget(session);
		return error;
	}
	lanes_init(session);
	session->far.revoked =
		&((struct qoi_layout_attach_page *)(void *)session->segment.base)
			 ->revoked;
	reach_find(session, hello);
	return 0;
}

static void welcome(struct qoi_session *session,
		    struct qoi_attach_message *answer)
{
	struct qoi_daemon *daemon = session->daemon;
	struct qoi_layout_hello *hello = &answer->body.welcome.hello;
	struct qoi_layout_attach_welcome *body = &answer->body.welcome.welcome;

	qoi_attach_message_init(answer, QOI_ATTACH_WELCOME,
				answer->header.token);
	qoi_attach_hello_fill(hello);
	memcpy(hello->endpoint_id, daemon->id, sizeof(daemon->id));
	body->session = session->number;
	body->reach = session->reach;
	body->idle_clients = daemon->client_count;
	body->eager_bytes = QOI_EAGER_BYTES;
	/* Stays ours: a descriptor that is sent is a copy. */
	answer->fds[0] = session->wake_fd;
}

int qoi_session_greet(struct qoi_session *session,
		      struct qoi_attach_message *message,
		      struct qoi_attach_message *answer)
{
	struct qoi_daemon *daemon = session->daemon;
	const struct qoi_layout_hello *hello = &message->body.hello.hello;
	int error;

	if (message->header.kind != QOI_ATTACH_HELLO)
		return qoi_fail(-EBADMSG, "the first message must be a hello");
	error = qoi_attach_hello_check(hello);
	if (error != 0)
		return error;
	if (message->fds_lost)
		return qoi_fail(-ENOMEM, "the daemon has no descriptor left: "
					 "raise its ulimit -n");
	if ((hello->flags & QOI_HELLO_OBSERVER) != 0) {
		session->state = QOI_SESSION_OBSERVER;
		welcome(session, answer);
		return 0;
	}
	QOI_FAIL_POINT("daemon_hello");
	error = attach(session, message);
	if (error != 0)
		return error;
	if (!qoi_session_has_job_mate(session))
		daemon->job_count++;
	session->state = QOI_SESSION_LIVE;
	session->attached_ns = qoi_clock_ns();
	daemon->client_count++;
	daemon->counts.clients_ever++;
	welcome(session, answer);
	qoi_log_info("session %" PRIu32 ": process %d of job %s, reach %" PRIu32,
		     session->number, (int)session->far.pid, session->job,
		     session->reach);
	QOI_FAIL_POINT("daemon_welcome");
	return 0;
}

void qoi_session_forget(struct qoi_session *session)
{
	/* The client may hold it too: closing alone would leave the watch. */
	if (session->wake_fd >= 0) {
		epoll_ctl(session->daemon->epoll, EPOLL_CTL_DEL,
			  session->wake_fd, NULL);
		close(session->wake_fd);
	}
	session->wake_fd = -1;
	session->bell = NULL;
	session->far.revoked = NULL;
	qoi_segment_detach(&session->bell_page);
	qoi_segment_detach(&session->segment);
}
