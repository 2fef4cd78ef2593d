/* SPDX-License-Identifier: BSD-3-Clause */
/* What a client may ask, how it ends, and that nothing of it stays. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libqoffload/coll/schedule.h"
#include "tests/unit/daemon_fixture.h"

#define REGION_BYTES (UINT64_C(1) << 20)
/* A limit for what a process of the test needs until it is seen. */
#define SEEN_TRIES 10000

static int region_told(struct raw_client *client, uint16_t kind,
		       uint32_t number, uint64_t bytes, int fd)
{
	const struct qoi_layout_attach_region region = { .region = number,
							 .bytes = bytes };

	return client_told(client, kind, &region, sizeof(region), fd);
}

static int region_add(struct raw_client *client, uint32_t number)
{
	return region_told(client, QOI_ATTACH_REGION_ADD, number, REGION_BYTES,
			   raw_memory(REGION_BYTES, 1, 1));
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
	before = mapping_count();
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(region_add(&client, i * 7), 0);
	assert_int_equal(target->region_count, 100);
	assert_int_equal(target->region_bytes, 100 * REGION_BYTES);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(region_drop(&client, i * 7), 0);
	assert_int_equal(region_add(&client, 7), 0);
	assert_int_equal(region_drop(&client, 7), 0);
	assert_int_equal(target->region_count, 0);
	assert_int_equal(target->region_bytes, 0);
	assert_int_equal(target->sessions->region_bytes, 0);
	assert_null(target->untouched);
	/* The kernel joins and splits neighbours; the heap has a few. */
	assert_true(mapping_count() <= before + 4);
	client_leave(&client);
}

static void a_region_is_paged_in_when_there_is_nothing_else(void **state)
{
	struct raw_client client;

	(void)state;
	client_attach(&client, "job");
	assert_int_equal(region_add(&client, 0), 0);
	assert_int_equal(region_add(&client, 1), 0);
	assert_non_null(target->untouched);
	target_run();
	assert_null(target->untouched);
	assert_int_equal(target->sessions->regions[0]->touched, REGION_BYTES);
	assert_int_equal(target->sessions->regions[1]->touched, REGION_BYTES);
	/* One that goes while it is paged in. */
	assert_int_equal(region_add(&client, 2), 0);
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
	assert_int_equal(region_add(&client, 65536), -EINVAL);
	assert_int_equal(region_add(&client, UINT32_MAX), -EINVAL);
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
	assert_int_equal(region_add(&client, 5), 0);
	assert_int_equal(region_add(&client, 5), -EBUSY);
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
	assert_int_equal(region_add(&client, 0), 0);
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
	assert_int_equal(open_descriptors(), before);
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
	assert_int_equal(region_add(&other, 0), 0);
	client_leave(&other);
}

/* Readable for ever once the test closes its end: children leave then. */
static int hold[2];

static void stay(struct raw_client *client)
{
	struct pollfd end = { .fd = hold[0], .events = POLLIN };

	(void)client;
	close(hold[1]);
	poll(&end, 1, -1);
}

static void leave_without_waiting(struct raw_client *client)
{
	raw_ask(client, QOI_ATTACH_REGION_DROP, NULL, 0, -1);
	raw_ask(client, QOI_ATTACH_BYE, NULL, 0, -1);
}

/* A child of it keeps the socket open. */
static void fork_and_die(struct raw_client *client)
{
	if (fork() == 0)
		stay(client);
	else
		kill(getpid(), SIGKILL);
}

/* A client that attaches, does that, and ends. */
static pid_t fork_client(void (*live)(struct raw_client *client))
{
	struct raw_client client;
	struct pollfd answer;
	pid_t pid;

	assert_int_equal(pipe(hold), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid != 0)
		return pid;
	if (raw_open(&client, target_name, "forked") != 0 ||
	    raw_hello(&client, -1) != 0)
		_exit(1);
	answer = (struct pollfd){ .fd = client.fd, .events = POLLIN };
	if (poll(&answer, 1, 10000) != 1)
		_exit(1);
	live(&client);
	_exit(0);
}

