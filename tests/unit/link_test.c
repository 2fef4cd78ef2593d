/* SPDX-License-Identifier: BSD-3-Clause */
/* The link to a daemon, against one that does what a test wants. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libqoffload/base/error.h"
#include "libqoffload/client/link.h"
#include "tests/unit/capture.h"
#include "tests/unit/fake_agent.h"

static struct fake_agent fake;
static struct qoi_config config;
static struct qoi_link *link_;
static struct capture capture;

static int setup(void **state)
{
	(void)state;
	fake_agent_init(&fake);
	memset(&config, 0, sizeof(config));
	link_ = NULL;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	if (link_ != NULL)
		qoi_link_close(link_);
	fake_agent_stop(&fake);
	qoi_config_fini(&config);
	return 0;
}

/* Opens a link by settings, up to 3 of them besides the socket. */
static int open_with(const char *a, const char *b, const char *c)
{
	char socket[160];
	const char *settings[] = { socket, a, b, c, NULL };
	struct qoi_link_params params = { &config, -1, 0, 0 };
	int error;

	snprintf(socket, sizeof(socket), "QO_AGENT_SOCKET=%s", fake.name);
	qoi_config_fini(&config);
	assert_int_equal(qoi_config_init(&config, settings), 0);
	capture_start(&capture);
	error = qoi_link_open(&params, &link_);
	capture_stop(&capture);
	return error;
}

static void attached(const char *setting)
{
	assert_int_equal(fake_agent_start(&fake), 0);
	assert_int_equal(open_with("QO_AGENT=process", setting, NULL), 0);
	assert_non_null(link_);
}

static int ask(uint16_t kind, uint64_t *value_out)
{
	struct qoi_attach_message question;
	int error;

	qoi_attach_message_init(&question, kind, 0);
	capture_start(&capture);
	error = qoi_link_call(link_, &question, value_out);
	capture_stop(&capture);
	return error;
}

static void a_link_is_what_both_sides_said(void **state)
{
	const struct qoi_layout_attach_offer *offer =
		&fake.hello.body.hello.offer;

	(void)state;
	attached("QO_AGENT_JOB=a job");
	assert_int_equal(link_->session, 7);
	assert_int_equal(link_->daemon_pid, getpid());
	assert_memory_equal(link_->daemon_id, fake.id, 16);
	assert_int_equal(link_->reach, QOI_REACH_READ | QOI_REACH_WRITE);
	assert_false(qoi_link_is_lost(link_));
	assert_string_equal((const char *)offer->job, "a job");
	assert_int_equal(offer->lane_count, 4);
	assert_int_equal(offer->completion_count, 4096);
	assert_int_equal(offer->bell_bytes, 0);
	assert_int_equal(fake.hello.body.hello.hello.window_bytes,
			 fake.places.bytes);
	assert_int_equal(fake.hello.body.hello.hello.flags, QOI_HELLO_MAY_GET);
	assert_ptr_equal(qoi_link_bell(link_),
			 link_->segment.base + fake.places.bell);
}

static void a_right_to_write_that_was_not_shown_is_none(void **state)
{
	(void)state;
	fake.writes_cookie = 0;
	attached(NULL);
	assert_int_equal(link_->reach, QOI_REACH_READ);
}

static void who_wants_no_copies_says_so(void **state)
{
	static const char *const settings[] = { "QO_SHM_GET=off",
						"QO_AGENT_MEMORY=stage",
						"QO_AGENT_MEMORY=map" };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		fake_agent_init(&fake);
		attached(settings[i]);
		assert_int_equal(fake.hello.body.hello.hello.flags, 0);
		qoi_link_close(link_);
		link_ = NULL;
		fake_agent_stop(&fake);
	}
}

static void without_a_daemon_auto_has_no_link_and_says_nothing(void **state)
{
	(void)state;
	assert_int_equal(open_with("QO_AGENT=auto", NULL, NULL), 0);
	assert_null(link_);
	assert_string_equal(capture.text, "");
}

static void a_refusal_is_told_and_auto_goes_on_without(void **state)
{
	(void)state;
	fake.greeting = FAKE_REFUSES;
	assert_int_equal(fake_agent_start(&fake), 0);
	assert_int_equal(open_with("QO_AGENT=auto", NULL, NULL), 0);
	assert_null(link_);
	assert_non_null(strstr(capture.text, "no room for you"));
	assert_non_null(strstr(capture.text, "a thread of this process"));
}

