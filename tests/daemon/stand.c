/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "tests/daemon/stand.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define END_MS 5000
#define AWAIT_MS 20000
#define SHARED_BYTES (QOC_SHARED_WORDS * sizeof(uint64_t))
/* Looks at a word before the clock is read again. */
#define LOOKS 64

int qod_main(int argc, char **argv, const struct qod_test *tests,
	     uint32_t limit_s)
{
	uint32_t run = 0, failed = 0;

	for (const struct qod_test *test = tests; test->name != NULL; test++) {
		int64_t since = qoc_now();
		int result;

		if (argc > 1 && strstr(test->name, argv[1]) == NULL)
			continue;
		qot_limit(limit_s, test->name);
		result = test->run(test->param);
		run++;
		failed += result != 0;
		printf("%-4s %s (%lld ms)\n", result != 0 ? "FAIL" : "ok",
		       test->name, (long long)((qoc_now() - since) / 1000000));
		fflush(stdout);
	}
	return failed != 0 || run == 0;
}

int qod_long(void)
{
	const char *wanted = getenv("QO_TEST_LONG");

	return wanted != NULL && strcmp(wanted, "1") == 0;
}

void qod_set(struct qod_stand *stand, const char *name, const char *value)
{
	uint32_t at = stand->setting_count;

	if (at == QOC_SETTINGS_MAX - 1) {
		fprintf(stderr, "no room for a setting\n");
		exit(99);
	}
	snprintf(stand->texts[at], sizeof(stand->texts[at]), "%s=%s", name,
		 value);
	stand->env.settings[at] = stand->texts[at];
	stand->env.settings[at + 1] = NULL;
	stand->setting_count++;
}

void qod_settings(struct qod_stand *stand)
{
	/* Without a daemon: where none listens. */
	if (stand->daemon.name[0] == '\0')
		qot_daemon_name(stand->daemon.name);
	stand->env.far = 1;
	stand->env.alloc = 0;
	stand->setting_count = 0;
	qod_set(stand, "QO_PROVIDER", "self,shm");
	qod_set(stand, "QO_AGENT", "process");
	qod_set(stand, "QO_AGENT_SOCKET", stand->daemon.name);
	/* A test whose daemon is gone must not start another one. */
	qod_set(stand, "QO_AGENT_PROGRAM", "/nonexistent");
	qod_set(stand, "QO_AGENT_TIMEOUT", "5s");
}

void qod_set_way(struct qod_stand *stand, const char *way)
{
	qod_set(stand, "QO_AGENT_MEMORY",
		strcmp(way, "map") == 0 ? "auto" : way);
	stand->env.alloc = strcmp(way, "map") == 0;
}

int qod_open(struct qod_stand *stand, const char *const *arguments,
	     const char *fail_point)
{
	memset(stand, 0, sizeof(*stand));
	if (qot_daemon_start(&stand->daemon, NULL, arguments, fail_point) != 0)
		return 1;
	qod_settings(stand);
	return 0;
}

int qod_close(struct qod_stand *stand)
{
	int failed = qot_daemon_settles(&stand->daemon, 0, END_MS);

	failed |= qot_daemon_check(&stand->daemon);
	return failed | qot_daemon_stop(&stand->daemon, END_MS);
}

void qod_share(struct qod_stand *stand)
{
	stand->env.shared = mmap(NULL, SHARED_BYTES, PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (stand->env.shared == MAP_FAILED) {
		perror("mmap");
		exit(99);
	}
}

int qod_run(struct qod_stand *stand, uint32_t count, qot_rank_fn fn,
	    const void *param, uint64_t mortals)
{
	int failed;

	stand->env.param = param;
	if (stand->env.shared == NULL)
		qod_share(stand);
	failed = qot_run_mortals(count, fn, &stand->env, mortals);
	munmap(stand->env.shared, SHARED_BYTES);
	stand->env.shared = NULL;
	return failed;
}

void qod_word_set(const struct qot_rank *rank, uint32_t index, uint64_t value)
{
	__atomic_store_n(&qoc_env(rank)->shared[index], value, __ATOMIC_RELEASE);
}

uint64_t qod_word(const struct qot_rank *rank, uint32_t index)
{
	return __atomic_load_n(&qoc_env(rank)->shared[index], __ATOMIC_ACQUIRE);
}

uint64_t qod_word_add(const struct qot_rank *rank, uint32_t index)
{
	return __atomic_add_fetch(&qoc_env(rank)->shared[index], 1,
				  __ATOMIC_ACQ_REL);
}

int qod_word_await(struct qot_rank *rank, uint32_t index, uint64_t value)
{
	int64_t deadline = qoc_in_ms(AWAIT_MS);

	while (qoc_now() < deadline) {
		for (uint32_t look = 0; look < LOOKS; look++) {
			if (qod_word(rank, index) >= value)
				return 0;
			sched_yield();
		}
	}
	fprintf(stderr, "rank %u: word %u is %llu, not %llu\n", rank->rank,
		index, (unsigned long long)qod_word(rank, index),
		(unsigned long long)value);
	return 1;
}

int qod_ends(struct qot_rank *rank, qo_request_t request, int64_t limit_ms,
	     int32_t error, int32_t blamed)
{
	struct qo_status status = { 0 };
	char text[128] = "";

	QOT_CHECK(rank, qo_wait(request, qoc_in_ms(limit_ms), &status) == 0);
	qo_status_describe(&status, text, sizeof(text));
	if (status.error == error &&
	    (blamed == QO_RANK_NONE || status.rank == blamed))
		return 0;
	fprintf(stderr, "rank %u: %s, where %s of rank %d was expected\n",
		rank->rank, text, qo_error_string(error), blamed);
	return 1;
}