static void reap(pid_t pid)
{
	close(hold[0]);
	close(hold[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Looks until it has so many clients, as long as a second process may need. */
static void wait_for_clients(uint32_t count)
{
	int tries = 0;

	while (target->client_count != count) {
		struct pollfd epoll = { .fd = target->epoll, .events = POLLIN };

		poll(&epoll, 1, 1000);
		qoi_daemon_look(target);
		assert_true(++tries < SEEN_TRIES);
	}
}

static void a_client_that_is_killed_is_seen_and_gone(void **state)
{
	pid_t pid = fork_client(stay);

	(void)state;
	wait_for_clients(1);
	assert_int_equal(target->sessions->far.pid, pid);
	assert_false(qoi_session_is_dead(target->sessions));
	kill(pid, SIGKILL);
	wait_for_clients(0);
	reap(pid);
	assert_int_equal(target->counts.clients_lost, 1);
	assert_int_equal(target->session_count, 0);
}

static void a_child_that_holds_the_socket_does_not_hide_a_death(void **state)
{
	pid_t pid = fork_client(fork_and_die);

	(void)state;
	wait_for_clients(1);
	if (target->sessions->far.pid_fd >= 0) {
		wait_for_clients(0);
		assert_int_equal(target->counts.clients_lost, 1);
	}
	reap(pid);
	wait_for_clients(0);
}

static void a_good_bye_counts_though_its_process_has_ended(void **state)
{
	pid_t pid = fork_client(leave_without_waiting);

	(void)state;
	wait_for_clients(1);
	/* All of it is there before the daemon looks again. */
	reap(pid);
	wait_for_clients(0);
	assert_int_equal(target->counts.clients_lost, 0);
}

static void a_closed_socket_alone_is_a_loss(void **state)
{
	struct raw_client client;

	(void)state;
	client_attach(&client, "job");
	raw_close(&client);
	target_settle();
	assert_int_equal(target->counts.clients_lost, 1);
	assert_int_equal(target->session_count, 0);
}

static void silent_connections_take_no_room_from_others(void **state)
{
	struct raw_client silent[200], client;
	int open_ends = 0;

	(void)state;
	for (int i = 0; i < 200; i++) {
		assert_int_equal(raw_open_observer(&silent[i], target_name), 0);
		if (i % 8 == 7)
			target_settle();
	}
	assert_int_equal(target->session_count, QOI_GUESTS_MAX);
	client_attach(&client, "job");
	for (int i = 0; i < 200; i++)
		open_ends += !is_hung_up(silent[i].fd);
	assert_int_equal(open_ends, QOI_GUESTS_MAX - 1);
	/* The oldest went: the last one can still say hello. */
	assert_int_equal(raw_hello(&silent[199], -1), 0);
	target_settle();
	assert_false(is_hung_up(silent[199].fd));
	for (int i = 0; i < 200; i++)
		raw_close(&silent[i]);
	client_leave(&client);
}

/* However many come at once: what they said is read before they have to go. */
static void a_crowd_that_says_hello_is_let_in(void **state)
{
	static struct raw_client crowd[150];
	struct qoi_attach_message answer;
	int i;

	(void)state;
	for (i = 0; i < 150; i++) {
		assert_int_equal(raw_open(&crowd[i], target_name, "job"), 0);
		assert_int_equal(raw_hello(&crowd[i], -1), 0);
		/* Accepted, but not read. */
		if (i % 16 == 15)
			qoi_daemon_look(target);
	}
	target_settle();
	for (i = 0; i < 150; i++)
		assert_int_equal(raw_welcomed(&crowd[i], &answer), 0);
	assert_int_equal(target->client_count, 150);
	assert_int_equal(target->counts.clients_refused, 0);
	for (i = 0; i < 150; i++)
		client_leave(&crowd[i]);
}

static void nothing_stays_of_300_sessions(void **state)
{
	int descriptors = 0, mappings = 0;

	(void)state;
	for (int i = 0; i < 300; i++) {
		struct raw_client client;

		client_attach(&client, i % 2 == 0 ? "a" : "b");
		assert_int_equal(region_add(&client, 1), 0);
		assert_int_equal(op_told(&client, copy_ask(), -1), -EBADMSG);
		if (i % 3 == 0)
			raw_close(&client);
		else
			client_leave(&client);
		target_run();
		if (i == 20) {
			descriptors = open_descriptors();
			mappings = mapping_count();
		}
	}
	assert_int_equal(open_descriptors(), descriptors);
	assert_int_equal(mapping_count(), mappings);
	assert_int_equal(target->region_count, 0);
	assert_int_equal(target->counts.clients_ever, 300);
	assert_int_equal(target->counts.clients_lost, 100);
}

static void set_limit(rlim_t descriptors)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = descriptors;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void without_a_descriptor_the_client_is_told(void **state)
{
	struct qoi_attach_message answer;
	struct raw_client first, second;
	struct rlimit before;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(raw_open(&first, target_name, "job"), 0);
	assert_int_equal(raw_open(&second, target_name, "job"), 0);
	/* The second finds no place at all; the first has no room for more. */
	assert_int_equal(raw_hello(&first, -1), 0);
	set_limit((rlim_t)second.segment.fd + 1);
	target_settle();
	set_limit(before.rlim_cur);
	first.token = 0;
	assert_int_equal(raw_welcomed(&first, &answer), -ENOMEM);
	assert_non_null(strstr((char *)answer.body.answer.text, "ulimit -n"));
	assert_int_equal(target->counts.clients_refused, 2);
	raw_close(&first);
	raw_close(&second);
	client_attach(&first, "job");
	client_leave(&first);
}

static void no_descriptor_for_a_region_is_told(void **state)
{
	struct qoi_layout_attach_region region = { .bytes = 4096 };
	struct qoi_attach_message answer;
	struct raw_client client;
	struct rlimit before;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	client_attach(&client, "job");
	assert_int_equal(raw_ask(&client, QOI_ATTACH_REGION_ADD, &region,
				 sizeof(region), raw_memory(4096, 1, 1)),
			 0);
	set_limit(3);
	target_settle();
	set_limit(before.rlim_cur);
	assert_int_equal(raw_answer(&client, &answer), -ENOMEM);
	assert_non_null(strstr((char *)answer.body.answer.text, "ulimit -n"));
	client_leave(&client);
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
		TEST(a_client_that_is_killed_is_seen_and_gone),
		TEST(a_child_that_holds_the_socket_does_not_hide_a_death),
		TEST(a_good_bye_counts_though_its_process_has_ended),
		TEST(a_closed_socket_alone_is_a_loss),
		TEST(silent_connections_take_no_room_from_others),
		TEST(a_crowd_that_says_hello_is_let_in),
		TEST(nothing_stays_of_300_sessions),
		TEST(without_a_descriptor_the_client_is_told),
		TEST(no_descriptor_for_a_region_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
