/* SPDX-License-Identifier: BSD-3-Clause */
/* Starting a daemon: what it gets, and what the application does not notice. */
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
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libqoffload/base/error.h"
#include "libqoffload/client/launch.h"
#include "tests/unit/capture.h"

#define REPORT_BYTES 8192
/* How long a report may take, in steps of 1 ms. */
#define REPORT_TRIES 5000

static char folder[] = "/tmp/qo-launch-XXXXXX";
static char program[64];
static char report[64];
static char text[REPORT_BYTES];
static struct capture capture;

/* A program that writes down what it was given. */
static int setup(void **state)
{
	FILE *file;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(program, sizeof(program), "%s/agent", folder);
	snprintf(report, sizeof(report), "%s/report", folder);
	file = fopen(program, "w");
	assert_non_null(file);
	fprintf(file,
		"#!/bin/sh\n"
		"exec 3>%s.new\n"
		"echo \"args $*\" >&3\n"
		"echo \"cwd $(pwd)\" >&3\n"
		"ls -l /proc/$$/fd >&3\n"
		"echo \"in $(readlink /proc/$$/fd/0) out "
		"$(readlink /proc/$$/fd/1) err $(readlink /proc/$$/fd/2)\" >&3\n"
		"echo \"session $(cut -d' ' -f6 /proc/$$/stat)\" >&3\n"
		"grep ^Sig /proc/self/status >&3\n"
		"mv %s.new %s\n",
		report, report, report);
	fclose(file);
	assert_int_equal(chmod(program, 0700), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(program);
	unlink(report);
	rmdir(folder);
	return 0;
}

static int start(const char *path)
{
	char setting[128];
	const char *settings[] = { setting, NULL };
	struct qoi_config config;
	int error;

	snprintf(setting, sizeof(setting), "QO_AGENT_PROGRAM=%s", path);
	assert_int_equal(qoi_config_init(&config, settings), 0);
	capture_start(&capture);
	error = qoi_launch_agent(&config, "@a-name");
	capture_stop(&capture);
	qoi_config_fini(&config);
	return error;
}

static void report_read(void)
{
	const struct timespec nap = { 0, 1000000 };
	FILE *file = NULL;
	size_t length;

	for (int i = 0; i < REPORT_TRIES && file == NULL; i++) {
		file = fopen(report, "r");
		if (file == NULL)
			nanosleep(&nap, NULL);
	}
	assert_non_null(file);
	length = fread(text, 1, sizeof(text) - 1, file);
	text[length] = '\0';
	fclose(file);
	unlink(report);
}

static void it_is_told_where_to_listen_and_for_whom(void **state)
{
	(void)state;
	assert_int_equal(start(program), 0);
	report_read();
	assert_non_null(strstr(text, "args --private --socket @a-name\n"));
	assert_non_null(strstr(text, "cwd /\n"));
}

/* Its report, its script, and nothing that was open here. */
static void fds_are_its_own(void)
{
	assert_non_null(strstr(text, " 3 -> "));
	assert_null(strstr(text, "/dev/zero"));
	assert_null(strstr(text, "pipe:"));
	assert_null(strstr(text, "socket:"));
}

static void it_has_none_of_our_descriptors(void **state)
{
	int extra[3];

	(void)state;
	/* Some that would be inherited, before and after its own. */
	for (int i = 0; i < 3; i++)
		extra[i] = open("/dev/zero", O_RDONLY);
	assert_int_equal(dup2(extra[2], 200), 200);
	assert_int_equal(start(program), 0);
	report_read();
	for (int i = 0; i < 3; i++)
		close(extra[i]);
	close(200);
	fds_are_its_own();
	assert_non_null(strstr(text, "in /dev/null out /dev/null err "
				     "/dev/null\n"));
}

/* Which descriptors are open: 0 to 2 may be closed when it is started. */
static int start_without_stdio(void)
{
	const char *settings[] = { NULL, NULL };
	char setting[128];
	struct qoi_config config;

	snprintf(setting, sizeof(setting), "QO_AGENT_PROGRAM=%s", program);
	settings[0] = setting;
	if (qoi_config_init(&config, settings) != 0)
		return 1;
	close(0);
	close(1);
	close(2);
	return qoi_launch_agent(&config, "@a-name") != 0;
}

static void it_gets_its_own_where_we_have_none(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(start_without_stdio());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	report_read();
	fds_are_its_own();
	assert_non_null(strstr(text, "in /dev/null out /dev/null err "
				     "/dev/null\n"));
}

static void it_is_in_a_session_of_its_own(void **state)
{
	const char *at;

	(void)state;
	assert_int_equal(start(program), 0);
	report_read();
	at = strstr(text, "session ");
	assert_non_null(at);
	assert_int_not_equal(atoi(at + 8), getsid(0));
}

/* Bits of a set in /proc/PID/status. */
static unsigned long long signal_set(const char *name)
{
	const char *at = strstr(text, name);

	assert_non_null(at);
	return strtoull(at + strlen(name), NULL, 16);
}

static void it_ignores_and_blocks_no_signal_of_ours(void **state)
{
	sigset_t block;

	(void)state;
	sigemptyset(&block);
	sigaddset(&block, SIGTERM);
	sigprocmask(SIG_BLOCK, &block, NULL);
	signal(SIGUSR1, SIG_IGN);
	assert_int_equal(start(program), 0);
	report_read();
	signal(SIGUSR1, SIG_DFL);
	sigprocmask(SIG_UNBLOCK, &block, NULL);
	assert_int_equal(signal_set("SigBlk:") >> (SIGTERM - 1) & 1, 0);
	assert_int_equal(signal_set("SigIgn:") >> (SIGUSR1 - 1) & 1, 0);
}

static volatile sig_atomic_t children_ended;

static void count_child(int signal)
{
	(void)signal;
	children_ended++;
}

static void the_application_sees_no_child_and_no_signal(void **state)
{
	struct sigaction count = { .sa_handler = count_child };
	struct sigaction before;
	sigset_t mask_before, mask_after;

	(void)state;
	sigaction(SIGCHLD, &count, &before);
	sigprocmask(SIG_SETMASK, NULL, &mask_before);
	children_ended = 0;
	for (int i = 0; i < 5; i++) {
		assert_int_equal(start(program), 0);
		report_read();
	}
	sigprocmask(SIG_SETMASK, NULL, &mask_after);
	sigaction(SIGCHLD, &before, NULL);
	assert_int_equal(children_ended, 0);
	for (int i = 1; i < NSIG; i++)
		assert_int_equal(sigismember(&mask_before, i),
				 sigismember(&mask_after, i));
	/* None that ran, and none that waits to be taken, of any sort. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1);
	assert_int_equal(errno, ECHILD);
}

static void what_cannot_be_run_is_told(void **state)
{
	(void)state;
	assert_int_equal(start("/nowhere/agent"), -ENOENT);
	assert_non_null(strstr(qo_error_detail(), "/nowhere/agent"));
	/* It may be run, by its mode, but the kernel knows no such format. */
	assert_int_equal(truncate(program, 0), 0);
	assert_int_not_equal(start(program), 0);
	assert_non_null(strstr(qo_error_detail(), "can't be run"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_told_where_to_listen_and_for_whom),
		cmocka_unit_test(it_has_none_of_our_descriptors),
		cmocka_unit_test(it_gets_its_own_where_we_have_none),
		cmocka_unit_test(it_is_in_a_session_of_its_own),
		cmocka_unit_test(it_ignores_and_blocks_no_signal_of_ours),
		cmocka_unit_test(the_application_sees_no_child_and_no_signal),
		cmocka_unit_test(what_cannot_be_run_is_told),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
