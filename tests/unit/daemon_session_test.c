/* SPDX-License-Identifier: BSD-3-Clause */
/* What a client may ask, and what it is told. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "libqoffload/coll/schedule.h"
#include "tests/unit/daemon_fixture.h"

#define REGION_BYTES CLIENT_REGION_BYTES

static int region_told(struct raw_client *client, uint16_t kind,
		       uint32_t number, uint64_t bytes, int fd)
{
	const struct qoi_layout_attach_region region = { .region = number,
							 .bytes = bytes };

	return client_told(client, kind, &region, sizeof(region), fd);
}

static int region_drop(struct raw_client *client, uint32_t number)
{
	return region_told(client, QOI_ATTACH_REGION_DROP, number, 0, -1);
}

static void regions_come_and_go(void **state)
{
	struct raw_client client;
	int before;

	(void)state;
	client_attach(&client, "job");
	target_run();
	before = shared_mappings();
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(client_region_add(&client, i * 7), 0);
	assert_int_equal(target->region_count, 100);
	assert_int_equal(target->region_bytes, 100 * REGION_BYTES);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(region_drop(&client, i * 7), 0);
	assert_int_equal(client_region_add(&client, 7), 0);
	assert_int_equal(region_drop(&client, 7), 0);
	assert_int_equal(target->sessions->region_bytes, 0);
	assert_null(target->untouched);
	/* Unmapped piece by piece, when there is nothing else. */
	assert_int_equal(target->region_count, 101);
	target_run();
	assert_null(target->forsaken);
	assert_int_equal(target->region_count, 0);
	assert_int_equal(target->region_bytes, 0);
	assert_int_equal(shared_mappings(), before);
	client_leave(&client);
}

static void a_region_is_paged_in_when_there_is_nothing_else(void **state)
{
	struct raw_client client;

	(void)state;
	client_attach(&client, "job");
	assert_int_equal(client_region_add(&client, 0), 0);
	assert_int_equal(client_region_add(&client, 1), 0);
	assert_non_null(target->untouched);
	target_run();
	assert_null(target->untouched);
	assert_int_equal(target->sessions->regions[0]->touched, REGION_BYTES);
	assert_int_equal(target->sessions->regions[1]->touched, REGION_BYTES);
	/* One that goes while it is paged in. */
	assert_int_equal(client_region_add(&client, 2), 0);
	qoi_daemon_cycle(target);
	assert_int_equal(region_drop(&client, 2), 0);
	assert_null(target->untouched);
	client_leave(&client);
}

static void the_bytes_of_a_region_are_the_clients(void **state)
{
	struct raw_client client;
	int fd = raw_memory(REGION_BYTES, 1, 1);
	uint8_t *at;

	(void)state;
	client_attach(&client, "job");
	assert_int_equal(pwrite(fd, "seen", 4, 4096), 4);
	assert_int_equal(region_told(&client, QOI_ATTACH_REGION_ADD, 3,
				     REGION_BYTES, fd),
			 0);
	at = qoi_region_at(target->sessions, 3, 4096, REGION_BYTES - 4096);
	assert_memory_equal(at, "seen", 4);
	assert_null(
		qoi_region_at(target->sessions, 3, 4097, REGION_BYTES - 4096));
	assert_null(qoi_region_at(target->sessions, 3, UINT64_MAX, 2));
	assert_null(qoi_region_at(target->sessions, 3, 1, UINT64_MAX));
	assert_null(qoi_region_at(target->sessions, 4, 0, 0));
	assert_null(qoi_region_at(target->sessions, UINT32_MAX, 0, 0));
	client_leave(&client);
}