static void a_refusal_ends_a_process_agent(void **state)
{
	(void)state;
	fake.greeting = FAKE_REFUSES;
	assert_int_equal(fake_agent_start(&fake), 0);
	assert_int_equal(open_with("QO_AGENT=process", "QO_AGENT_TIMEOUT=1s",
				   NULL),
			 -EAGAIN);
	assert_null(link_);
	assert_non_null(strstr(qo_error_detail(), "no room for you"));
	assert_int_equal(fake_agent_heard(&fake, QOI_ATTACH_HELLO), 1);
}

static void another_layout_is_refused_with_both_hashes(void **state)
{
	char own[32], other[32];

	(void)state;
	fake.greeting = FAKE_OTHER_VERSION;
	assert_int_equal(fake_agent_start(&fake), 0);
	assert_int_equal(open_with("QO_AGENT=process", NULL, NULL),
			 -EPROTONOSUPPORT);
	snprintf(own, sizeof(own), "%016llx",
		 (unsigned long long)QOI_LAYOUT_HASH);
	snprintf(other, sizeof(other), "%016llx",
		 (unsigned long long)QOI_LAYOUT_HASH + 1);
	assert_non_null(strstr(qo_error_detail(), own));
	assert_non_null(strstr(qo_error_detail(), other));
}

static void a_daemon_that_is_leaving_is_tried_again(void **state)
{
	(void)state;
	fake.hang_ups = 3;
	attached(NULL);
	assert_int_equal(fake_agent_heard(&fake, QOI_ATTACH_HELLO), 4);
}

static void one_that_does_not_greet_is_given_up_in_time(void **state)
{
	(void)state;
	fake.greeting = FAKE_SILENT;
	assert_int_equal(fake_agent_start(&fake), 0);
	assert_int_equal(open_with("QO_AGENT=process", "QO_AGENT_TIMEOUT=50ms",
				   NULL),
			 -ETIMEDOUT);
	assert_non_null(strstr(qo_error_detail(), "does not greet"));
}

static void without_a_program_process_says_how_to_name_one(void **state)
{
	(void)state;
	assert_int_equal(open_with("QO_AGENT=process",
				   "QO_AGENT_PROGRAM=/nowhere/agent", NULL),
			 -ENOENT);
	assert_non_null(strstr(qo_error_detail(), "QO_AGENT_PROGRAM"));
}

static void answers_and_refusals_reach_who_asked(void **state)
{
	uint64_t value = 0;

	(void)state;
	attached(NULL);
	assert_int_equal(ask(QOI_ATTACH_OP_DROP, &value), 0);
	assert_int_equal(value, 3);
	fake_agent_refuse(&fake, QOI_ATTACH_OP_DROP, EBADF);
	assert_int_equal(ask(QOI_ATTACH_OP_DROP, &value), -EBADF);
	assert_non_null(strstr(qo_error_detail(), "not with me"));
	/* A refusal of that name is no hang-up. */
	fake_agent_refuse(&fake, QOI_ATTACH_OP_DROP, ECONNRESET);
	assert_int_equal(ask(QOI_ATTACH_OP_DROP, &value), -ECONNRESET);
	assert_false(qoi_link_is_lost(link_));
}

static void an_answer_that_does_not_come_is_waited_for_once(void **state)
{
	const struct qoi_layout_attach_page *page;
	struct timespec before, after;

	(void)state;
	attached("QO_AGENT_TIMEOUT=300ms");
	page = (const void *)link_->segment.base;
	fake_agent_silence(&fake, 1);
	assert_int_equal(page->revoked, 0);
	assert_int_equal(ask(QOI_ATTACH_OP_DROP, NULL), -ETIMEDOUT);
	assert_int_equal(page->revoked, 1);
	assert_true(qoi_link_is_lost(link_));
	clock_gettime(CLOCK_MONOTONIC, &before);
	assert_int_equal(ask(QOI_ATTACH_OP_DROP, NULL), -ECONNABORTED);
	clock_gettime(CLOCK_MONOTONIC, &after);
	assert_true((after.tv_sec - before.tv_sec) * 1000 +
			    (after.tv_nsec - before.tv_nsec) / 1000000 <
		    90);
	/* The agent's thread tells it to those who wait for requests. */
	assert_int_equal(qoi_link_look(link_), 1);
}

