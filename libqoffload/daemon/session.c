/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* struct ucred */
/* A session's life: its socket and its process, from accept to the end. */
#include "libqoffload/daemon/session.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utlist.h>

#include "libqoffload/base/clock.h"
#include "libqoffload/base/error.h"
#include "libqoffload/base/fail_point.h"
#include "libqoffload/base/log.h"
#include "libqoffload/daemon/closer.h"
#include "libqoffload/daemon/half.h"

/*
 * More than a socket holds, so a process that died has all its messages read;
 * a bound all the same, should another hold the socket and go on writing.
 */
#define LAST_WORDS_MAX 4096
/* Of a message that needs work, in ordinary ones. */
#define COST_HIGH 16

/* Linux 6.5 has it; older headers don't. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/*
 * A descriptor of the process that connected.  The kernel gives it without the
 * detour over a number that may be another process's by now, where it can.
 * Returns it; -1: then its socket alone tells how it fares; -ENOMEM: no
 * descriptor is left, without which a stranger could pass for it later.
 */
static int process_open(int fd, pid_t pid)
{
	socklen_t bytes = sizeof(int);
	int pid_fd = -1;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pid_fd, &bytes) == 0)
		return pid_fd;
	if (errno == ENOPROTOOPT && pid > 0)
		pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pid_fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
		return -ENOMEM;
	return pid_fd;
}

static int watch(struct qoi_session *session, int fd, uint32_t events,
		 uint64_t tag)
{
	struct epoll_event event = {
		.events = events,
		.data.u64 = (uintptr_t)session | tag,
	};

	if (fd < 0 ||
	    epoll_ctl(session->daemon->epoll, EPOLL_CTL_ADD, fd, &event) == 0)
		return 0;
	return qoi_fail(-ENOMEM, "the daemon watches too much: %m "
				 "(fs.epoll.max_user_watches)");
}

static void unwatch(struct qoi_session *session, int fd)
{
	/* A forked child may hold it too: closing would leave the watch. */
	if (fd >= 0)
		epoll_ctl(session->daemon->epoll, EPOLL_CTL_DEL, fd, NULL);
}

/* Events of the look under way must not find it any more. */
static void forget_events(struct qoi_daemon *daemon,
			  const struct qoi_session *session)
{
	for (int i = 0; i < daemon->event_count; i++) {
		uint64_t of = daemon->events[i].data.u64 & ~QOI_EVENT_TAGS;

		if (of == (uintptr_t)session)
			daemon->events[i].data.u64 = QOI_EVENT_NONE;
	}
}

static struct qoi_session *oldest_guest(const struct qoi_daemon *daemon)
{
	struct qoi_session *session = daemon->sessions;

	while (session != NULL && session->state == QOI_SESSION_LIVE)
		session = session->next;
	return session;
}

/*
 * Connections that never become clients are bounded: the oldest one goes.  But
 * its hello may wait to be read, and then it is no guest any more.
 */
static void make_room(struct qoi_daemon *daemon)
{
	struct qoi_session *guest;
	int fate;

	if (daemon->session_count - daemon->client_count <= QOI_GUESTS_MAX)
		return;
	guest = oldest_guest(daemon);
	fate = qoi_session_read(guest, 1);
	if (fate == 0 && guest->state == QOI_SESSION_LIVE)
		return;
	if (fate == 0 && guest->state == QOI_SESSION_GREETING) {
		daemon->counts.clients_refused++;
		qoi_error_log_add(&daemon->errors,
				  "a connection made room for another before "
				  "it said hello");
	}
	qoi_session_destroy(guest, -ECONNRESET);
}

static int check_user(struct qoi_daemon *daemon, int fd, struct ucred *peer)
{
	socklen_t bytes = sizeof(*peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, peer, &bytes) == 0 &&
	    qoi_packet_is_own_user(peer->uid, peer->pid))
		return 0;
	daemon->counts.clients_refused++;
	qoi_error_log_add(&daemon->errors,
			  "user %d was refused: the daemon "
			  "serves user %d alone",
			  (int)peer->uid, (int)geteuid());
	return -EPERM;
}

