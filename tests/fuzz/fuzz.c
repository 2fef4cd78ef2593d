/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "libqoffload/base/config.h"
#include "libqoffload/base/log.h"

#define SETTLE_CYCLES 200000

struct qoi_daemon *fuzz_daemon;
char fuzz_name[64];
static int descriptors_before;

void fuzz_check(int holds, const char *what, int line)
{
	if (holds)
		return;
	fprintf(stderr, "fuzz: line %d: does not hold: %s\n", line, what);
	abort();
}

uint8_t fuzz_u8(struct fuzz_input *input)
{
	if (input->left == 0)
		return 0;
	input->left--;
	return *input->at++;
}

uint32_t fuzz_u32(struct fuzz_input *input)
{
	uint32_t value = 0;

	for (int i = 0; i < 4; i++)
		value = value << 8 | fuzz_u8(input);
	return value;
}

uint64_t fuzz_u64(struct fuzz_input *input)
{
	uint64_t high = fuzz_u32(input);

	return high << 32 | fuzz_u32(input);
}

uint64_t fuzz_size(struct fuzz_input *input)
{
	uint8_t how = fuzz_u8(input);

	switch (how % 8) {
	case 0:
		return 0;
	case 1:
		return UINT64_MAX - how / 8;
	case 2:
		return (UINT64_C(1) << how % 64) + how / 32 - 2;
	case 3:
		return fuzz_u64(input);
	case 4:
		return UINT64_C(4096) * fuzz_u8(input);
	default:
		return how * (uint64_t)fuzz_u8(input);
	}
}

void fuzz_mutate(struct fuzz_input *input, void *data, size_t bytes)
{
	uint8_t count = fuzz_u8(input) % 5;

	while (count-- != 0 && bytes != 0) {
		size_t at = fuzz_u32(input) % bytes;
		uint64_t value = fuzz_size(input);
		size_t width = (size_t)1 << fuzz_u8(input) % 4;

		at -= at % width;
		if (at + width <= bytes)
			memcpy((uint8_t *)data + at, &value, width);
	}
}

int fuzz_descriptor(struct fuzz_input *input, uint64_t bytes)
{
	int ends[2];

	/* Nobody has more than this, and no test should. */
	if (bytes > UINT64_C(1) << 24)
		bytes %= UINT64_C(1) << 24;
	switch (fuzz_u8(input) % 10) {
	case 0:
		return -1;
	case 1:
		return raw_memory(bytes, 0, 1);
	case 2:
		return raw_memory(bytes, 1, 0);
	case 3:
		return raw_memory(bytes + 4096, 1, 1);
	case 4:
		return open("/dev/null", O_RDWR | O_CLOEXEC);
	case 5:
		return eventfd(0, EFD_CLOEXEC);
	case 6:
		if (pipe2(ends, O_CLOEXEC) != 0)
			return -1;
		close(ends[0]);
		return ends[1];
	case 7:
		return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	default:
		return raw_memory(bytes, 1, 1);
	}
}

static int open_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int count = 0;

	while (folder != NULL && readdir(folder) != NULL)
		count++;
	closedir(folder);
	return count;
}

void fuzz_open(void)
{
	const struct qoi_daemon_params params = {
		.name = fuzz_name,
		.listen_fd = -1,
		.cpu = "none",
		.idle = QOI_CONFIG_IDLE_BLOCK,
	};

	raw_name(fuzz_name);
	/* What is wrong with an input is no news. */
	qoi_log_set_level(QOI_LOG_ERROR - 1);
	FUZZ_CHECK(qoi_daemon_open(&params, &fuzz_daemon) == 0);
}

void fuzz_begin(void)
{
	descriptors_before = open_descriptors();
}

void fuzz_settle(void)
{
	uint32_t cycles = 0;
	int done;

	do {
		done = qoi_daemon_look(fuzz_daemon);
		done += qoi_daemon_cycle(fuzz_daemon);
		FUZZ_CHECK(++cycles < SETTLE_CYCLES);
	} while (done != 0);
}

/* Those of strangers are closed by a thread. */
static int descriptors_come_back(void)
{
	const struct timespec pause = { 0, 100000 };

	for (int i = 0; i < 50000; i++) {
		if (open_descriptors() == descriptors_before)
			return 1;
		nanosleep(&pause, NULL);
	}
	return 0;
}

void fuzz_check_empty(void)
{
	const struct qoi_daemon_counts *counts = &fuzz_daemon->counts;

	fuzz_settle();
	FUZZ_CHECK(fuzz_daemon->sessions == NULL);
	FUZZ_CHECK(fuzz_daemon->session_count == 0);
	FUZZ_CHECK(fuzz_daemon->client_count == 0);
	FUZZ_CHECK(fuzz_daemon->job_count == 0);
	FUZZ_CHECK(fuzz_daemon->groups == NULL);
	FUZZ_CHECK(fuzz_daemon->group_count == 0);
	FUZZ_CHECK(fuzz_daemon->untouched == NULL);
	FUZZ_CHECK(fuzz_daemon->region_count == 0);
	FUZZ_CHECK(fuzz_daemon->region_bytes == 0);
	FUZZ_CHECK(fuzz_daemon->pending == 0);
	FUZZ_CHECK(counts->posts == counts->completions + counts->failures);
	FUZZ_CHECK(descriptors_come_back());
}

void fuzz_drain(int fd)
{
	struct qoi_attach_message message;

	while (qoi_attach_recv(fd, &message) == 0)
		qoi_attach_message_close(&message);
}
