/* SPDX-License-Identifier: BSD-3-Clause */
/* What observers see, and that they are not seen. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "libqoffload/base/config.h"
#include "tests/unit/daemon_fixture.h"

static void observe(struct raw_client *observer)
{
	struct qoi_attach_message answer;

	assert_int_equal(raw_open_observer(observer, target_name), 0);
	assert_int_equal(raw_hello(observer, -1), 0);
	target_settle();
	assert_int_equal(raw_welcomed(observer, &answer), 0);
	assert_int_equal(observer->wake_fd, -1);
}

static int ask(struct raw_client *client, uint32_t what, uint32_t index,
	       struct qoi_attach_message *answer)
{
	const struct qoi_layout_attach_status_ask body = { .what = what,
							   .index = index };

	return client_ask(client, QOI_ATTACH_STATUS, &body, sizeof(body), -1,
			  answer);
}

static void the_total_counts_what_is_there(void **state)
{
	const struct qoi_layout_attach_region region = { .region = 4,
							 .bytes = 8192 };
	struct qoi_attach_message answer;
	const struct qoi_layout_attach_status_total *total = &answer.body.total;
	struct raw_client clients[2], observer;

	(void)state;
	client_attach(&clients[0], "a");
	client_attach(&clients[1], "b");
	assert_int_equal(client_told(&clients[0], QOI_ATTACH_REGION_ADD, &region,
				     sizeof(region), raw_memory(8192, 1, 1)),
			 0);
	observe(&observer);
	assert_int_equal(ask(&observer, QOI_STATUS_TOTAL, 0, &answer), 0);
	assert_int_equal(answer.header.kind, QOI_ATTACH_STATUS);
	assert_int_equal(total->what, QOI_STATUS_TOTAL);
	assert_int_equal(total->clients, 2);
	assert_int_equal(total->clients_ever, 2);
	assert_int_equal(total->jobs, 2);
	assert_int_equal(total->regions, 1);
	assert_int_equal(total->region_bytes, 8192);
	assert_int_equal(total->pid, getpid());
	assert_int_equal((int32_t)total->cpu, -1);
	assert_int_equal(total->draining, 0);
	assert_int_equal(total->is_private, 0);
	assert_string_equal((const char *)total->idle, "block");
	assert_true(total->uptime_ns > 0);
	assert_true(total->cpu_ns > 0);
	client_leave(&clients[0]);
	raw_close(&clients[1]);
	target_run();
	assert_int_equal(ask(&observer, QOI_STATUS_TOTAL, 0, &answer), 0);
	assert_int_equal(total->clients, 0);
	assert_int_equal(total->clients_ever, 2);
	assert_int_equal(total->clients_lost, 1);
	assert_int_equal(total->regions, 0);
	assert_int_equal(total->region_bytes, 0);
	raw_close(&observer);
}

static void clients_are_listed_one_by_one(void **state)
{
	struct qoi_attach_message answer;
	const struct qoi_layout_attach_status_client *row = &answer.body.client;
	struct raw_client clients[5], observer;
	uint32_t index = 0;
	char job[8];
	int i;

	(void)state;
	for (i = 0; i < 5; i++) {
		snprintf(job, sizeof(job), "job%d", i);
		client_attach(&clients[i], job);
		/* What lies between them in the list is none. */
		if (i == 1)
			observe(&observer);
	}
	client_leave(&clients[3]);
	for (i = 0; i < 5; i++) {
		if (i == 3)
			continue;
		assert_int_equal(
			ask(&observer, QOI_STATUS_CLIENT, index, &answer), 0);
		assert_int_equal(row->what, QOI_STATUS_CLIENT);
		snprintf(job, sizeof(job), "job%d", i);
		assert_string_equal((const char *)row->job, job);
		assert_int_equal(row->pid, getpid());
		assert_int_equal(row->uid, geteuid());
		assert_int_equal(row->session, clients[i].welcome.session);
		assert_int_equal(row->reach, clients[i].welcome.reach);
		assert_true(row->memory_bytes > 0);
		assert_true(row->memory_bytes < 65536);
		index = row->index + 1;
	}
	assert_int_equal(ask(&observer, QOI_STATUS_CLIENT, index, &answer), 0);
	assert_int_equal(row->what, 0);
	assert_int_equal(ask(&observer, QOI_STATUS_CLIENT, UINT32_MAX, &answer),
			 0);
	assert_int_equal(row->what, 0);
	for (i = 0; i < 5; i++) {
		if (i != 3)
			client_leave(&clients[i]);
	}
	raw_close(&observer);
}

