/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* usleep */
#include "tests/conformance/server.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define END_MS 5000
/* A private one that was late, and finds all clients gone, waits for a while. */
#define PRIVATE_END_MS 20000
/* Of several that start at once one gets the name; the others exit with 1. */
#define TAKEN 0x100

static void private_prepare(struct qoc_server *server)
{
	char path[600];

	snprintf(server->program, sizeof(server->program), "QO_AGENT_PROGRAM=%s",
		 qot_program("libqoffload/tools/qo_agentd", path, sizeof(path)));
	snprintf(server->job, sizeof(server->job), "QO_AGENT_JOB=conf.%d",
		 (int)getpid());
	/* Nobody listens there, whatever runs on this machine. */
	qot_daemon_name(server->daemon.name);
	snprintf(server->daemon.setting, sizeof(server->daemon.setting),
		 "QO_AGENT_SOCKET=%s", server->daemon.name);
	server->settings[0] = server->daemon.setting;
	server->settings[1] = server->program;
	server->settings[2] = server->job;
	/* They are nobody's children: so they become ours, to be counted. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
}

int qoc_server_open(struct qoc_server *server, const struct qoc_prov *prov,
		    const char *agent)
{
	memset(server, 0, sizeof(*server));
	server->far = strcmp(agent, "process") == 0;
	if (!server->far)
		return 0;
	if (!prov->daemon) {
		private_prepare(server);
		return 0;
	}
	server->settings[0] = server->daemon.setting;
	return qot_daemon_start(&server->daemon, NULL, prov->arguments, NULL);
}

/* Those that should have gone. */
static void children_kill(void)
{
	FILE *file = fopen("/proc/thread-self/children", "r");
	int pid;

	while (file != NULL && fscanf(file, "%d", &pid) == 1)
		kill(pid, SIGKILL);
	if (file != NULL)
		fclose(file);
}

/* The last private one left with its last client. */
static int private_close(void)
{
	int failed = 0;

	for (uint32_t ms = 0; ms < PRIVATE_END_MS; ms++) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);

		if (pid < 0)
			return failed;
		if (pid == 0) {
			usleep(1000);
		} else if (status != 0 && status != TAKEN) {
			fprintf(stderr, "private daemon %d: wait status %#x\n",
				(int)pid, (unsigned)status);
			failed = 1;
		}
	}
	fprintf(stderr, "a private daemon is still there after %d ms\n",
		PRIVATE_END_MS);
	children_kill();
	return 1;
}

int qoc_server_close(struct qoc_server *server)
{
	int failed;

	if (!server->far)
		return 0;
	if (server->daemon.pid == 0)
		return private_close();
	failed = qot_daemon_settles(&server->daemon, 0, END_MS);
	failed |= qot_daemon_check(&server->daemon);
	return failed | qot_daemon_stop(&server->daemon, END_MS);
}