int qoi_session_create(struct qoi_daemon *daemon, int fd)
{
	struct qoi_session *session;
	struct ucred peer = { 0, (uid_t)-1, 0 };
	int error = check_user(daemon, fd, &peer);
	int pid_fd = -1;

	if (error == 0)
		pid_fd = process_open(fd, peer.pid);
	if (pid_fd == -ENOMEM) {
		daemon->counts.clients_refused++;
		qoi_error_log_add(&daemon->errors, "no descriptor is left for "
						   "a client: raise ulimit -n");
		error = -ENOMEM;
	}
	if (error != 0)
		goto err_close;
	session = calloc(1, sizeof(*session));
	if (session == NULL) {
		error = qoi_fail(-ENOMEM, "no memory for a session");
		goto err_close_process;
	}
	session->daemon = daemon;
	session->state = QOI_SESSION_GREETING;
	session->number = daemon->session_next++;
	session->fd = fd;
	session->wake_fd = -1;
	session->segment.fd = -1;
	session->bell_page.fd = -1;
	session->uid = peer.uid;
	session->far.pid = peer.pid;
	session->far.pid_fd = pid_fd;
	session->far.socket = fd;
	DL_APPEND2(daemon->sessions, session, previous, next);
	daemon->session_count++;
	error = watch(session, fd, EPOLLIN | EPOLLRDHUP, QOI_EVENT_SOCKET);
	if (error == 0)
		error = watch(session, session->far.pid_fd, EPOLLIN,
			      QOI_EVENT_PROCESS);
	if (error != 0)
		qoi_session_destroy(session, -ECONNRESET);
	else
		make_room(daemon);
	return error;

err_close_process:
	if (pid_fd >= 0)
		close(pid_fd);
err_close:
	close(fd);
	return error;
}

int qoi_session_has_job_mate(const struct qoi_session *session)
{
	const struct qoi_session *other = session->daemon->sessions;

	for (; other != NULL; other = other->next) {
		if (other != session && other->state == QOI_SESSION_LIVE &&
		    strcmp(other->job, session->job) == 0)
			return 1;
	}
	return 0;
}

/* What it had as a client. */
static void detach(struct qoi_session *session, int fate)
{
	struct qoi_daemon *daemon = session->daemon;
	uint32_t left = qoi_halves_drop_all(session, fate);

	qoi_regions_drop_all(session);
	daemon->client_count--;
	if (!qoi_session_has_job_mate(session))
		daemon->job_count--;
	if (daemon->client_count == 0)
		daemon->empty_since_ns = qoi_clock_ns();
	if (fate == -ECONNRESET) {
		daemon->counts.clients_lost++;
		qoi_error_log_add(&daemon->errors,
				  "a client of job %s was lost", session->job);
	}
	qoi_log_info("session %" PRIu32 ": process %d of job %s %s, %" PRIu32
		     " requests under way",
		     session->number, (int)session->far.pid, session->job,
		     fate == -EPIPE ? "left" : "is lost", left);
}

/*
 * A client may be wrong as often as it likes: it is told, and the daemon's
 * error log has each error once, so that nobody can fill the log.
 */
static int receive(struct qoi_session *session,
		   struct qoi_attach_message *message)
{
	int rc;

	qoi_error_set_quiet(1);
	rc = qoi_attach_recv(session->fd, message);
	qoi_error_set_quiet(0);
	return rc;
}

/* Mapping memory and checking steps take longer than all the rest. */
static uint32_t cost_of(const struct qoi_attach_message *message)
{
	switch (message->header.kind) {
	case QOI_ATTACH_HELLO:
	case QOI_ATTACH_REGION_ADD:
	case QOI_ATTACH_OP_ADD:
		return COST_HIGH;
	default:
		return 1;
	}
}

/* What lies unread holds descriptors.  Returns 1 when nothing is left. */
static int drain(struct qoi_session *session)
{
	struct qoi_attach_message message;
	int rc = 0;

	for (uint32_t i = 0; i < LAST_WORDS_MAX; i++) {
		rc = receive(session, &message);
		if (rc != 0 && rc != -EBADMSG)
			return 1;
		if (rc == 0)
			qoi_attach_message_close(&message);
	}
	return 0;
}

