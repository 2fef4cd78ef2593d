/* SPDX-License-Identifier: BSD-3-Clause */
#include "libqoffload/base/fail_point.h"

#ifdef QO_DEBUG_HOOKS

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libqoffload/base/config.h"
#include "libqoffload/base/log.h"

#define NAME_CHARS 47
#define COUNT_MAX 1000000000ul

enum action { ACTION_KILL, ACTION_STOP, ACTION_EXIT };

static const char *const action_names[] = { "kill", "stop", "exit" };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Written once. */
static char point[NAME_CHARS + 1];
static enum action action;
/* Under the lock: how often the point is still passed; 0: it has failed. */
static unsigned long left;

/* A test with a typing error must not seem to pass. */
static void refuse(const char *text)
{
	qoi_log_error("QO_TEST_FAIL_POINT=%s: want NAME[:COUNT[:ACTION]], "
		      "ACTION one of kill, stop, exit",
		      text);
	abort();
}

static void read_action(const char *text, const char *word)
{
	for (size_t i = 0; i < sizeof(action_names) / sizeof(action_names[0]);
	     i++) {
		if (strcmp(action_names[i], word) == 0) {
			action = (enum action)i;
			return;
		}
	}
	refuse(text);
}

static void read_setting(void)
{
	const char *text = qoi_config_fail_point();
	size_t length;
	char *end;

	if (text == NULL || text[0] == '\0')
		return;
	length = strcspn(text, ":");
	if (length == 0 || length > NAME_CHARS)
		refuse(text);
	left = 1;
	if (text[length] == ':') {
		left = strtoul(text + length + 1, &end, 10);
		if (left == 0 || left > COUNT_MAX)
			refuse(text);
		if (*end == ':')
			read_action(text, end + 1);
		else if (*end != '\0')
			refuse(text);
	}
	memcpy(point, text, length);
}

static int is_due(void)
{
	int due;

	pthread_mutex_lock(&lock);
	due = left == 1;
	if (left > 0)
		left--;
	pthread_mutex_unlock(&lock);
	return due;
}

void qoi_fail_point(const char *name)
{
	pthread_once(&once, read_setting);
	if (strcmp(point, name) != 0 || !is_due())
		return;
	qoi_log_warn("fail point %s: %s", name, action_names[action]);
	if (action == ACTION_EXIT)
		exit(EXIT_FAILURE);
	(void)kill(getpid(), action == ACTION_KILL ? SIGKILL : SIGSTOP);
}

#else

/* A file may not be empty. */
typedef int fail_points_are_compiled_out;

#endif
