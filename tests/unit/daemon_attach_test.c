/* SPDX-License-Identifier: BSD-3-Clause */
/* Who may attach to the daemon, with what, and what the others are told. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libqoffload/base/error.h"
#include "tests/unit/daemon_fixture.h"

/* Sends the prepared hello; gives what the daemon answers, and its text. */
static int attach_told(struct raw_client *client, int bell_page)
{
	struct qoi_attach_message answer;
	int rc;

	assert_int_equal(raw_hello(client, bell_page), 0);
	target_settle();
	rc = raw_welcomed(client, &answer);
	snprintf(answer_text, sizeof(answer_text), "%s",
		 rc < 0 ? (const char *)answer.body.answer.text : "");
	return rc;
}

static void assert_refused(struct raw_client *client, int bell_page, int error,
			   const char *word)
{
	assert_int_equal(attach_told(client, bell_page), error);
	assert_non_null(strstr(answer_text, word));
	assert_true(is_hung_up(client->fd));
	assert_int_equal(target->client_count, 0);
	assert_int_equal(target->session_count, 0);
	raw_close(client);
}

static void open_client(struct raw_client *client)
{
	assert_int_equal(raw_open(client, target_name, "job"), 0);
}

static void a_good_hello_is_welcome(void **state)
{
	struct raw_client client;

	(void)state;
	client_attach(&client, "job");
	assert_int_equal(client.daemon.version, QOI_LAYOUT_VERSION);
	assert_memory_equal(client.daemon.endpoint_id, target->id, 16);
	assert_int_equal(client.welcome.idle_clients, 1);
	assert_true(client.wake_fd >= 0);
	assert_int_equal(target->client_count, 1);
	assert_string_equal(target->sessions->job, "job");
	client_leave(&client);
	target_settle();
	assert_int_equal(target->session_count, 0);
	assert_int_equal(target->counts.clients_lost, 0);
}

/* Of this very process the memory may be read and written. */
static void the_reach_is_what_the_pair_may(void **state)
{
	struct raw_client client;

	(void)state;
	client_attach(&client, "job");
	assert_int_equal(client.welcome.reach, QOI_REACH_READ | QOI_REACH_WRITE);
	assert_memory_equal(client.probe, client.probe + 16, 16);
	client_leave(&client);
}

static void nothing_is_written_where_the_cookie_is_not(void **state)
{
	static const uint8_t nothing[16];
	struct qoi_attach_message answer;
	struct raw_client client;

	(void)state;
	open_client(&client);
	client.probe[0] ^= 1;
	raw_hello(&client, -1);
	target_settle();
	assert_int_equal(raw_welcomed(&client, &answer), 0);
	assert_int_equal(client.welcome.reach, 0);
	assert_memory_equal(client.probe + 16, nothing, 16);
	raw_close(&client);
	open_client(&client);
	client.hello.probe_address = 8;
	raw_hello(&client, -1);
	target_settle();
	assert_int_equal(raw_welcomed(&client, &answer), 0);
	assert_int_equal(client.welcome.reach, 0);
	raw_close(&client);
	open_client(&client);
	client.hello.flags = 0;
	raw_hello(&client, -1);
	target_settle();
	assert_int_equal(raw_welcomed(&client, &answer), 0);
	assert_int_equal(client.welcome.reach, 0);
	assert_memory_equal(client.probe + 16, nothing, 16);
	raw_close(&client);
}

static void another_version_or_layout_is_told_both(void **state)
{
	struct raw_client client;
	char word[64];

	(void)state;
	open_client(&client);
	client.hello.version = 4711;
	assert_refused(&client, -1, -EPROTONOSUPPORT, "version 4711");
	snprintf(word, sizeof(word), "version %d", QOI_LAYOUT_VERSION);
	assert_non_null(strstr(answer_text, word));
	open_client(&client);
	client.hello.layout_hash = 0xabcdef;
	assert_refused(&client, -1, -EPROTONOSUPPORT, "0000000000abcdef");
	assert_int_equal(target->counts.clients_refused, 2);
}

static void bytes_that_are_no_hello_are_refused(void **state)
{
	static uint8_t bytes[70000];
	static const size_t sizes[] = { 1, 15, 16, 17, 200, 271, 272, 273, 70000 };

	(void)state;
	srandom(20);
	for (size_t round = 0; round < 50; round++) {
		size_t size = sizes[round % 9];
		struct raw_client client;

		assert_int_equal(raw_open_observer(&client, target_name), 0);
		for (size_t i = 0; i < size; i++)
			bytes[i] = (uint8_t)random();
		assert_int_equal(send(client.fd, bytes, size, MSG_NOSIGNAL),
				 (ssize_t)size);
		target_settle();
		assert_true(is_hung_up(client.fd));
		raw_close(&client);
	}
	assert_int_equal(target->counts.clients_refused, 50);
	assert_int_equal(target->session_count, 0);
}

