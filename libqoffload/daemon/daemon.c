/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* accept4 */
/* The daemon's duty cycle: turns of its clients, and looks at its sockets. */
#include "libqoffload/daemon/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "libqoffload/agent/exec.h"
#include "libqoffload/base/clock.h"
#include "libqoffload/base/error.h"
#include "libqoffload/base/fail_point.h"
#include "libqoffload/base/log.h"
#include "libqoffload/daemon/closer.h"
#include "libqoffload/daemon/half.h"
#include "libqoffload/daemon/session.h"

/* Cycles, and things done in them, between two looks at the sockets. */
#define LOOK_WORK 256
/* Who posted in so many cycles is busy; how often that is looked at. */
#define BUSY_CYCLES 256
#define BUSY_LOOK 32
/* Cycles between two pieces that are unmapped while there is other work. */
#define FORGET_CYCLES 64
/* For so much that waits to be unmapped, one more piece in each cycle. */
#define FORGET_DEBT_BYTES (UINT64_C(64) << 20)
#define FORGET_PIECES_MAX 8
/* Messages of one session, and new connections, that one look takes. */
#define LOOK_MESSAGES 16
#define LOOK_CONNECTIONS 16

/* Each client costs a few descriptors: as many as the system lets us have. */
static void raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
	    limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
		qoi_log_warn("raise the limit of open files: %m");
}

static int place(struct qoi_daemon *daemon)
{
	int error = qoi_topology_create(&daemon->topology);

	if (error != 0)
		return error;
	error = qoi_topology_pick_agent_cpu(daemon->topology, daemon->params.cpu,
					    -1, &daemon->placement);
	if (error != 0)
		return error;
	/* Where it can't be bound it runs elsewhere, which was logged. */
	(void)qoi_topology_bind_thread(daemon->topology, daemon->placement.cpu);
	return 0;
}

static int resources_open(struct qoi_daemon *daemon)
{
	raise_limit();
	qoi_packet_set_closer(qoi_closer_take);
	daemon->bounce = aligned_alloc(4096, 2 * QOI_BOUNCE_BYTES);
	if (daemon->bounce == NULL)
		return qoi_fail(-ENOMEM, "no memory for the daemon");
	memset(daemon->bounce, 0, 2 * QOI_BOUNCE_BYTES);
	if (getrandom(daemon->id, sizeof(daemon->id), 0) !=
	    (ssize_t)sizeof(daemon->id))
		return qoi_fail(-EIO, "getrandom: %m");
	daemon->epoll = epoll_create1(EPOLL_CLOEXEC);
	daemon->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (daemon->epoll < 0 || daemon->spare_fd < 0)
		return qoi_fail(-ENOMEM, "the daemon's descriptors: %m; raise "
					 "`ulimit -n`");
	return 0;
}

int qoi_daemon_watch(struct qoi_daemon *daemon, int fd, uint64_t what)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = what };

	if (epoll_ctl(daemon->epoll, EPOLL_CTL_ADD, fd, &event) == 0)
		return 0;
	return qoi_fail(-ENOMEM, "watch descriptor %d: %m", fd);
}

static int door_open(struct qoi_daemon *daemon)
{
	const struct qoi_daemon_params *params = &daemon->params;
	int error = params->listen_fd >= 0
			    ? qoi_attach_adopt(params->listen_fd, &daemon->door)
			    : qoi_attach_listen(params->name, &daemon->door);

	if (error != 0) {
		daemon->door.fd = -1;
		return error;
	}
	return qoi_daemon_watch(daemon, daemon->door.fd, QOI_EVENT_DOOR);
}

static void door_close(struct qoi_daemon *daemon)
{
	if (daemon->door.fd < 0)
		return;
	/* Who gave us the socket may hold it too. */
	epoll_ctl(daemon->epoll, EPOLL_CTL_DEL, daemon->door.fd, NULL);
	qoi_attach_door_close(&daemon->door);
	daemon->door.fd = -1;
}

int qoi_daemon_open(const struct qoi_daemon_params *params,
		    struct qoi_daemon **daemon_out)
{
	struct qoi_daemon *daemon = calloc(1, sizeof(*daemon));
	int error;

	if (daemon == NULL)
		return qoi_fail(-ENOMEM, "no memory for a daemon");
	daemon->params = *params;
	daemon->door.fd = -1;
	daemon->epoll = -1;
	daemon->spare_fd = -1;
	daemon->stop_fd = -1;
	daemon->started_ns = qoi_clock_ns();
	daemon->empty_since_ns = daemon->started_ns;
	error = resources_open(daemon);
	if (error == 0)
		error = place(daemon);
	if (error == 0)
		error = door_open(daemon);
	if (error != 0) {
		qoi_daemon_close(daemon);
		return error;
	}
	qoi_log_info("daemon at %s, cpu %d (%s)", daemon->door.name,
		     daemon->placement.cpu, daemon->placement.reason);
	*daemon_out = daemon;
	return 0;
}

