/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies to and from the memory of another process. */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "libqoffload/agent/exec.h"

#define BYTES 300000

/* A child has its own copy of this at the same address. */
static uint8_t memory[BYTES];
static uint8_t local[BYTES];

struct child {
	struct qoi_far far;
	int go; /* closing it ends the child */
};

static void child_start(struct child *child)
{
	int ends[2];
	int ready[2];
	char byte;

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(pipe(ready), 0);
	memset(child, 0, sizeof(*child));
	child->far.socket = -1;
	child->far.pid = fork();
	if (child->far.pid == 0) {
		close(ends[1]);
		for (int i = 0; i < BYTES; i++)
			memory[i] = (uint8_t)(i * 7);
		if (write(ready[1], "r", 1) != 1)
			_exit(2);
		/* Until the parent lets go; then tells what it finds. */
		if (read(ends[0], &byte, 1) != 0)
			_exit(2);
		_exit(memory[1000] == 0xaa && memory[BYTES - 1] == 0xaa ? 0 : 1);
	}
	close(ends[0]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	child->far.pid_fd = (int)syscall(SYS_pidfd_open, child->far.pid, 0);
	child->go = ends[1];
}

static int child_end(struct child *child)
{
	int status;

	close(child->go);
	assert_int_equal(waitpid(child->far.pid, &status, 0), child->far.pid);
	if (child->far.pid_fd >= 0)
		close(child->far.pid_fd);
	return status;
}

static uint64_t at(const void *address)
{
	return (uint64_t)(uintptr_t)address;
}

static void bytes_go_both_ways(void **state)
{
	struct child child;

	(void)state;
	child_start(&child);
	memset(memory, 0, sizeof(memory));
	memset(local, 0, sizeof(local));
	assert_int_equal(qoi_far_read(&child.far, at(memory), local, BYTES), 0);
	for (int i = 0; i < BYTES; i++)
		assert_int_equal(local[i], (uint8_t)(i * 7));
	memset(local, 0xaa, sizeof(local));
	assert_int_equal(qoi_far_write(&child.far, at(memory) + 1000, local,
				       BYTES - 1000),
			 0);
	assert_int_equal(child_end(&child), 0);
}

static void memory_that_is_not_there_is_told(void **state)
{
	struct child child;

	(void)state;
	child_start(&child);
	assert_int_equal(qoi_far_read(&child.far, 64, local, 8), -EFAULT);
	assert_int_equal(qoi_far_write(&child.far, 64, local, 8), -EFAULT);
	child_end(&child);
}

/* Killed and reaped: its number may be anybody's. */
static void a_process_that_ended_is_lost(void **state)
{
	struct child child;
	int status;

	(void)state;
	child_start(&child);
	kill(child.far.pid, SIGKILL);
	waitpid(child.far.pid, &status, 0);
	assert_int_equal(qoi_far_read(&child.far, at(memory), local, 8),
			 -ECONNRESET);
	assert_int_equal(qoi_far_write(&child.far, at(memory), local, 8),
			 -ECONNRESET);
	close(child.go);
	close(child.far.pid_fd);
}

/* As by exec(): the process lives, its memory is another's. */
static void one_whose_socket_hung_up_is_lost(void **state)
{
	struct child child;
	int ends[2];

	(void)state;
	child_start(&child);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	child.far.socket = ends[0];
	assert_int_equal(qoi_far_read(&child.far, at(memory), local, 8), 0);
	close(ends[1]);
	memset(local, 0xaa, sizeof(local));
	assert_int_equal(qoi_far_write(&child.far, at(memory), local, BYTES),
			 -ECONNRESET);
	assert_int_equal(WEXITSTATUS(child_end(&child)), 1);
	close(ends[0]);
}

/* It has given us up: what was its buffer may be anything now. */
static void what_was_revoked_is_not_touched(void **state)
{
	static uint32_t revoked;
	struct child child;

	(void)state;
	child_start(&child);
	child.far.revoked = &revoked;
	assert_int_equal(qoi_far_read(&child.far, at(memory), local, 8), 0);
	revoked = 1;
	memset(local, 0xaa, sizeof(local));
	assert_int_equal(qoi_far_read(&child.far, at(memory), local, 8),
			 -ECONNRESET);
	assert_int_equal(qoi_far_write(&child.far, at(memory), local, BYTES),
			 -ECONNRESET);
	assert_int_equal(WEXITSTATUS(child_end(&child)), 1);
}

/* Whoever bears the number now is not the one we know. */
static void another_process_of_that_number_is_not_touched(void **state)
{
	struct child dead, stranger;
	int status;

	(void)state;
	child_start(&dead);
	child_start(&stranger);
	kill(dead.far.pid, SIGKILL);
	waitpid(dead.far.pid, &status, 0);
	if (dead.far.pid_fd < 0)
		skip();
	dead.far.pid = stranger.far.pid;
	memset(local, 0xaa, sizeof(local));
	assert_int_equal(qoi_far_write(&dead.far, at(memory), local, BYTES),
			 -ECONNRESET);
	assert_int_equal(qoi_far_read(&dead.far, at(memory), local, 8),
			 -ECONNRESET);
	/* It says 1 when nobody wrote there. */
	assert_int_equal(WEXITSTATUS(child_end(&stranger)), 1);
	close(dead.go);
	close(dead.far.pid_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_go_both_ways),
		cmocka_unit_test(memory_that_is_not_there_is_told),
		cmocka_unit_test(a_process_that_ended_is_lost),
		cmocka_unit_test(one_whose_socket_hung_up_is_lost),
		cmocka_unit_test(what_was_revoked_is_not_touched),
		cmocka_unit_test(another_process_of_that_number_is_not_touched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
