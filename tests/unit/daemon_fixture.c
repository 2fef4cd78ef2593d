/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/daemon_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "libqoffload/base/config.h"

/* More looks than any test needs; a daemon that never rests is a failure. */
#define LOOKS_MAX 100000

struct qoi_daemon *target;
char target_name[64];
struct qoi_daemon_params target_params;
char answer_text[256];
static int descriptors_before;

int target_open(void **state)
{
	(void)state;
	descriptors_before = open_descriptors();
	raw_name(target_name);
	target_params.name = target_name;
	target_params.listen_fd = -1;
	target_params.cpu = "none";
	target_params.idle = QOI_CONFIG_IDLE_BLOCK;
	return qoi_daemon_open(&target_params, &target);
}

int target_close(void **state)
{
	(void)state;
	if (target != NULL)
		qoi_daemon_close(target);
	target = NULL;
	memset(&target_params, 0, sizeof(target_params));
	return !descriptors_come_to(descriptors_before);
}

void target_settle(void)
{
	int looks = 0;

	while (qoi_daemon_look(target) != 0)
		assert_true(++looks < LOOKS_MAX);
}

void target_run(void)
{
	int cycles = 0;

	do {
		target_settle();
		assert_true(++cycles < LOOKS_MAX);
	} while (qoi_daemon_cycle(target) != 0);
}

void client_attach(struct raw_client *client, const char *job)
{
	struct qoi_attach_message answer;

	assert_int_equal(raw_open(client, target_name, job), 0);
	assert_int_equal(raw_hello(client, -1), 0);
	target_settle();
	assert_int_equal(raw_welcomed(client, &answer), 0);
}

int client_ask(struct raw_client *client, uint16_t kind, const void *body,
	       size_t bytes, int fd, struct qoi_attach_message *answer)
{
	assert_int_equal(raw_ask(client, kind, body, bytes, fd), 0);
	target_settle();
	return raw_answer(client, answer);
}

int client_told(struct raw_client *client, uint16_t kind, const void *body,
		size_t bytes, int fd)
{
	struct qoi_attach_message answer;
	int rc = client_ask(client, kind, body, bytes, fd, &answer);

	snprintf(answer_text, sizeof(answer_text), "%s",
		 (const char *)answer.body.answer.text);
	return rc;
}

int client_region_add(struct raw_client *client, uint32_t number)
{
	const struct qoi_layout_attach_region region = {
		.region = number,
		.bytes = CLIENT_REGION_BYTES,
	};

	return client_told(client, QOI_ATTACH_REGION_ADD, &region,
			   sizeof(region), raw_memory(region.bytes, 1, 1));
}

void client_leave(struct raw_client *client)
{
	assert_int_equal(client_told(client, QOI_ATTACH_BYE, NULL, 0, -1), 0);
	raw_close(client);
}

int is_hung_up(int fd)
{
	struct pollfd watched = { .fd = fd, .events = POLLRDHUP };

	return poll(&watched, 1, 0) == 1 &&
	       (watched.revents & (POLLRDHUP | POLLHUP)) != 0;
}

int open_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int count = 0;

	assert_non_null(folder);
	while (readdir(folder) != NULL)
		count++;
	closedir(folder);
	return count;
}

int descriptors_come_to(int expected)
{
	const struct timespec pause = { 0, 1000000 };

	for (int i = 0; i < 5000; i++) {
		if (open_descriptors() == expected)
			return 1;
		nanosleep(&pause, NULL);
	}
	print_error("%d descriptors, not %d\n", open_descriptors(), expected);
	return 0;
}

int shared_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	int count = 0;

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps) != NULL)
		count += strstr(line, "/memfd:") != NULL;
	fclose(maps);
	return count;
}
