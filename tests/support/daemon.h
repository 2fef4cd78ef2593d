/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A daemon for tests: started on a name of its own, asked from outside, and
 * ended in one way or another.  Every call is bounded in time.
 */
#ifndef QOT_DAEMON_H
#define QOT_DAEMON_H

#include <stdint.h>
#include <sys/types.h>

#include "libqoffload/attach/address.h"
#include "libqoffload/shm/layout.h"

struct qot_daemon {
	pid_t pid; /* 0: none runs */
	char name[QOI_ATTACH_NAME_BYTES];
	char setting[QOI_ATTACH_NAME_BYTES + 16]; /* QO_AGENT_SOCKET=name */
};

/*
 * What a process has, to be compared before and after; under a sanitizer no
 * mappings and no size.
 */
struct qot_use {
	uint32_t fds;
	uint32_t maps; /* lines of /proc/PID/maps */
	uint64_t rss_kib;
	uint64_t locked_kib;
};

/* The path of a program of this build, e.g. "libqoffload/tools/qo_info". */
const char *qot_program(const char *name, char *path, size_t path_bytes);
/* A name in the abstract space that nobody else has. */
void qot_daemon_name(char name_out[QOI_ATTACH_NAME_BYTES]);

/*
 * Starts qo_agentd and waits until it listens.  name: NULL for a fresh one.
 * arguments: NULL, or more of them, ending with NULL.  fail_point: NULL or a
 * value for QO_TEST_FAIL_POINT.  Returns 0, or tells and returns 1.
 */
int qot_daemon_start(struct qot_daemon *daemon, const char *name,
		     const char *const *arguments, const char *fail_point);
/* SIGTERM: 0 when it ends with exit status 0 in time; else told and killed. */
int qot_daemon_stop(struct qot_daemon *daemon, uint32_t limit_ms);
/* SIGKILL, if it still runs, and reaped. */
void qot_daemon_kill(struct qot_daemon *daemon);
/* Waits for the end that a fail point brings: 0 when SIGKILL ended it. */
int qot_daemon_await_death(struct qot_daemon *daemon, uint32_t limit_ms);

/* Runs `qo_info --check` on it: 0 all is well; 0 too where it isn't built. */
int qot_daemon_check(const struct qot_daemon *daemon);
/* Asks as an observer.  Returns 0, or tells and returns 1. */
int qot_daemon_total(const struct qot_daemon *daemon,
		     struct qoi_layout_attach_status_total *total_out);
/*
 * Waits until it has so many clients, and, with 0 of them, no groups, regions
 * or requests either.  Returns 0, or tells what is left and returns 1.
 */
int qot_daemon_settles(const struct qot_daemon *daemon, uint32_t clients,
		       uint32_t limit_ms);

/*
 * Once it has been the same for a while: an observer that has just left may
 * still be on its way out.  Returns 0, or 1 when there is no such process.
 */
int qot_use_read(pid_t pid, struct qot_use *use_out);

/*
 * Stops a process and waits until all of its threads are stopped; lets it go
 * on.  Return 0, or tell and return 1.
 */
int qot_freeze(pid_t pid);
/* Waits only; it stops by itself, soon. */
int qot_await_frozen(pid_t pid);
int qot_thaw(pid_t pid);

#endif