static void a_hang_up_is_a_lost_agent_told_once(void **state)
{
	struct pollfd end;

	(void)state;
	attached(NULL);
	assert_int_equal(qoi_link_look(link_), 0);
	end = (struct pollfd){ .fd = link_->epoll, .events = POLLIN };
	assert_int_equal(poll(&end, 1, 0), 0);
	/* An answer that nobody took does not wake who looks for the end. */
	assert_int_equal(ask(QOI_ATTACH_OP_DROP, NULL), 0);
	assert_int_equal(poll(&end, 1, 0), 0);
	fake_agent_stop(&fake);
	assert_int_equal(poll(&end, 1, 5000), 1);
	capture_start(&capture);
	assert_int_equal(qoi_link_look(link_), 1);
	assert_int_equal(qoi_link_look(link_), 0);
	capture_stop(&capture);
	assert_non_null(strstr(capture.text, "agent lost"));
	assert_true(qoi_link_is_lost(link_));
	assert_int_equal(poll(&end, 1, 0), 0);
	assert_int_equal(ask(QOI_ATTACH_OP_DROP, NULL), -ECONNABORTED);
}

static void commands_come_in_order_until_all_lanes_are_full(void **state)
{
	struct qoi_command *command, taken;
	struct qoi_lane *lane;
	uint32_t posted = 0;

	(void)state;
	attached("QO_AGENT_LANES=2");
	while ((lane = qoi_link_claim(link_, &command)) != NULL) {
		memset(command, 0, sizeof(*command));
		command->op_slot = posted++;
		qoi_link_commit(link_, lane);
		assert_true(posted <= 2 * 4096);
	}
	assert_int_equal(posted, 2 * link_->offer.lane_slots);
	/* One lane after the other, each in its order. */
	for (uint32_t i = 0; i < posted; i++) {
		assert_int_equal(fake_agent_take(&fake, &taken), 1);
		if (i == 0)
			assert_int_equal(taken.op_slot % (posted / 2), 0);
	}
	lane = qoi_link_claim(link_, &command);
	assert_non_null(lane);
	qoi_link_commit(link_, lane);
}

static void a_sleeping_daemon_is_woken_and_no_other(void **state)
{
	struct qoi_layout_attach_page *page;
	struct qoi_command *command;
	eventfd_t count;

	(void)state;
	attached(NULL);
	page = (void *)fake.segment.base;
	qoi_link_commit(link_, qoi_link_claim(link_, &command));
	assert_int_equal(eventfd_read(fake.wake_fd, &count), -1);
	qoi_set_own32(&page->asleep, 1);
	qoi_link_commit(link_, qoi_link_claim(link_, &command));
	assert_int_equal(eventfd_read(fake.wake_fd, &count), 0);
	assert_int_equal(count, 1);
}

static void a_region_is_found_by_what_lies_in_it(void **state)
{
	struct qoi_segment one, two;
	uint32_t number, first;
	uint64_t offset;

	(void)state;
	attached(NULL);
	assert_int_equal(qoi_segment_create("one", 8192, &one), 0);
	assert_int_equal(qoi_segment_create("two", 4096, &two), 0);
	assert_int_equal(qoi_link_region_add(link_, one.fd, one.base, 8192), 0);
	assert_int_equal(qoi_link_region_add(link_, two.fd, two.base, 4096), 0);
	assert_int_equal(
		qoi_link_region_find(link_, one.base, 8192, &first, &offset), 1);
	assert_int_equal(offset, 0);
	assert_int_equal(qoi_link_region_find(link_, two.base + 8, 4088,
					      &number, &offset),
			 1);
	assert_int_equal(offset, 8);
	assert_int_not_equal(number, first);
	assert_int_equal(qoi_link_region_find(link_, two.base + 8, 4089,
					      &number, &offset),
			 0);
	assert_int_equal(qoi_link_region_find(link_, &one, 1, &number, &offset),
			 0);
	assert_int_equal(qoi_link_region_find(link_, one.base + 8, UINT64_MAX,
					      &number, &offset),
			 0);
	qoi_link_region_drop(link_, one.base);
	assert_int_equal(
		qoi_link_region_find(link_, one.base, 1, &number, &offset), 0);
	qoi_link_region_drop(link_, &one);
	assert_int_equal(fake_agent_heard(&fake, QOI_ATTACH_REGION_DROP), 1);
	qoi_link_region_drop(link_, two.base);
	qoi_segment_detach(&one);
	qoi_segment_detach(&two);
}

static void a_region_that_was_refused_is_none(void **state)
{
	struct qoi_segment one;
	uint32_t number;
	uint64_t offset;

	(void)state;
	attached(NULL);
	fake_agent_refuse(&fake, QOI_ATTACH_REGION_ADD, ENOMEM);
	assert_int_equal(qoi_segment_create("one", 4096, &one), 0);
	capture_start(&capture);
	assert_int_equal(qoi_link_region_add(link_, one.fd, one.base, 4096),
			 -ENOMEM);
	capture_stop(&capture);
	assert_int_equal(
		qoi_link_region_find(link_, one.base, 1, &number, &offset), 0);
	qoi_segment_detach(&one);
}