static void bad_regions_are_refused_and_change_nothing(void **state)
{
	struct raw_client client;
	const uint16_t add = QOI_ATTACH_REGION_ADD;

	(void)state;
	client_attach(&client, "job");
	assert_int_equal(client_region_add(&client, 65536), -EINVAL);
	assert_int_equal(client_region_add(&client, UINT32_MAX), -EINVAL);
	assert_int_equal(region_told(&client, add, 0, 4096, -1), -EBADMSG);
	assert_int_equal(region_told(&client, add, 0, 0, raw_memory(4096, 1, 1)),
			 -EINVAL);
	assert_int_equal(region_told(&client, add, 0, UINT64_MAX,
				     raw_memory(4096, 1, 1)),
			 -EBADMSG);
	assert_int_equal(region_told(&client, add, 0, 4096,
				     raw_memory(4096, 0, 1)),
			 -EPERM);
	assert_int_equal(region_told(&client, add, 0, UINT64_C(1) << 40,
				     raw_memory(UINT64_C(1) << 40, 1, 0)),
			 -EBADMSG);
	assert_non_null(strstr(answer_text, "reserved"));
	assert_int_equal(region_drop(&client, 0), -EBADF);
	assert_int_equal(region_drop(&client, UINT32_MAX), -EBADF);
	assert_int_equal(client_region_add(&client, 5), 0);
	assert_int_equal(client_region_add(&client, 5), -EBUSY);
	assert_int_equal(target->region_count, 1);
	assert_int_equal(target->counts.commands_bad, 10);
	assert_int_equal(target->sessions->counts.commands_bad, 10);
	client_leave(&client);
}

static int op_told(struct raw_client *client, struct qoi_layout_attach_op ask,
		   int fd)
{
	return client_told(client, QOI_ATTACH_OP_ADD, &ask, sizeof(ask), fd);
}

/* A copy of 8 bytes to oneself: a team of one. */
static const struct qoi_step copy_step = { .kind = QOI_STEP_COPY,
					   .from = QOI_BUFFER_SEND,
					   .to = QOI_BUFFER_RECV,
					   .bytes = 8 };

static struct qoi_layout_attach_op copy_ask(void)
{
	struct qoi_layout_attach_op ask = {
		.team = 1,
		.count = 1,
		.stage_count = 1,
		.step_count = 1,
		.buffer_kind = { QOI_BUFFER_REGION, QOI_BUFFER_REGION },
		.buffer_offset = { 0, 64 },
		.buffer_bytes = { 8, 8 },
	};

	return ask;
}

static void an_operation_is_added_carried_out_and_dropped(void **state)
{
	const struct qoi_layout_attach_op_end end = { .op = 0 };
	struct qoi_layout_completion_slot *slot;
	struct raw_client client;
	int fd = raw_memory(REGION_BYTES, 1, 1);
	uint64_t word;
	char found[8];

	(void)state;
	client_attach(&client, "job");
	assert_int_equal(pwrite(fd, "carried", 8, 0), 8);
	assert_int_equal(region_told(&client, QOI_ATTACH_REGION_ADD, 0,
				     REGION_BYTES, dup(fd)),
			 0);
	assert_int_equal(op_told(&client, copy_ask(), raw_steps(&copy_step, 1)),
			 0);
	slot = qoi_attach_completion(&client.places, client.segment.base, 0);
	qoi_attach_local_reset(slot, 77);
	assert_int_equal(raw_post(&client, 1, 0, 77), 0);
	target_run();
	assert_int_equal(qoi_attach_completed(slot, 77, &word), 1);
	assert_int_equal(qoi_completion_state(word), QOI_COMPLETION_DONE);
	assert_int_equal(pread(fd, found, 8, 64), 8);
	assert_string_equal(found, "carried");
	assert_int_equal(client_told(&client, QOI_ATTACH_OP_DROP, &end,
				     sizeof(end), -1),
			 0);
	assert_int_equal(client_told(&client, QOI_ATTACH_OP_DROP, &end,
				     sizeof(end), -1),
			 -EBADF);
	close(fd);
	client_leave(&client);
	assert_int_equal(target->group_count, 0);
}