void qoi_daemon_close(struct qoi_daemon *daemon)
{
	door_close(daemon);
	while (daemon->sessions != NULL)
		qoi_session_destroy(daemon->sessions, -ECONNABORTED);
	while (qoi_region_forget(daemon))
		;
	if (daemon->topology != NULL)
		qoi_topology_destroy(daemon->topology);
	if (daemon->spare_fd >= 0)
		close(daemon->spare_fd);
	if (daemon->epoll >= 0)
		close(daemon->epoll);
	free(daemon->bounce);
	free(daemon);
}

/*
 * No descriptor is left: one is given up for a moment, so that who knocks is
 * told, and does not stay at the door, where it would keep us awake.
 */
static void turn_away(struct qoi_daemon *daemon)
{
	struct qoi_attach_message answer;
	int fd;

	close(daemon->spare_fd);
	fd = accept4(daemon->door.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd >= 0) {
		static const char text[] =
			"the daemon has no descriptor left: raise its ulimit -n";

		daemon->counts.clients_refused++;
		qoi_error_log_add(&daemon->errors, "%s", text);
		qoi_attach_message_init(&answer, QOI_ATTACH_ANSWER, 0);
		answer.header.error = ENOMEM;
		memcpy(answer.body.answer.text, text, sizeof(text));
		/* It may be gone already. */
		(void)qoi_attach_send(fd, &answer);
		close(fd);
	}
	daemon->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void connections_take(struct qoi_daemon *daemon)
{
	for (int i = 0; i < LOOK_CONNECTIONS && daemon->door.fd >= 0; i++) {
		int fd = accept4(daemon->door.fd, NULL, NULL,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			QOI_FAIL_POINT("daemon_accepted");
			(void)qoi_session_create(daemon, fd);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
		    errno == ENOBUFS)
			turn_away(daemon);
		return;
	}
}

static void session_event(struct qoi_session *session, uint64_t tag,
			  uint32_t events)
{
	int fate;

	/* That it woke us is all that it is for. */
	if (tag == QOI_EVENT_WAKE)
		return;
	if (tag == QOI_EVENT_PROCESS ||
	    (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0)
		fate = qoi_session_last_words(session);
	else
		fate = qoi_session_read(session, LOOK_MESSAGES);
	if (fate != 0)
		qoi_session_destroy(session, fate);
}

/* The second time it is an order to end at once. */
static void stop_event(struct qoi_daemon *daemon)
{
	uint8_t ignored[256];

	if (read(daemon->stop_fd, ignored, sizeof(ignored)) <= 0)
		epoll_ctl(daemon->epoll, EPOLL_CTL_DEL, daemon->stop_fd, NULL);
	if (daemon->stop_ns != 0)
		daemon->stop_ns = qoi_clock_ns();
	else
		qoi_daemon_stop(daemon);
}

static struct qoi_session *session_of(uint64_t data)
{
	return (struct qoi_session *)(uintptr_t)(data & ~QOI_EVENT_TAGS);
}

/* Takes the events that a wait brought; more sessions may end than had one. */
static void events_take(struct qoi_daemon *daemon)
{
	for (int i = 0; i < daemon->event_count; i++) {
		const struct epoll_event *event = &daemon->events[i];
		uint64_t data = event->data.u64;
		struct qoi_session *session = session_of(data);

		if (session != NULL)
			session_event(session, data & QOI_EVENT_TAGS,
				      event->events);
		else if (data == QOI_EVENT_DOOR)
			connections_take(daemon);
		else if (data == QOI_EVENT_STOP)
			stop_event(daemon);
	}
	daemon->event_count = 0;
}

static int events_wait(struct qoi_daemon *daemon, int timeout_ms)
{
	int count = epoll_wait(daemon->epoll, daemon->events, QOI_EVENTS_MAX,
			       timeout_ms);

	daemon->event_count = count < 0 ? 0 : count;
	return daemon->event_count;
}

int qoi_daemon_look(struct qoi_daemon *daemon)
{
	int count = events_wait(daemon, 0);

	events_take(daemon);
	/* Where something happened, more may follow soon. */
	daemon->look_left = count != 0 ? 0 : LOOK_WORK;
	return count;
}

/* How many clients posted of late; they are told, and lend less at once. */
static void busy_count(struct qoi_daemon *daemon)
{
	struct qoi_session *session;
	uint32_t busy = 0;

	for (session = daemon->sessions; session != NULL;
	     session = session->next) {
		busy += session->state == QOI_SESSION_LIVE &&
			daemon->counts.cycles - session->busy_cycle <
				BUSY_CYCLES;
	}
	if (busy == daemon->busy_clients)
		return;
	daemon->busy_clients = busy;
	for (session = daemon->sessions; session != NULL;
	     session = session->next) {
		struct qoi_layout_attach_page *page =
			(void *)session->segment.base;

		if (session->state == QOI_SESSION_LIVE)
			qoi_set_own32(&page->busy_clients, busy);
	}
}

/*
 * A client that gave us up, because we stood still, may use its memory for
 * anything by now: nothing of it is touched any more.
 */
static void revoked_end(struct qoi_daemon *daemon)
{
	struct qoi_session *session = daemon->sessions;

	while (session != NULL) {
		struct qoi_session *next = session->next;

		if (session->state == QOI_SESSION_LIVE &&
		    qoi_observe32(session->far.revoked) != 0)
			qoi_session_destroy(session, -ECONNRESET);
		session = next;
	}
}

/* Each time another session is the first, so that none is favoured. */
static int turns_take(struct qoi_daemon *daemon)
{
	struct qoi_session *first;
	struct qoi_session *session;
	int done = 0;

	revoked_end(daemon);
	first = daemon->turn;
	if (first == NULL)
		first = daemon->sessions;
	if (first == NULL)
		return 0;
	daemon->bulk_left = QOI_CYCLE_BULK_BYTES;
	if (daemon->counts.cycles % BUSY_LOOK == 0)
		busy_count(daemon);
	session = first;
	do {
		if (session->state == QOI_SESSION_LIVE)
			done += qoi_session_turn(session);
		session = session->next;
		if (session == NULL)
			session = daemon->sessions;
	} while (session != first);
	daemon->turn = first->next;
	return done;
}

/* When there is nothing else to do. */
static int page_in(struct qoi_daemon *daemon)
{
	struct qoi_region *region = daemon->untouched;

	if (region == NULL)
		return 0;
	if (!qoi_region_touch(region))
		DL_DELETE2(daemon->untouched, region, previous, next);
	return 1;
}

/*
 * Unmaps what clients released: when there is nothing else to do, else now and
 * then, and the more in a cycle the more there is, so that it can't pile up.
 */
static int forget(struct qoi_daemon *daemon, int idle)
{
	uint64_t pieces = daemon->forsaken_bytes / FORGET_DEBT_BYTES;
	int done = 0;

	if (pieces > FORGET_PIECES_MAX)
		pieces = FORGET_PIECES_MAX;
	if (idle || daemon->counts.cycles % FORGET_CYCLES == 0)
		pieces++;
	while (pieces-- != 0 && qoi_region_forget(daemon))
		done = 1;
	return done;
}

int qoi_daemon_cycle(struct qoi_daemon *daemon)
{
	int done = turns_take(daemon);

	done += forget(daemon, done == 0);
	if (done == 0)
		done = page_in(daemon);
	daemon->counts.cycles++;
	if (daemon->look_left > (uint64_t)done + 1)
		daemon->look_left -= (uint64_t)done + 1;
	else
		done += qoi_daemon_look(daemon);
	return done;
}

static void asleep_set(struct qoi_daemon *daemon, uint32_t asleep)
{
	struct qoi_session *session = daemon->sessions;

	for (; session != NULL; session = session->next) {
		struct qoi_layout_attach_page *page =
			(void *)session->segment.base;

		if (session->state == QOI_SESSION_LIVE)
			qoi_set_own32(&page->asleep, asleep);
	}
}

/* Who only looks on must not be seen in what it looks at. */
static int woken_by_client(const struct qoi_daemon *daemon)
{
	for (int i = 0; i < daemon->event_count; i++) {
		const struct qoi_session *session =
			session_of(daemon->events[i].data.u64);

		if (session != NULL && session->state == QOI_SESSION_LIVE)
			return 1;
	}
	return 0;
}

void qoi_daemon_block(struct qoi_daemon *daemon, int64_t timeout_ns)
{
	int timeout_ms = -1;

	if (timeout_ns >= 0 && timeout_ns < INT32_MAX * QOI_NS_PER_MS)
		timeout_ms =
			(int)((timeout_ns + QOI_NS_PER_MS - 1) / QOI_NS_PER_MS);
	asleep_set(daemon, 1);
	/*
	 * Who publishes a command looks at that word after it, with a barrier
	 * as this one: either it sees us sleep, or we see its command.
	 */
	qoi_store_load_barrier();
	if (qoi_daemon_cycle(daemon) == 0) {
		events_wait(daemon, timeout_ms);
		if (woken_by_client(daemon)) {
			daemon->counts.sleeps++;
			daemon->counts.wakes++;
		}
	}
	asleep_set(daemon, 0);
	events_take(daemon);
	daemon->look_left = 0;
}

void qoi_daemon_stop(struct qoi_daemon *daemon)
{
	struct qoi_session *session;

	if (daemon->stop_ns != 0)
		return;
	/* What was posted before is under way, seen by now or not. */
	for (session = daemon->sessions; session != NULL;
	     session = session->next) {
		if (session->state == QOI_SESSION_LIVE)
			qoi_session_start_posted(session);
	}
	session = daemon->sessions;
	daemon->stop_ns =
		qoi_clock_after(qoi_clock_ns(), daemon->params.drain_ns);
	door_close(daemon);
	/* These may ask the next daemon. */
	while (session != NULL) {
		struct qoi_session *next = session->next;

		if (session->state == QOI_SESSION_GREETING)
			qoi_session_destroy(session, -ECONNRESET);
		session = next;
	}
	qoi_log_info("the daemon stops, with %llu requests under way",
		     (unsigned long long)daemon->pending);
}