static void a_truncated_hello_is_refused(void **state)
{
	struct qoi_attach_message message;
	struct raw_client client;

	(void)state;
	for (size_t bytes = 1; bytes < 272; bytes += 9) {
		open_client(&client);
		qoi_attach_message_init(&message, QOI_ATTACH_HELLO, 1);
		message.body.hello.hello = client.hello;
		message.body.hello.offer = client.offer;
		message.header.bytes = (uint32_t)bytes;
		send(client.fd, &message, bytes, MSG_NOSIGNAL);
		target_settle();
		assert_true(is_hung_up(client.fd));
		raw_close(&client);
	}
	assert_int_equal(target->session_count, 0);
}

static void something_else_than_a_hello_is_refused(void **state)
{
	struct raw_client client;

	(void)state;
	open_client(&client);
	assert_int_equal(client_told(&client, QOI_ATTACH_BYE, NULL, 0, -1),
			 -EBADMSG);
	assert_non_null(strstr(answer_text, "hello"));
	assert_true(is_hung_up(client.fd));
	raw_close(&client);
}

static void impossible_offers_are_refused(void **state)
{
	struct raw_client client;
	static const struct qoi_layout_attach_offer offers[] = {
		{ .lane_count = 0, .lane_slots = 16, .completion_count = 64 },
		{ .lane_count = 17, .lane_slots = 16, .completion_count = 64 },
		{ .lane_count = UINT32_MAX,
		  .lane_slots = 16,
		  .completion_count = 64 },
		{ .lane_count = 1, .lane_slots = 0, .completion_count = 64 },
		{ .lane_count = 1, .lane_slots = 24, .completion_count = 64 },
		{ .lane_count = 1,
		  .lane_slots = UINT32_C(1) << 31,
		  .completion_count = 64 },
		{ .lane_count = 1, .lane_slots = 16, .completion_count = 0 },
		{ .lane_count = 1,
		  .lane_slots = 16,
		  .completion_count = UINT32_MAX },
		{ .lane_count = 1,
		  .lane_slots = 16,
		  .completion_count = 64,
		  .bell_bytes = UINT64_MAX },
		{ .lane_count = 1,
		  .lane_slots = 16,
		  .completion_count = 64,
		  .bell_bytes = 4096,
		  .bell_offset = 4000 },
		{ .lane_count = 1,
		  .lane_slots = 16,
		  .completion_count = 64,
		  .bell_bytes = 4096,
		  .bell_offset = UINT32_MAX },
		{ .lane_count = 1,
		  .lane_slots = 16,
		  .completion_count = 64,
		  .bell_bytes = 4096,
		  .bell_offset = 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(offers) / sizeof(offers[0]); i++) {
		open_client(&client);
		client.offer = offers[i];
		assert_refused(&client, -1, -EBADMSG, "attach");
	}
}

/* Gives the client another memory file in place of its segment. */
static void segment_replace(struct raw_client *client, int fd)
{
	assert_true(fd >= 0);
	close(client->segment.fd);
	client->segment.fd = fd;
}

static void a_segment_that_can_be_cut_off_is_refused(void **state)
{
	struct raw_client client;
	uint64_t bytes;

	(void)state;
	open_client(&client);
	bytes = client.places.bytes;
	segment_replace(&client, raw_memory(bytes, 0, 1));
	assert_refused(&client, -1, -EPERM, "sealed");
	open_client(&client);
	segment_replace(&client, raw_memory(bytes, 1, 0));
	assert_refused(&client, -1, -EBADMSG, "reserved");
	open_client(&client);
	segment_replace(&client, raw_memory(bytes + 4096, 1, 1));
	assert_refused(&client, -1, -EBADMSG, "bytes");
	open_client(&client);
	client.hello.window_bytes += 4096;
	assert_refused(&client, -1, -EBADMSG, "bytes");
	open_client(&client);
	close(client.segment.fd);
	client.segment.fd = -1;
	assert_refused(&client, -1, -EBADMSG, "segment of 0 bytes");
}

static void what_is_no_memory_file_is_refused(void **state)
{
	char path[] = "/tmp/qo-daemon-test-XXXXXX";
	struct raw_client client;
	int pipes[2];
	int fd;

	(void)state;
	open_client(&client);
	fd = mkstemp(path);
	unlink(path);
	assert_int_equal(posix_fallocate(fd, 0, (off_t)client.places.bytes), 0);
	segment_replace(&client, fd);
	assert_refused(&client, -1, -EBADMSG, "not shared memory");
	open_client(&client);
	assert_int_equal(pipe(pipes), 0);
	close(pipes[0]);
	segment_replace(&client, pipes[1]);
	assert_int_equal(attach_told(&client, -1), -EBADMSG);
	raw_close(&client);
	open_client(&client);
	segment_replace(&client, open("/dev/zero", O_RDWR | O_CLOEXEC));
	assert_int_equal(attach_told(&client, -1), -EBADMSG);
	raw_close(&client);
	open_client(&client);
	/* The daemon's own end: what a loop of sockets would keep alive. */
	segment_replace(&client, dup(client.fd));
	assert_int_equal(attach_told(&client, -1), -EBADMSG);
	raw_close(&client);
}

static void huge_pages_are_refused(void **state)
{
	struct raw_client client;
	int fd = memfd_create("huge",
			      MFD_HUGETLB | MFD_ALLOW_SEALING | MFD_CLOEXEC);

	(void)state;
	if (fd < 0) {
		print_message("no huge pages here\n");
		skip();
	}
	open_client(&client);
	if (ftruncate(fd, 2 << 20) != 0 ||
	    fcntl(fd, F_ADD_SEALS, RAW_SEALS) != 0) {
		close(fd);
		raw_close(&client);
		print_message("no huge pages here\n");
		skip();
	}
	segment_replace(&client, fd);
	assert_refused(&client, -1, -EBADMSG, "ordinary pages");
}

static void a_bell_lies_in_its_page(void **state)
{
	struct qoi_attach_message answer;
	struct raw_client client;
	struct qoi_segment page = { .fd = -1 };
	struct qoi_bell *bell;

	(void)state;
	assert_int_equal(qoi_segment_create("bell", 4096, &page), 0);
	open_client(&client);
	client.offer.bell_bytes = 4096;
	client.offer.bell_offset = 4096 - 128;
	assert_int_equal(raw_hello(&client, page.fd), 0);
	target_settle();
	assert_int_equal(raw_welcomed(&client, &answer), 0);
	qoi_bell_ring_waiters(target->sessions->bell);
	bell = (void *)(page.base + 4096 - 128);
	assert_int_equal(bell->sequence, 1);
	client_leave(&client);
	/* Without the page, and with one that can be cut off. */
	open_client(&client);
	client.offer.bell_bytes = 4096;
	assert_refused(&client, -1, -EBADMSG, "page");
	open_client(&client);
	client.offer.bell_bytes = 4096;
	qoi_segment_detach(&page);
	page.fd = raw_memory(4096, 0, 1);
	assert_refused(&client, page.fd, -EPERM, "sealed");
	close(page.fd);
}

static void jobs_are_counted_and_limited(void **state)
{
	struct raw_client clients[3];

	(void)state;
	target->params.jobs_max = 2;
	client_attach(&clients[0], "a");
	client_attach(&clients[1], "a");
	assert_int_equal(target->job_count, 1);
	client_attach(&clients[2], "b\n");
	assert_int_equal(target->job_count, 2);
	assert_string_equal(target->sessions->next->next->job, "b?");
	client_leave(&clients[2]);
	client_attach(&clients[2], "c");
	{
		struct raw_client other;

		assert_int_equal(raw_open(&other, target_name, "d"), 0);
		assert_int_equal(attach_told(&other, -1), -EAGAIN);
		assert_non_null(strstr(answer_text, "--jobs"));
		raw_close(&other);
	}
	for (int i = 0; i < 3; i++)
		client_leave(&clients[i]);
	target_settle();
	assert_int_equal(target->job_count, 0);
}

static void a_daemon_that_stops_takes_no_more(void **state)
{
	struct raw_client attached, late, guest;

	(void)state;
	client_attach(&attached, "a");
	open_client(&guest);
	target_settle();
	target->pending = 1; /* so that it drains */
	target->params.drain_ns = UINT64_C(3600000000000);
	qoi_daemon_stop(target);
	assert_false(qoi_daemon_over(target));
	target_settle();
	assert_true(is_hung_up(guest.fd));
	assert_int_equal(raw_open(&late, target_name, "a"), -1);
	assert_false(is_hung_up(attached.fd));
	raw_close(&guest);
	target->pending = 0;
	assert_true(qoi_daemon_over(target));
	client_leave(&attached);
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, target_open, target_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_good_hello_is_welcome),
		TEST(the_reach_is_what_the_pair_may),
		TEST(nothing_is_written_where_the_cookie_is_not),
		TEST(another_version_or_layout_is_told_both),
		TEST(bytes_that_are_no_hello_are_refused),
		TEST(a_truncated_hello_is_refused),
		TEST(something_else_than_a_hello_is_refused),
		TEST(impossible_offers_are_refused),
		TEST(a_segment_that_can_be_cut_off_is_refused),
		TEST(what_is_no_memory_file_is_refused),
		TEST(huge_pages_are_refused),
		TEST(a_bell_lies_in_its_page),
		TEST(jobs_are_counted_and_limited),
		TEST(a_daemon_that_stops_takes_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