static void errors_are_kept_once_with_a_count(void **state)
{
	const struct qoi_layout_attach_region region = { .region = 9 };
	struct qoi_attach_message answer;
	const struct qoi_layout_attach_status_error *row = &answer.body.error;
	struct raw_client client;

	(void)state;
	client_attach(&client, "job");
	for (int i = 0; i < 3; i++)
		client_told(&client, QOI_ATTACH_REGION_DROP, &region,
			    sizeof(region), -1);
	client_told(&client, QOI_ATTACH_ANSWER, answer_text, 248, -1);
	assert_int_equal(ask(&client, QOI_STATUS_ERROR, 0, &answer), 0);
	assert_int_equal(row->what, QOI_STATUS_ERROR);
	assert_int_equal(row->count, 3);
	assert_non_null(strstr((const char *)row->text, "region 9"));
	assert_int_equal(ask(&client, QOI_STATUS_ERROR, 1, &answer), 0);
	assert_int_equal(row->count, 1);
	assert_int_equal(ask(&client, QOI_STATUS_ERROR, 2, &answer), 0);
	assert_int_equal(row->what, 0);
	assert_int_equal(ask(&client, 4, 0, &answer), -EINVAL);
	client_leave(&client);
}

static void new_errors_make_the_oldest_go(void **state)
{
	static struct qoi_error_log log;

	(void)state;
	for (uint32_t i = 0; i < QOI_ERRORS_MAX + 5; i++)
		qoi_error_log_add(&log, "error number %u of a test", i);
	qoi_error_log_add(&log, "error number %u of a test", 6);
	assert_int_equal(log.count, QOI_ERRORS_MAX);
	assert_int_equal(log.dropped, 5);
	assert_string_equal(log.entries[0].text, "error number 5 of a test");
	assert_int_equal(log.entries[0].times, 1);
	assert_int_equal(log.entries[1].times, 2);
	memset(&log, 0, sizeof(log));
	qoi_error_log_add(&log, "%0500d", 7);
	assert_int_equal(strlen(log.entries[0].text), QOI_ERROR_TEXT_BYTES - 1);
}

static void an_observer_may_ask_and_nothing_else(void **state)
{
	static const uint8_t nothing[256];
	struct raw_client observer;

	(void)state;
	observe(&observer);
	for (uint16_t kind = 1; kind < 10; kind++) {
		if (kind != QOI_ATTACH_STATUS && kind != QOI_ATTACH_BYE)
			assert_int_equal(client_told(&observer, kind, nothing,
						     qoi_attach_body_bytes(kind),
						     -1),
					 -EPERM);
	}
	assert_int_equal(target->region_count, 0);
	assert_int_equal(target->counts.clients_ever, 0);
	client_leave(&observer);
	assert_int_equal(target->session_count, 0);
}

/* All that a second look shows anew is the time. */
static void looking_changes_nothing(void **state)
{
	struct qoi_layout_attach_status_total before;
	struct qoi_attach_message answer;
	struct raw_client client, observer;

	(void)state;
	client_attach(&client, "job");
	observe(&observer);
	assert_int_equal(ask(&observer, QOI_STATUS_TOTAL, 0, &answer), 0);
	before = answer.body.total;
	for (int i = 0; i < 10; i++) {
		struct raw_client other;

		/* From sleep, as an idle daemon is found. */
		raw_ask(&observer, QOI_ATTACH_STATUS, NULL, 0, -1);
		qoi_daemon_block(target, -1);
		target_settle();
		raw_answer(&observer, &answer);
		observe(&other);
		raw_close(&other);
		target_settle();
	}
	assert_int_equal(ask(&observer, QOI_STATUS_TOTAL, 0, &answer), 0);
	answer.body.total.cpu_ns = before.cpu_ns;
	answer.body.total.uptime_ns = before.uptime_ns;
	answer.body.total.cycles = before.cycles;
	/* The questions without a body were wrong ones. */
	before.commands_bad += 10;
	before.errors += 1;
	assert_memory_equal(&answer.body.total, &before, sizeof(before));
	raw_close(&observer);
	client_leave(&client);
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, target_open, target_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_total_counts_what_is_there),
		TEST(clients_are_listed_one_by_one),
		TEST(errors_are_kept_once_with_a_count),
		TEST(new_errors_make_the_oldest_go),
		TEST(an_observer_may_ask_and_nothing_else),
		TEST(looking_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
