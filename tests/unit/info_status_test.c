/* SPDX-License-Identifier: BSD-3-Clause */
/* qo_info -s and --check against a daemon that says what a test wants. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <qoffload/error.h>

#include "libqoffload/tools/info_status.h"
#include "libqoffload/tools/info_watch.h"

#define CLIENTS 3
/* Messages of one observer, and how long the next may take. */
#define MESSAGES_MAX 100
#define PATIENCE_MS 20000

/* What the daemon does; set before it starts. */
static struct {
	uint64_t total_pending;	  /* instead of 2 */
	uint64_t client_failures; /* of the last client, instead of 0 */
	uint32_t version;	  /* of its hello, instead of ours */
	uint32_t refuses;	  /* 1: the hello */
	uint32_t hangs_up;	  /* 1: after the hello */
	uint32_t endless;	  /* 1: the same client for ever */
	uint32_t asks_seen;
} script;

static char name[QOI_ATTACH_NAME_BYTES];
static struct qoi_attach_door door;
static pthread_t thread;

static void fill_hello(struct qoi_attach_message *answer, uint32_t token)
{
	qoi_attach_message_init(answer, QOI_ATTACH_WELCOME, token);
	qoi_attach_hello_fill(&answer->body.welcome.hello);
	if (script.version != 0)
		answer->body.welcome.hello.version = script.version;
	if (!script.refuses)
		return;
	qoi_attach_message_init(answer, QOI_ATTACH_ANSWER, token);
	answer->header.error = EPERM;
	strcpy((char *)answer->body.answer.text, "not today");
}

static void fill_status(struct qoi_attach_message *answer,
			const struct qoi_attach_message *question)
{
	const struct qoi_layout_attach_status_ask *ask = &question->body.ask;
	struct qoi_layout_attach_status_client *client = &answer->body.client;
	struct qoi_layout_attach_status_total *total = &answer->body.total;

	qoi_attach_status_init(answer, ask->what, question->header.token);
	if (ask->what == QOI_STATUS_TOTAL) {
		total->posts = 12;
		total->completions = 9;
		total->failures = 1;
		total->pending = script.total_pending;
		total->clients = CLIENTS;
		memset(total->idle, 'i', sizeof(total->idle));
	} else if (ask->what == QOI_STATUS_ERROR) {
		answer->body.error.index = ask->index;
		answer->body.error.count = 7;
		strcpy((char *)answer->body.error.text, "a bad\033 day");
		if (ask->index > 0)
			answer->body.error.what = 0;
	} else if (ask->index >= 10 * CLIENTS && !script.endless) {
		client->what = 0;
	} else {
		/* Numbers with gaps. */
		client->index =
			script.endless ? 0 : (ask->index / 10 + 1) * 10 - 1;
		client->session = client->index;
		client->pid = 4000 + client->index;
		client->posts = 4;
		client->completions = 4;
		if (client->index == 10 * CLIENTS - 1)
			client->failures = script.client_failures;
		memset(client->job, 'j', sizeof(client->job));
	}
}

/* Returns 0 when the observer has gone. */
static int serve_one(int fd)
{
	struct qoi_attach_message question, answer;
	struct pollfd socket = { .fd = fd, .events = POLLIN };

	if (poll(&socket, 1, PATIENCE_MS) != 1 ||
	    qoi_attach_recv(fd, &question) != 0)
		return 0;
	qoi_attach_message_close(&question);
	if (question.header.kind == QOI_ATTACH_HELLO) {
		fill_hello(&answer, question.header.token);
	} else {
		script.asks_seen++;
		fill_status(&answer, &question);
	}
	if (script.hangs_up && question.header.kind != QOI_ATTACH_HELLO)
		return 0;
	return qoi_attach_send(fd, &answer) == 0;
}

static void *serve(void *arg)
{
	struct pollfd socket = { .fd = door.fd, .events = POLLIN };
	int fd = -1;

	(void)arg;
	if (poll(&socket, 1, PATIENCE_MS) == 1)
		fd = accept(door.fd, NULL, NULL);
	for (int i = 0; i < MESSAGES_MAX && fd >= 0 && serve_one(fd); i++)
		continue;
	if (fd >= 0)
		close(fd);
	return NULL;
}

