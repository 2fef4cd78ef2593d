/* SPDX-License-Identifier: BSD-3-Clause */
#include "libqoffload/tools/info_watch.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "libqoffload/base/clock.h"
#include "libqoffload/base/config.h"
#include "libqoffload/base/error.h"

/* Interrupted, or woken for nothing; the deadline ends it before. */
#define WAKES_MAX 100000

static int fail_silent(const struct info_watch *watch)
{
	return qoi_fail(-ETIMEDOUT,
			"the daemon at %s (process %d) says nothing for %d s; "
			"is it stopped?",
			watch->name, (int)watch->pid, INFO_SILENCE_S);
}

static int fail_gone(const struct info_watch *watch)
{
	return qoi_fail(-ECONNRESET, "the daemon at %s has hung up",
			watch->name);
}

/* Waits until the socket is ready.  Returns 0, -ETIMEDOUT (told). */
static int wait_ready(const struct info_watch *watch, short events)
{
	int64_t left_ns = watch->deadline_ns - qoi_clock_ns();
	struct pollfd socket = { .fd = watch->fd, .events = events };

	if (left_ns <= 0)
		return fail_silent(watch);
	(void)poll(&socket, 1, (int)(left_ns / QOI_NS_PER_MS) + 1);
	return 0;
}

static int send_all(struct info_watch *watch, struct qoi_attach_message *message)
{
	for (uint32_t i = 0; i < WAKES_MAX; i++) {
		int rc = qoi_attach_send(watch->fd, message);

		if (rc == -ECONNRESET)
			return fail_gone(watch);
		if (rc != -EAGAIN)
			return rc;
		rc = wait_ready(watch, POLLOUT);
		if (rc != 0)
			return rc;
	}
	return fail_silent(watch);
}

/* What the daemon refuses with: its code, and its words. */
static int fail_refused(const struct info_watch *watch,
			const struct qoi_attach_message *message)
{
	const struct qoi_layout_attach_answer *answer = &message->body.answer;
	int code = qoi_error_from_errno(message->header.error);

	if (message->header.error == 0)
		code = -EBADMSG;
	/* -EAGAIN is no failure elsewhere; here it is the end. */
	if (code == -EAGAIN)
		code = -EBUSY;
	return qoi_fail(code, "the daemon at %s refuses: %.*s", watch->name,
			(int)sizeof(answer->text), (const char *)answer->text);
}

static int check_answer(const struct info_watch *watch, uint16_t kind,
			const struct qoi_attach_message *answer)
{
	if (answer->header.kind == QOI_ATTACH_ANSWER && kind != QOI_ATTACH_ANSWER)
		return fail_refused(watch, answer);
	if (answer->header.kind != kind || answer->header.token != watch->token)
		return qoi_fail(-EBADMSG,
				"the daemon at %s answers with kind %u, token "
				"%" PRIu32 ", not %u, %" PRIu32,
				watch->name, answer->header.kind,
				answer->header.token, kind, watch->token);
	return 0;
}

/* Asks, and takes the answer, which must be of this kind. */
static int call(struct info_watch *watch, struct qoi_attach_message *question,
		uint16_t kind, struct qoi_attach_message *answer)
{
	int rc;

	question->header.token = ++watch->token;
	rc = send_all(watch, question);
	for (uint32_t i = 0; i < WAKES_MAX && rc == 0; i++) {
		rc = qoi_attach_recv(watch->fd, answer);
		if (rc == 0) {
			qoi_attach_message_close(answer);
			return check_answer(watch, kind, answer);
		}
		if (rc == -ECONNRESET)
			return fail_gone(watch);
		if (rc == -EAGAIN)
			rc = wait_ready(watch, POLLIN);
	}
	return rc != 0 ? rc : fail_silent(watch);
}

static int greet(struct info_watch *watch)
{
	struct qoi_attach_message question, answer;
	int rc;

	qoi_attach_message_init(&question, QOI_ATTACH_HELLO, 0);
	qoi_attach_hello_fill(&question.body.hello.hello);
	question.body.hello.hello.flags = QOI_HELLO_OBSERVER;
	rc = call(watch, &question, QOI_ATTACH_WELCOME, &answer);
	if (rc != 0)
		return rc;
	return qoi_attach_hello_check(&answer.body.welcome.hello);
}

static int dial(struct info_watch *watch)
{
	int rc = qoi_attach_connect(watch->name, &watch->fd, &watch->pid);

	if (rc == -EAGAIN)
		return qoi_fail(-EBUSY,
				"the daemon at %s has too many at its door; is "
				"it stopped?",
				watch->name);
	return rc;
}

/* The usual daemon first; a job's private one has another name. */
static int find(const struct qoi_config *config, struct info_watch *watch)
{
	char job[QOI_CONFIG_JOB_BYTES], first[QOI_ATTACH_NAME_BYTES];
	int rc = qoi_attach_name(config->agent_socket, NULL, watch->name);

	if (rc == 0)
		rc = dial(watch);
	if (rc != -ENOENT)
		return rc;
	memcpy(first, watch->name, sizeof(first));
	qoi_config_job(config, job);
	rc = qoi_attach_name(config->agent_socket, job, watch->name);
	if (rc == 0 && strcmp(first, watch->name) != 0)
		rc = dial(watch);
	else if (rc == 0)
		rc = -ENOENT;
	if (rc != -ENOENT)
		return rc;
	return qoi_fail(-ENOENT,
			"no daemon listens at %s; start qo_agentd, or say "
			"where it is with --socket",
			first);
}

int info_watch_open(const char *socket, struct info_watch *watch_out)
{
	struct info_watch watch = { .fd = -1 };
	char setting[QOI_ATTACH_NAME_BYTES + 32];
	const char *settings[] = { NULL, NULL };
	struct qoi_config config;
	int rc;

	/* What is too long for the text is too long for a name. */
	if (socket != NULL && strlen(socket) >= QOI_ATTACH_NAME_BYTES)
		return qoi_fail(-EINVAL, "--socket=%.32s...: too long", socket);
	if (socket != NULL) {
		snprintf(setting, sizeof(setting), "QO_AGENT_SOCKET=%s", socket);
		settings[0] = setting;
	}
	rc = qoi_config_init(&config, settings);
	if (rc != 0)
		return rc;
	watch.deadline_ns = qoi_clock_ns() + INFO_SILENCE_S * QOI_NS_PER_S;
	rc = find(&config, &watch);
	qoi_config_fini(&config);
	if (rc != 0)
		return rc;
	rc = greet(&watch);
	if (rc != 0) {
		info_watch_close(&watch);
		return rc;
	}
	*watch_out = watch;
	return 0;
}

int info_watch_ask(struct info_watch *watch, uint32_t what, uint32_t index,
		   struct qoi_attach_message *answer)
{
	struct qoi_attach_message question;
	int rc;

	qoi_attach_message_init(&question, QOI_ATTACH_STATUS, 0);
	question.body.ask.what = what;
	question.body.ask.index = index;
	rc = call(watch, &question, QOI_ATTACH_STATUS, answer);
	if (rc != 0)
		return rc;
	if (answer->body.total.what == what ||
	    (answer->body.total.what == 0 && what != QOI_STATUS_TOTAL))
		return 0;
	return qoi_fail(-EBADMSG, "the daemon at %s answers another question",
			watch->name);
}

void info_watch_close(struct info_watch *watch)
{
	if (watch->fd >= 0)
		close(watch->fd);
	watch->fd = -1;
}
