/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* pipe2, execvpe */
#include "tests/support/daemon.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libqoffload/attach/message.h"

#define ARGUMENTS_MAX 16
#define START_MS 10000
#define ANSWER_MS 5000
#define FREEZE_MS 2000
/* A sanitizer keeps what was freed: sizes and mappings say nothing then. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MEMORY_TELLS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MEMORY_TELLS 0
#endif
#endif
#ifndef MEMORY_TELLS
#define MEMORY_TELLS 1
#endif
/* So many equal looks, so far apart, are rest. */
#define REST_SAME 5
#define REST_LOOKS 200
#define REST_US 4000

const char *qot_program(const char *name, char *path, size_t path_bytes)
{
	const char *top = getenv("top_builddir");
	char self[512];
	ssize_t length;

	if (top != NULL) {
		snprintf(path, path_bytes, "%s/%s", top, name);
		return path;
	}
	/* Run by hand: a test lies two folders below the top. */
	length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	self[length < 0 ? 0 : length] = '\0';
	for (int up = 0; up < 3; up++) {
		char *slash = strrchr(self, '/');

		if (slash != NULL)
			*slash = '\0';
	}
	snprintf(path, path_bytes, "%s/%s", self, name);
	return path;
}

void qot_daemon_name(char name_out[QOI_ATTACH_NAME_BYTES])
{
	static uint32_t next;

	snprintf(name_out, QOI_ATTACH_NAME_BYTES, "@qo-test.%d.%u",
		 (int)getpid(), next++);
}

/* In the child: becomes the daemon; it must not outlive the test. */
static void daemon_exec(const char *name, const char *const *arguments,
			const char *fail_point, int out)
{
	char path[600];
	const char *argv[ARGUMENTS_MAX + 1];
	uint32_t count = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(out, STDOUT_FILENO);
	unsetenv("QO_TEST_FAIL_POINT");
	if (fail_point != NULL)
		setenv("QO_TEST_FAIL_POINT", fail_point, 1);
	argv[count++] =
		qot_program("libqoffload/tools/qo_agentd", path, sizeof(path));
	argv[count++] = "--socket";
	argv[count++] = name;
	for (; arguments != NULL && *arguments != NULL && count < ARGUMENTS_MAX;
	     arguments++)
		argv[count++] = *arguments;
	argv[count] = NULL;
	execv(path, (char *const *)(uintptr_t)argv);
	fprintf(stderr, "exec %s: %s\n", path, strerror(errno));
	_exit(127);
}

/* Reads until the line that says where it listens: 0 and the name. */
static int ready_await(int fd, char name_out[QOI_ATTACH_NAME_BYTES])
{
	static const char mark[] = "listening at ";
	char text[512] = "";
	size_t length = 0;

	while (length < sizeof(text) - 1) {
		struct pollfd event = { fd, POLLIN, 0 };
		char *line, *end;
		ssize_t got;

		if (poll(&event, 1, START_MS) != 1)
			return 1;
		got = read(fd, text + length, sizeof(text) - 1 - length);
		if (got <= 0)
			return 1;
		length += (size_t)got;
		text[length] = '\0';
		line = strstr(text, mark);
		end = line == NULL ? NULL : strchr(line, '\n');
		if (end == NULL)
			continue;
		*end = '\0';
		snprintf(name_out, QOI_ATTACH_NAME_BYTES, "%s",
			 line + sizeof(mark) - 1);
		return 0;
	}
	return 1;
}

int qot_daemon_start(struct qot_daemon *daemon, const char *name,
		     const char *const *arguments, const char *fail_point)
{
	char fresh[QOI_ATTACH_NAME_BYTES];
	int pipes[2], failed;

	memset(daemon, 0, sizeof(*daemon));
	qot_daemon_name(fresh);
	if (pipe2(pipes, O_CLOEXEC) != 0) {
		perror("pipe");
		return 1;
	}
	fflush(NULL);
	daemon->pid = fork();
	if (daemon->pid == 0)
		daemon_exec(name == NULL ? fresh : name, arguments, fail_point,
			    pipes[1]);
	close(pipes[1]);
	failed = daemon->pid < 0 || ready_await(pipes[0], daemon->name);
	close(pipes[0]);
	if (failed) {
		fprintf(stderr, "the daemon does not start\n");
		qot_daemon_kill(daemon);
	}
	snprintf(daemon->setting, sizeof(daemon->setting), "QO_AGENT_SOCKET=%s",
		 daemon->name);
	return failed;
}

