/* SPDX-License-Identifier: BSD-3-Clause */
/* How sessions end, how many there may be, and that nothing of them stays. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/daemon_fixture.h"

/* A limit for what a process of the test needs until it is seen. */
#define SEEN_TRIES 10000

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
	stay(client);
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

static int kernel_has_pid_fds(void)
{
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void a_child_that_holds_the_socket_does_not_hide_a_death(void **state)
{
	pid_t pid = fork_client(fork_and_die);

	(void)state;
	wait_for_clients(1);
	if (kernel_has_pid_fds()) {
		wait_for_clients(0);
		assert_int_equal(target->counts.clients_lost, 1);
	} else {
		print_message("no pidfd here: the child's end is awaited\n");
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

/* The first answer finds nobody, and that must not hide what follows. */
static void a_good_bye_counts_behind_a_question(void **state)
{
	struct raw_client client;

	(void)state;
	client_attach(&client, "job");
	assert_int_equal(raw_ask(&client, QOI_ATTACH_REGION_DROP, NULL, 0, -1),
			 0);
	assert_int_equal(raw_ask(&client, QOI_ATTACH_BYE, NULL, 0, -1), 0);
	raw_close(&client);
	target_settle();
	assert_int_equal(target->session_count, 0);
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

/* The client has its copies of them for as long as it likes. */
static void a_client_that_left_can_wake_nobody(void **state)
{
	const uint64_t one = 1;
	struct raw_client client;
	int wake_fd;

	(void)state;
	client_attach(&client, "job");
	wake_fd = client.wake_fd;
	client.wake_fd = -1;
	assert_int_equal(write(wake_fd, &one, sizeof(one)), sizeof(one));
	assert_int_equal(qoi_daemon_look(target), 1);
	/* Once for each write, though nobody reads it empty. */
	assert_int_equal(qoi_daemon_look(target), 0);
	assert_int_equal(write(wake_fd, &one, sizeof(one)), sizeof(one));
	assert_int_equal(qoi_daemon_look(target), 1);
	client_leave(&client);
	target_settle();
	assert_int_equal(write(wake_fd, &one, sizeof(one)), sizeof(one));
	assert_int_equal(qoi_daemon_look(target), 0);
	close(wake_fd);
}

/* It gave us up while we stood still: its memory may be anything by now. */
static void a_client_that_revoked_its_memory_is_let_go(void **state)
{
	struct raw_client client, other;
	struct qoi_layout_attach_page *page;

	(void)state;
	client_attach(&client, "job");
	client_attach(&other, "job");
	assert_int_equal(client_region_add(&client, 0), 0);
	target_run();
	assert_int_equal(target->client_count, 2);
	page = (void *)client.segment.base;
	page->revoked = 1;
	qoi_daemon_cycle(target);
	assert_int_equal(target->client_count, 1);
	target_run();
	assert_int_equal(target->region_count, 0);
	assert_int_equal(target->counts.clients_lost, 1);
	raw_close(&client);
	client_leave(&other);
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
		int fd;

		assert_int_equal(raw_open(&crowd[i], target_name, "job"), 0);
		assert_int_equal(raw_hello(&crowd[i], -1), 0);
		/* Let in, but not read. */
		fd = accept4(target->door.fd, NULL, NULL,
			     SOCK_NONBLOCK | SOCK_CLOEXEC);
		assert_true(fd >= 0);
		assert_int_equal(qoi_session_create(target, fd), 0);
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
	const struct qoi_layout_attach_op ask = { .count = 1, .step_count = 1 };
	int descriptors = 0, mappings = 0;

	(void)state;
	for (int i = 0; i < 300; i++) {
		struct raw_client client;

		client_attach(&client, i % 2 == 0 ? "a" : "b");
		assert_int_equal(client_region_add(&client, 1), 0);
		assert_int_equal(client_told(&client, QOI_ATTACH_OP_ADD, &ask,
					     sizeof(ask), -1),
				 -EBADMSG);
		if (i % 3 == 0)
			raw_close(&client);
		else
			client_leave(&client);
		target_run();
		if (i == 20) {
			descriptors = open_descriptors();
			mappings = shared_mappings();
		}
	}
	assert_true(descriptors_come_to(descriptors));
	assert_int_equal(shared_mappings(), mappings);
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
		TEST(a_client_that_is_killed_is_seen_and_gone),
		TEST(a_child_that_holds_the_socket_does_not_hide_a_death),
		TEST(a_good_bye_counts_though_its_process_has_ended),
		TEST(a_good_bye_counts_behind_a_question),
		TEST(a_closed_socket_alone_is_a_loss),
		TEST(a_client_that_left_can_wake_nobody),
		TEST(a_client_that_revoked_its_memory_is_let_go),
		TEST(silent_connections_take_no_room_from_others),
		TEST(a_crowd_that_says_hello_is_let_in),
		TEST(nothing_stays_of_300_sessions),
		TEST(without_a_descriptor_the_client_is_told),
		TEST(no_descriptor_for_a_region_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