static int listen_there(void **state)
{
	(void)state;
	memset(&script, 0, sizeof(script));
	script.total_pending = 2;
	snprintf(name, sizeof(name), "@qo-info-status-test-%d", (int)getpid());
	return qoi_attach_listen(name, &door);
}

static int close_door(void **state)
{
	(void)state;
	qoi_attach_door_close(&door);
	return 0;
}

static int check(void)
{
	struct info_options options = { .socket = name };
	int rc;

	assert_int_equal(pthread_create(&thread, NULL, serve, NULL), 0);
	rc = info_status_check(&options);
	pthread_join(thread, NULL);
	return rc;
}

static void assert_detail_has(const char *text)
{
	if (strstr(qo_error_detail(), text) == NULL)
		print_error("\"%s\" is not in: %s\n", text, qo_error_detail());
	assert_non_null(strstr(qo_error_detail(), text));
}

static void counts_that_agree_are_fine(void **state)
{
	(void)state;
	assert_int_equal(check(), 0);
	/* The whole, three clients and the end, one error and the end. */
	assert_int_equal(script.asks_seen, 1 + CLIENTS + 1 + 2);
}

static void a_daemon_that_lost_a_request_is_told(void **state)
{
	(void)state;
	script.total_pending = 1;
	assert_int_equal(check(), -EIO);
	assert_detail_has("the counts of the daemon");
	assert_detail_has("9 done + 1 failed + 1 pending, but 12 posted");
}

static void a_client_whose_counts_are_off_is_told(void **state)
{
	(void)state;
	script.client_failures = 1;
	assert_int_equal(check(), -EIO);
	assert_detail_has("client 29 (process 4029)");
}

static void another_layout_is_told(void **state)
{
	(void)state;
	script.version = 99;
	assert_int_equal(check(), -EPROTONOSUPPORT);
	assert_detail_has("version 99");
}

static void a_refusal_is_told_in_the_daemons_words(void **state)
{
	(void)state;
	script.refuses = 1;
	assert_int_equal(check(), -EPERM);
	assert_detail_has("not today");
}

static void a_daemon_that_dies_meanwhile_is_told(void **state)
{
	(void)state;
	script.hangs_up = 1;
	assert_int_equal(check(), -ECONNRESET);
	assert_detail_has("has hung up");
}

static void answers_without_an_end_are_cut(void **state)
{
	(void)state;
	script.endless = 1;
	assert_int_equal(check(), -EBADMSG);
	assert_detail_has("without an end");
}

static void nothing_unprintable_reaches_the_terminal(void **state)
{
	struct info_options options = { .socket = name };
	json_t *status, *client, *error;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, serve, NULL), 0);
	assert_int_equal(info_status_collect(&options, &status), 0);
	pthread_join(thread, NULL);
	assert_int_equal(json_array_size(json_object_get(status, "clients")),
			 CLIENTS);
	assert_string_equal(json_string_value(json_object_get(status, "idle")),
			    "iiiiiiiiiiiiiiii");
	client = json_array_get(json_object_get(status, "clients"), 1);
	assert_int_equal(json_integer_value(json_object_get(client, "pid")),
			 4019);
	assert_int_equal(
		strlen(json_string_value(json_object_get(client, "job"))), 32);
	error = json_array_get(json_object_get(status, "error_log"), 0);
	assert_string_equal(json_string_value(json_object_get(error, "text")),
			    "a bad? day");
	assert_int_equal(json_integer_value(json_object_get(error, "count")), 7);
	json_decref(status);
}

int main(void)
{
#define WITH_DOOR(test)                                                        \
	cmocka_unit_test_setup_teardown(test, listen_there, close_door)
	const struct CMUnitTest tests[] = {
		WITH_DOOR(counts_that_agree_are_fine),
		WITH_DOOR(a_daemon_that_lost_a_request_is_told),
		WITH_DOOR(a_client_whose_counts_are_off_is_told),
		WITH_DOOR(another_layout_is_told),
		WITH_DOOR(a_refusal_is_told_in_the_daemons_words),
		WITH_DOOR(a_daemon_that_dies_meanwhile_is_told),
		WITH_DOOR(answers_without_an_end_are_cut),
		WITH_DOOR(nothing_unprintable_reaches_the_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