static void steps_that_are_no_steps_are_refused(void **state)
{
	struct qoi_layout_attach_op ask = copy_ask();
	struct qoi_step step = copy_step;
	struct raw_client client;

	(void)state;
	client_attach(&client, "job");
	assert_int_equal(client_region_add(&client, 0), 0);
	assert_int_equal(op_told(&client, ask, -1), -EBADMSG);
	assert_int_equal(op_told(&client, ask, raw_memory(4096, 0, 0)), -EPERM);
	assert_int_equal(op_told(&client, ask, raw_memory(8192, 1, 0)),
			 -EBADMSG);
	ask.step_count = UINT32_MAX;
	assert_int_equal(op_told(&client, ask, raw_memory(4096, 1, 0)),
			 -EMSGSIZE);
	ask.step_count = 2;
	assert_true(op_told(&client, ask, raw_memory(4096, 1, 0)) < 0);
	ask.step_count = 1;
	step.bytes = 9;
	assert_true(op_told(&client, ask, raw_steps(&step, 1)) < 0);
	ask.buffer_region[0] = 1;
	assert_true(op_told(&client, ask, raw_steps(&copy_step, 1)) < 0);
	assert_int_equal(target->sessions->half_count, 0);
	assert_int_equal(target->group_count, 0);
	client_leave(&client);
}

static void an_unknown_message_is_told_and_forgiven(void **state)
{
	static const uint16_t kinds[] = { QOI_ATTACH_HELLO, QOI_ATTACH_WELCOME,
					  QOI_ATTACH_ANSWER };
	static const uint8_t nothing[256];
	struct qoi_layout_attach_header header = { .magic = QOI_ATTACH_MAGIC,
						   .kind = 99,
						   .token = 5,
						   .bytes = sizeof(header) };
	struct qoi_attach_message answer;
	struct raw_client client;

	(void)state;
	client_attach(&client, "job");
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(client_told(&client, kinds[i], nothing,
					     qoi_attach_body_bytes(kinds[i]), -1),
				 -EINVAL);
	send(client.fd, &header, sizeof(header), MSG_NOSIGNAL);
	target_settle();
	client.token = 5;
	assert_int_equal(raw_answer(&client, &answer), -EBADMSG);
	send(client.fd, "garbage", 7, MSG_NOSIGNAL);
	target_settle();
	client.token = 0;
	assert_int_equal(raw_answer(&client, &answer), -EBADMSG);
	assert_int_equal(target->sessions->counts.commands_bad, 5);
	client_leave(&client);
}

/* Both descriptors are the daemon's to close, asked for or not. */
static void descriptors_that_nobody_asked_for_are_closed(void **state)
{
	struct qoi_attach_message message;
	struct raw_client client;
	int before;

	(void)state;
	client_attach(&client, "job");
	before = open_descriptors();
	for (uint16_t kind = 1; kind < 10; kind++) {
		struct qoi_attach_message answer;

		if (kind == QOI_ATTACH_BYE)
			continue;
		qoi_attach_message_init(&message, kind, ++client.token);
		message.fds[0] = open("/dev/null", O_RDONLY);
		message.fds[1] = open("/dev/null", O_RDONLY);
		qoi_attach_send(client.fd, &message);
		qoi_attach_message_close(&message);
		target_settle();
		assert_true(raw_answer(&client, &answer) < 0);
	}
	assert_true(descriptors_come_to(before));
	client_leave(&client);
}

static void who_does_not_read_its_answers_is_dropped(void **state)
{
	struct raw_client silent, other;
	int sent = 0;

	(void)state;
	client_attach(&other, "job");
	client_attach(&silent, "job");
	while (target->client_count == 2) {
		if (raw_ask(&silent, QOI_ATTACH_REGION_DROP, NULL, 0, -1) != 0)
			break;
		assert_true(++sent < 100000);
		target_settle();
	}
	assert_int_equal(target->client_count, 1);
	assert_int_equal(target->counts.clients_lost, 1);
	raw_close(&silent);
	assert_int_equal(client_region_add(&other, 0), 0);
	client_leave(&other);
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, target_open, target_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(regions_come_and_go),
		TEST(a_region_is_paged_in_when_there_is_nothing_else),
		TEST(the_bytes_of_a_region_are_the_clients),
		TEST(bad_regions_are_refused_and_change_nothing),
		TEST(an_operation_is_added_carried_out_and_dropped),
		TEST(steps_that_are_no_steps_are_refused),
		TEST(an_unknown_message_is_told_and_forgiven),
		TEST(descriptors_that_nobody_asked_for_are_closed),
		TEST(who_does_not_read_its_answers_is_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