/* 1 and its status when it ended in time. */
static int reap(struct qot_daemon *daemon, uint32_t limit_ms, int *status_out)
{
	for (uint32_t ms = 0; ms <= limit_ms; ms++) {
		if (waitpid(daemon->pid, status_out, WNOHANG) == daemon->pid) {
			daemon->pid = 0;
			return 1;
		}
		usleep(1000);
	}
	return 0;
}

void qot_daemon_kill(struct qot_daemon *daemon)
{
	int status;

	if (daemon->pid <= 0)
		return;
	kill(daemon->pid, SIGKILL);
	reap(daemon, FREEZE_MS, &status);
}

int qot_daemon_stop(struct qot_daemon *daemon, uint32_t limit_ms)
{
	int status = 0;

	if (daemon->pid <= 0)
		return 1;
	kill(daemon->pid, SIGTERM);
	if (!reap(daemon, limit_ms, &status)) {
		fprintf(stderr, "the daemon does not end within %u ms\n",
			limit_ms);
		qot_daemon_kill(daemon);
		return 1;
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	fprintf(stderr, "the daemon ended with wait status %#x\n",
		(unsigned)status);
	return 1;
}

int qot_daemon_await_death(struct qot_daemon *daemon, uint32_t limit_ms)
{
	int status = 0;

	if (reap(daemon, limit_ms, &status) && WIFSIGNALED(status) &&
	    WTERMSIG(status) == SIGKILL)
		return 0;
	fprintf(stderr, "the daemon was to be killed; wait status %#x\n",
		(unsigned)status);
	return 1;
}

int qot_daemon_check(const struct qot_daemon *daemon)
{
	char path[600];
	int status = 0;
	pid_t pid;

	qot_program("libqoffload/tools/qo_info", path, sizeof(path));
	if (access(path, X_OK) != 0) {
		printf("skip qo_info --check: %s was not built\n", path);
		return 0;
	}
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		/* What it prints is of interest to people only. */
		dup2(STDERR_FILENO, STDOUT_FILENO);
		execl(path, path, "--check", "--socket", daemon->name, NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
		fprintf(stderr, "qo_info --check: wait status %#x\n",
			(unsigned)status);
		return 1;
	}
	return 0;
}

/* Sends one message and takes the answer: 0, or 1. */
static int ask(int fd, struct qoi_attach_message *message, uint16_t kind)
{
	struct pollfd event = { fd, POLLIN, 0 };

	if (qoi_attach_send(fd, message) != 0 ||
	    poll(&event, 1, ANSWER_MS) != 1 || qoi_attach_recv(fd, message) != 0)
		return 1;
	qoi_attach_message_close(message);
	return message->header.kind != kind || message->header.error != 0;
}

int qot_daemon_total(const struct qot_daemon *daemon,
		     struct qoi_layout_attach_status_total *total_out)
{
	struct qoi_attach_message message;
	int fd = -1, failed;
	pid_t pid;

	failed = qoi_attach_connect(daemon->name, &fd, &pid) != 0;
	if (!failed) {
		qoi_attach_message_init(&message, QOI_ATTACH_HELLO, 1);
		qoi_attach_hello_fill(&message.body.hello.hello);
		message.body.hello.hello.flags = QOI_HELLO_OBSERVER;
		failed = ask(fd, &message, QOI_ATTACH_WELCOME);
	}
	if (!failed) {
		qoi_attach_message_init(&message, QOI_ATTACH_STATUS, 2);
		message.body.ask.what = QOI_STATUS_TOTAL;
		failed = ask(fd, &message, QOI_ATTACH_STATUS);
	}
	if (failed)
		fprintf(stderr, "the daemon at %s tells no status\n",
			daemon->name);
	else
		*total_out = message.body.total;
	if (fd >= 0)
		close(fd);
	return failed;
}

int qot_daemon_settles(const struct qot_daemon *daemon, uint32_t clients,
		       uint32_t limit_ms)
{
	struct qoi_layout_attach_status_total total = { 0 };

	for (uint32_t ms = 0; ms <= limit_ms; ms += 2) {
		if (qot_daemon_total(daemon, &total) != 0)
			return 1;
		if (total.clients == clients &&
		    (clients != 0 || (total.groups == 0 && total.regions == 0 &&
				      total.pending == 0)))
			return 0;
		usleep(2000);
	}
	fprintf(stderr,
		"the daemon has %u clients (%u expected), %u groups, %u "
		"regions, %llu requests\n",
		total.clients, clients, total.groups, total.regions,
		(unsigned long long)total.pending);
	return 1;
}

static uint32_t entries(const char *path)
{
	DIR *dir = opendir(path);
	uint32_t count = 0;

	if (dir == NULL)
		return 0;
	while (readdir(dir) != NULL)
		count++;
	closedir(dir);
	return count;
}

static int use_now(pid_t pid, struct qot_use *use_out)
{
	char path[64], line[512];
	FILE *file;

	memset(use_out, 0, sizeof(*use_out));
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	use_out->fds = entries(path);
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	file = fopen(path, "r");
	if (file == NULL)
		return 1;
	while (fgets(line, sizeof(line), file) != NULL)
		use_out->maps += MEMORY_TELLS && strchr(line, '\n') != NULL;
	fclose(file);
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "r");
	if (file == NULL)
		return 1;
	while (fgets(line, sizeof(line), file) != NULL) {
		if (MEMORY_TELLS && strncmp(line, "VmRSS:", 6) == 0)
			use_out->rss_kib = strtoull(line + 6, NULL, 10);
		if (strncmp(line, "VmLck:", 6) == 0)
			use_out->locked_kib = strtoull(line + 6, NULL, 10);
	}
	fclose(file);
	return 0;
}

