/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <qoffload/error.h>

#include "libqoffload/shm/segment.h"

#define MIB (UINT64_C(1) << 20)

static void assert_detail_has(const char *text)
{
	if (strstr(qo_error_detail(), text) == NULL)
		print_error("\"%s\" is not in: %s\n", text, qo_error_detail());
	assert_non_null(strstr(qo_error_detail(), text));
}

static void a_segment_is_zeroed_and_present_in_full(void **state)
{
	struct qoi_segment segment;
	struct stat info;
	uint64_t i;

	(void)state;
	assert_int_equal(qoi_segment_create("test", 3 * 4096 + 5, &segment), 0);
	assert_int_equal(segment.bytes, 3 * 4096 + 5);
	assert_int_equal((uintptr_t)segment.base % 4096, 0);
	for (i = 0; i < segment.bytes; i++)
		assert_int_equal(segment.base[i], 0);
	assert_int_equal(fstat(segment.fd, &info), 0);
	assert_true(info.st_size == 3 * 4096 + 5);
	/* Reserved: each page has its blocks. */
	assert_true(info.st_blocks * 512 >= 4 * 4096);
	assert_int_equal(info.st_nlink, 0);
	assert_true((fcntl(segment.fd, F_GETFD) & FD_CLOEXEC) != 0);
	qoi_segment_detach(&segment);
	assert_null(segment.base);
	assert_int_equal(segment.fd, -1);
	qoi_segment_detach(&segment);
}

