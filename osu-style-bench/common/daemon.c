/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon.h"
#include "clock.h"
#include "report.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STOP_NS UINT64_C(5000000000)
#define NAP_NS 1000000
#define COMMAND_BYTES 1024

static void program_path(const struct bench_daemon *daemon, const char *name,
			 char *path, size_t bytes)
{
	int used = snprintf(path, bytes, "%s%s%s", daemon->tools,
			    daemon->tools[0] == '\0' ? "" : "/", name);

	if (used < 0 || (size_t)used >= bytes)
		bench_die("the path of %s is too long", name);
}

/* In the child: becomes the daemon, with its output in the pipe. */
static void become_daemon(const struct bench_daemon *daemon, pid_t parent,
			  int output)
{
	char path[COMMAND_BYTES];

	program_path(daemon, "qo_agentd", path, sizeof(path));
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	dup2(output, STDOUT_FILENO);
	execlp(path, path, "--socket", daemon->name, (char *)NULL);
	fprintf(stderr, "%s: %s: give its folder by --tools\n", path,
		strerror(errno));
	_exit(127);
}

/* The daemon says one line when it listens. */
static FILE *listening_await(int input)
{
	char line[256];
	FILE *output = fdopen(input, "r");

	if (output == NULL)
		bench_die("fdopen: %s", strerror(errno));
	do {
		if (fgets(line, sizeof(line), output) == NULL)
			bench_die("qo_agentd ended before it listened");
	} while (strstr(line, "listening at") == NULL);
	return output;
}

void bench_daemon_start(const char *tools, struct bench_daemon *daemon_out)
{
	pid_t parent = getpid();
	int ends[2];

	*daemon_out = (struct bench_daemon){ 0 };
	if (tools != NULL)
		snprintf(daemon_out->tools, sizeof(daemon_out->tools), "%s",
			 tools);
	snprintf(daemon_out->name, sizeof(daemon_out->name), "@qo-bench-%d-%llx",
		 parent, (unsigned long long)bench_now_ns());
	snprintf(daemon_out->setting, sizeof(daemon_out->setting),
		 "QO_AGENT_SOCKET=%s", daemon_out->name);
	if (pipe(ends) != 0)
		bench_die("pipe: %s", strerror(errno));
	fflush(NULL);
	daemon_out->pid = fork();
	if (daemon_out->pid < 0)
		bench_die("fork: %s", strerror(errno));
	if (daemon_out->pid == 0) {
		close(ends[0]);
		become_daemon(daemon_out, parent, ends[1]);
	}
	close(ends[1]);
	daemon_out->output = listening_await(ends[0]);
}

void bench_daemon_stop(struct bench_daemon *daemon)
{
	uint64_t end = bench_now_ns() + STOP_NS;
	const struct timespec nap = { 0, NAP_NS };
	pid_t ended;

	kill(daemon->pid, SIGTERM);
	while ((ended = waitpid(daemon->pid, NULL, WNOHANG)) == 0 &&
	       bench_now_ns() < end)
		nanosleep(&nap, NULL);
	if (ended == 0) {
		fprintf(stderr, "qo_agentd did not end when asked\n");
		kill(daemon->pid, SIGKILL);
		waitpid(daemon->pid, NULL, 0);
	}
	fclose(daemon->output);
}

static uint64_t number_get(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_integer(value))
		bench_die("qo_info -s --json gives no number '%s'", key);
	return (uint64_t)json_integer_value(value);
}

static void status_parse(const json_t *root,
			 struct bench_daemon_status *status_out)
{
	const json_t *total = json_object_get(root, "status");
	const json_t *clients = json_object_get(total, "clients");

	*status_out = (struct bench_daemon_status){
		.clients = json_array_size(clients),
		.wakes = number_get(total, "wakes"),
		.sleeps = number_get(total, "sleeps"),
		.posts = number_get(total, "posts"),
	};
	for (size_t i = 0; i < json_array_size(clients); i++)
		status_out->client_memory_bytes +=
			number_get(json_array_get(clients, i), "memory_bytes");
}

void bench_daemon_status_read(const struct bench_daemon *daemon,
			      struct bench_daemon_status *status_out)
{
	char path[COMMAND_BYTES];
	char command[2 * COMMAND_BYTES];
	json_error_t error;
	json_t *root;
	FILE *output;

	program_path(daemon, "qo_info", path, sizeof(path));
	snprintf(command, sizeof(command), "'%s' -s --json --socket '%s'", path,
		 daemon->name);
	fflush(NULL);
	output = popen(command, "r");
	if (output == NULL)
		bench_die("popen: %s", strerror(errno));
	root = json_loadf(output, 0, &error);
	if (pclose(output) != 0 || root == NULL)
		bench_die("%s: it failed, or %s", command, error.text);
	status_parse(root, status_out);
	json_decref(root);
}

void bench_daemon_posts_check(const struct bench_daemon *daemon,
			      uint64_t posts_min)
{
	struct bench_daemon_status status;

	bench_daemon_status_read(daemon, &status);
	if (status.posts < posts_min)
		bench_die("the daemon saw %llu of %llu posts: not it was "
			  "measured",
			  (unsigned long long)status.posts,
			  (unsigned long long)posts_min);
}