static void region_expect(const struct qoi_segment *segment, uint32_t wanted)
{
	uint32_t number;
	uint64_t offset;

	assert_int_equal(qoi_link_region_add(link_, segment->fd, segment->base,
					     segment->bytes),
			 0);
	assert_int_equal(qoi_link_region_find(link_, segment->base, 1, &number,
					      &offset),
			 1);
	assert_int_equal(number, wanted);
}

static void region_numbers_come_back_once_they_are_free(void **state)
{
	struct qoi_segment segments[3];

	(void)state;
	attached(NULL);
	for (int i = 0; i < 3; i++)
		assert_int_equal(qoi_segment_create("one", 4096, &segments[i]),
				 0);
	link_->region_next = 65535;
	region_expect(&segments[0], 65535);
	region_expect(&segments[1], 0);
	link_->region_next = 65535;
	region_expect(&segments[2], 1);
	for (int i = 0; i < 3; i++) {
		qoi_link_region_drop(link_, segments[i].base);
		qoi_segment_detach(&segments[i]);
	}
	assert_int_equal(link_->region_count, 0);
}

/* In a forked child: 0 when it is refused all that speaks to the daemon. */
static int child_of_fork(void)
{
	struct qoi_attach_message question;
	int error;

	qoi_attach_message_init(&question, QOI_ATTACH_OP_DROP, 0);
	error = qoi_link_call(link_, &question, NULL);
	if (error != -EPERM || strstr(qo_error_detail(), "fork") == NULL)
		return 1;
	qoi_link_close(link_);
	return 0;
}

static void a_forked_child_says_nothing_not_even_good_bye(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	attached(NULL);
	pid = fork();
	if (pid == 0)
		_exit(child_of_fork());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(fake_agent_heard(&fake, QOI_ATTACH_BYE), 0);
	assert_int_equal(fake_agent_heard(&fake, QOI_ATTACH_OP_DROP), 0);
	assert_int_equal(ask(QOI_ATTACH_OP_DROP, NULL), 0);
}

static void the_end_of_a_link_says_good_bye(void **state)
{
	(void)state;
	attached(NULL);
	qoi_link_close(link_);
	link_ = NULL;
	assert_int_equal(fake_agent_heard(&fake, QOI_ATTACH_BYE), 1);
}

static void who_holds_an_ended_link_finds_it_lost(void **state)
{
	struct qoi_segment one;
	struct qoi_link *held;

	(void)state;
	attached(NULL);
	held = link_;
	assert_int_equal(qoi_segment_create("one", 4096, &one), 0);
	assert_int_equal(qoi_link_region_add(held, one.fd, one.base, 4096), 0);
	qoi_link_hold(held);
	qoi_link_close(held);
	link_ = NULL;
	assert_true(qoi_link_is_lost(held));
	qoi_link_region_drop(held, one.base);
	qoi_link_put(held);
	assert_int_equal(fake_agent_heard(&fake, QOI_ATTACH_REGION_DROP), 0);
	qoi_segment_detach(&one);
}

#define TEST(function)                                                         \
	cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_link_is_what_both_sides_said),
		TEST(a_right_to_write_that_was_not_shown_is_none),
		TEST(who_wants_no_copies_says_so),
		TEST(without_a_daemon_auto_has_no_link_and_says_nothing),
		TEST(a_refusal_is_told_and_auto_goes_on_without),
		TEST(a_refusal_ends_a_process_agent),
		TEST(another_layout_is_refused_with_both_hashes),
		TEST(a_daemon_that_is_leaving_is_tried_again),
		TEST(one_that_does_not_greet_is_given_up_in_time),
		TEST(without_a_program_process_says_how_to_name_one),
		TEST(answers_and_refusals_reach_who_asked),
		TEST(an_answer_that_does_not_come_is_waited_for_once),
		TEST(a_hang_up_is_a_lost_agent_told_once),
		TEST(commands_come_in_order_until_all_lanes_are_full),
		TEST(a_sleeping_daemon_is_woken_and_no_other),
		TEST(a_region_is_found_by_what_lies_in_it),
		TEST(a_region_that_was_refused_is_none),
		TEST(region_numbers_come_back_once_they_are_free),
		TEST(a_forked_child_says_nothing_not_even_good_bye),
		TEST(the_end_of_a_link_says_good_bye),
		TEST(who_holds_an_ended_link_finds_it_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