int qot_use_read(pid_t pid, struct qot_use *use_out)
{
	struct qot_use before;
	int same = 0;

	if (use_now(pid, use_out) != 0)
		return 1;
	for (int look = 0; look < REST_LOOKS && same < REST_SAME; look++) {
		before = *use_out;
		usleep(REST_US);
		if (use_now(pid, use_out) != 0)
			return 1;
		same = use_out->fds == before.fds ? same + 1 : 0;
	}
	return 0;
}

/* The state letter of a thread, or 0. */
static char thread_state(pid_t pid, const char *thread)
{
	char path[320], line[512] = "";
	char *end;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%s/stat", (int)pid, thread);
	file = fopen(path, "r");
	if (file == NULL)
		return 0;
	if (fgets(line, sizeof(line), file) == NULL)
		line[0] = '\0';
	fclose(file);
	/* Behind the name, which may hold anything. */
	end = strrchr(line, ')');
	return end == NULL || end[1] == '\0' ? 0 : end[2];
}

static int all_stopped(pid_t pid)
{
	char path[64];
	struct dirent *entry;
	int stopped = 1;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (dir == NULL)
		return 0;
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] != '.')
			stopped &= thread_state(pid, entry->d_name) == 'T';
	}
	closedir(dir);
	return stopped;
}

int qot_await_frozen(pid_t pid)
{
	for (int look = 0; look < FREEZE_MS * 10; look++) {
		if (all_stopped(pid))
			return 0;
		usleep(100);
	}
	fprintf(stderr, "process %d does not stop\n", (int)pid);
	return 1;
}

int qot_freeze(pid_t pid)
{
	if (kill(pid, SIGSTOP) != 0) {
		perror("SIGSTOP");
		return 1;
	}
	return qot_await_frozen(pid);
}

int qot_thaw(pid_t pid)
{
	if (kill(pid, SIGCONT) == 0)
		return 0;
	perror("SIGCONT");
	return 1;
}