static void nobody_can_cut_it_off_under_a_reader(void **state)
{
	struct qoi_segment segment;

	(void)state;
	assert_int_equal(qoi_segment_create("test", 8192, &segment), 0);
	assert_int_equal(ftruncate(segment.fd, 4096), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(segment.fd, 16384), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(fcntl(segment.fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
	qoi_segment_detach(&segment);
}

static void both_sides_see_the_same_bytes(void **state)
{
	struct qoi_segment ours, theirs;
	int fd;

	(void)state;
	assert_int_equal(qoi_segment_create("test", 4096, &ours), 0);
	fd = fcntl(ours.fd, F_DUPFD_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(qoi_segment_attach(fd, 4096, &theirs), 0);
	qoi_segment_close_fd(&ours);
	assert_int_equal(ours.fd, -1);
	ours.base[4095] = 42;
	assert_int_equal(theirs.base[4095], 42);
	qoi_segment_detach(&ours);
	assert_int_equal(theirs.base[4095], 42);
	qoi_segment_detach(&theirs);
}

static void a_foreign_descriptor_is_refused_and_stays_open(void **state)
{
	struct qoi_segment ours, out = { NULL, 7, 7 };
	int pipes[2];
	int fd;

	(void)state;
	assert_int_equal(qoi_segment_create("test", 4096, &ours), 0);
	assert_int_equal(qoi_segment_attach(ours.fd, 8192, &out), -EBADMSG);
	assert_int_equal(qoi_segment_attach(ours.fd, 4095, &out), -EBADMSG);
	assert_int_equal(qoi_segment_attach(ours.fd, 0, &out), -EINVAL);
	assert_true(fcntl(ours.fd, F_GETFD) >= 0);
	qoi_segment_detach(&ours);

	fd = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(qoi_segment_attach(fd, 4096, &out), -EPERM);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW), 0);
	assert_int_equal(qoi_segment_attach(fd, 4096, &out), -EPERM);
	close(fd);

	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(qoi_segment_attach(pipes[0], 4096, &out), -EBADMSG);
	close(pipes[0]);
	close(pipes[1]);
	assert_int_equal(qoi_segment_attach(-1, 4096, &out), -EBADMSG);
	assert_true(out.base == NULL && out.bytes == 7 && out.fd == 7);
}

static void huge_pages_are_refused(void **state)
{
	int fd = memfd_create("huge",
			      MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB);

	(void)state;
	if (fd < 0)
		skip();
	if (ftruncate(fd, 2 << 20) != 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) !=
		    0) {
		close(fd);
		skip();
	}
	assert_int_equal(qoi_segment_check(fd, 2 << 20), -EBADMSG);
	close(fd);
}

static void a_lazy_side_sees_the_same_bytes(void **state)
{
	struct qoi_segment ours, theirs;
	int fd;

	(void)state;
	assert_int_equal(qoi_segment_create("test", 8192, &ours), 0);
	assert_int_equal(qoi_segment_check(ours.fd, 8192), 0);
	fd = fcntl(ours.fd, F_DUPFD_CLOEXEC, 0);
	assert_int_equal(qoi_segment_attach_lazily(fd, 4096, &theirs), -EBADMSG);
	assert_int_equal(qoi_segment_attach_lazily(fd, 8192, &theirs), 0);
	ours.base[8191] = 42;
	assert_int_equal(theirs.base[8191], 42);
	qoi_segment_detach(&ours);
	qoi_segment_detach(&theirs);
}

/* H3: no bus error, but what is needed, what there is, and the way out. */
static void more_than_the_memory_is_a_clear_error(void **state)
{
	struct qoi_segment out;

	(void)state;
	assert_int_equal(qoi_segment_create("big", UINT64_C(1) << 46, &out),
			 -ENOSPC);
	assert_detail_has("70368744177664 bytes needed");
	assert_detail_has("available");
	assert_int_equal(qoi_segment_create("big", UINT64_MAX, &out), -ENOSPC);
}

static void a_file_size_limit_is_an_error_and_no_signal(void **state)
{
	struct qoi_segment out;
	struct rlimit before, limit;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = before;
	limit.rlim_cur = MIB;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(qoi_segment_create("test", 2 * MIB, &out), -ENOSPC);
	assert_detail_has("2097152 bytes needed, 1048576 available");
	assert_detail_has("ulimit -f");
	assert_int_equal(qoi_segment_create("test", MIB, &out), 0);
	qoi_segment_detach(&out);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
}

static void no_descriptor_left_is_an_error(void **state)
{
	struct qoi_segment out;
	struct rlimit before, limit;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	limit = before;
	limit.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(qoi_segment_create("test", 4096, &out), -ENOMEM);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_detail_has("ulimit -n");
}

static void bad_arguments_are_refused(void **state)
{
	struct qoi_segment out;
	char label[300];

	(void)state;
	assert_int_equal(qoi_segment_create("test", 0, &out), -EINVAL);
	memset(label, 'x', sizeof(label) - 1);
	label[sizeof(label) - 1] = '\0';
	assert_int_equal(qoi_segment_create(label, 4096, &out), -EINVAL);
}

static void ignore_alarm(int signal)
{
	(void)signal;
}

/* I4: a signal interrupts fallocate(), and undoes what it did. */
static void a_storm_of_signals_changes_nothing(void **state)
{
	struct itimerval storm = { { 0, 500 }, { 0, 500 } };
	struct itimerval quiet = { { 0, 0 }, { 0, 0 } };
	struct sigaction action, before;
	struct qoi_segment segment;

	(void)state;
	memset(&action, 0, sizeof(action));
	action.sa_handler = ignore_alarm;
	assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &storm, NULL), 0);
	assert_int_equal(qoi_segment_create("storm", 64 * MIB, &segment), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &quiet, NULL), 0);
	assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
	segment.base[64 * MIB - 1] = 1;
	qoi_segment_detach(&segment);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_segment_is_zeroed_and_present_in_full),
		cmocka_unit_test(nobody_can_cut_it_off_under_a_reader),
		cmocka_unit_test(both_sides_see_the_same_bytes),
		cmocka_unit_test(a_foreign_descriptor_is_refused_and_stays_open),
		cmocka_unit_test(huge_pages_are_refused),
		cmocka_unit_test(a_lazy_side_sees_the_same_bytes),
		cmocka_unit_test(more_than_the_memory_is_a_clear_error),
		cmocka_unit_test(a_file_size_limit_is_an_error_and_no_signal),
		cmocka_unit_test(no_descriptor_left_is_an_error),
		cmocka_unit_test(bad_arguments_are_refused),
		cmocka_unit_test(a_storm_of_signals_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