void qoi_session_destroy(struct qoi_session *session, int fate)
{
	struct qoi_daemon *daemon = session->daemon;

	QOI_FAIL_POINT("daemon_session_end");
	if (session->state == QOI_SESSION_LIVE)
		detach(session, fate);
	qoi_session_forget(session);
	forget_events(daemon, session);
	if (daemon->turn == session)
		daemon->turn = session->next;
	DL_DELETE2(daemon->sessions, session, previous, next);
	daemon->session_count--;
	unwatch(session, session->fd);
	shutdown(session->fd, SHUT_RDWR);
	if (drain(session))
		close(session->fd);
	else
		qoi_closer_take(session->fd);
	unwatch(session, session->far.pid_fd);
	if (session->far.pid_fd >= 0)
		close(session->far.pid_fd);
	free(session);
}

int qoi_session_is_dead(const struct qoi_session *session)
{
	struct pollfd process = { .fd = session->far.pid_fd, .events = POLLIN };

	if (session->far.pid_fd >= 0)
		return poll(&process, 1, 0) > 0;
	return session->far.pid > 0 && kill(session->far.pid, 0) != 0 &&
	       errno == ESRCH;
}

static void refuse(struct qoi_session *session,
		   struct qoi_attach_message *answer, int error)
{
	struct qoi_daemon *daemon = session->daemon;
	const char *detail = qo_error_detail();

	qoi_attach_message_init(answer, QOI_ATTACH_ANSWER, answer->header.token);
	answer->header.error = (uint16_t)-error;
	snprintf((char *)answer->body.answer.text,
		 sizeof(answer->body.answer.text), "%s",
		 detail[0] != '\0' ? detail : qo_error_string(error));
	if (session->state == QOI_SESSION_GREETING) {
		daemon->counts.clients_refused++;
	} else {
		session->counts.commands_bad++;
		daemon->counts.commands_bad++;
	}
	qoi_error_log_add(&daemon->errors, "%s",
			  (const char *)answer->body.answer.text);
}

/*
 * Answers one message, or what was no message (error not 0).
 * Returns 0, or why the session must end.
 */
static int answer(struct qoi_session *session,
		  struct qoi_attach_message *message, int error)
{
	struct qoi_attach_message reply;
	int is_first = session->state == QOI_SESSION_GREETING;
	int rc;

	qoi_attach_message_init(&reply, QOI_ATTACH_ANSWER,
				message->header.token);
	/* Who only passes a code on leaves no older text behind. */
	if (error == 0) {
		qoi_error_keep("%s", "");
		qoi_error_set_quiet(1);
		error = is_first ? qoi_session_greet(session, message, &reply)
				 : qoi_session_request(session, message, &reply);
		qoi_error_set_quiet(0);
	}
	if (error != 0)
		refuse(session, &reply, error);
	rc = qoi_attach_send(session->fd, &reply);
	if (error == 0 && message->header.kind == QOI_ATTACH_BYE)
		return -EPIPE;
	if (rc == -EAGAIN)
		qoi_error_log_add(&session->daemon->errors,
				  "a client that does not read its answers was "
				  "dropped");
	if (rc != 0)
		return -ECONNRESET;
	return is_first && error != 0 ? -ECONNRESET : 0;
}

int qoi_session_read(struct qoi_session *session, uint32_t budget)
{
	struct qoi_attach_message message;
	uint32_t spent = 0;

	while (spent < budget) {
		int rc = receive(session, &message);
		int fate;

		if (rc == -EAGAIN)
			return 0;
		if (rc != 0 && rc != -EBADMSG)
			return -ECONNRESET;
		fate = answer(session, &message, rc);
		spent += cost_of(&message);
		qoi_attach_message_close(&message);
		if (fate != 0)
			return fate;
	}
	return 0;
}

int qoi_session_last_words(struct qoi_session *session)
{
	struct qoi_attach_message message;

	for (uint32_t i = 0; i < LAST_WORDS_MAX; i++) {
		int rc = receive(session, &message);

		if (rc == -EBADMSG)
			continue;
		if (rc != 0)
			break;
		qoi_attach_message_close(&message);
		if (message.header.kind == QOI_ATTACH_BYE)
			return -EPIPE;
	}
	return -ECONNRESET;
}
