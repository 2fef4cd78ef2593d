/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A test stand: a daemon, and ranks that are attached to it, with the words
 * and settings of the conformance suite.
 */
#ifndef QOD_STAND_H
#define QOD_STAND_H

#include "tests/conformance/suite.h"
#include "tests/support/daemon.h"

/* Of a case that needs fail points, which not every build has. */
#define QOD_HOOKED __attribute__((unused))

struct qod_stand {
	struct qot_daemon daemon;
	struct qoc_env env;
	uint32_t setting_count;
	char texts[QOC_SETTINGS_MAX][QOI_ATTACH_NAME_BYTES + 600];
};

/* One test of a program; returns 0 when it passed. */
struct qod_test {
	const char *name;
	int (*run)(const void *param);
	const void *param;
};

/*
 * Runs the tests of a table that ends with a name of NULL, or only those that
 * hold argv[1]; the whole within limit_s.  Returns main()'s value.
 */
int qod_main(int argc, char **argv, const struct qod_test *tests,
	     uint32_t limit_s);

/* 1 when the long sweeps are wanted: QO_TEST_LONG=1. */
int qod_long(void);

/* Settings for ranks: QO_AGENT=process at the daemon, if one runs. */
void qod_settings(struct qod_stand *stand);
void qod_set(struct qod_stand *stand, const char *name, const char *value);
/*
 * One of "map", "cross" and "stage": how the daemon gets at buffers; for map
 * rooms come from qo_mem_alloc().
 */
void qod_set_way(struct qod_stand *stand, const char *way);

/* As qot_daemon_start() on a fresh name, and qod_settings(). */
int qod_open(struct qod_stand *stand, const char *const *arguments,
	     const char *fail_point);
/* Nothing is left in the daemon, its counts agree, and it ends when told. */
int qod_close(struct qod_stand *stand);

/*
 * The shared words of the next run, for a process that is forked before it;
 * otherwise qod_run() makes them.
 */
void qod_share(struct qod_stand *stand);

/* Ranks; returns how many failed. */
int qod_run(struct qod_stand *stand, uint32_t count, qot_rank_fn fn,
	    const void *param, uint64_t mortals);

/* Words that all ranks share: sets one, and waits for a value of one. */
void qod_word_set(const struct qot_rank *rank, uint32_t index, uint64_t value);
uint64_t qod_word(const struct qot_rank *rank, uint32_t index);
uint64_t qod_word_add(const struct qot_rank *rank, uint32_t index);
/* Returns 0, or prints and returns 1: it was below `value` for 20 s. */
int qod_word_await(struct qot_rank *rank, uint32_t index, uint64_t value);

/* What a request must end with; rank: QO_RANK_NONE for any. */
int qod_ends(struct qot_rank *rank, qo_request_t request, int64_t limit_ms,
	     int32_t error, int32_t blamed);

#endif
