/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_DAEMON_H
#define BENCH_DAEMON_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/*
 * A qo_agentd of this program's own, on a socket name of its own: others'
 * clients neither meet it nor disturb it.  It ends with the program, however
 * that ends.
 */
struct bench_daemon {
	pid_t pid;
	char tools[512]; /* folder of qo_agentd and qo_info, or empty: PATH */
	char name[64];
	char setting[96]; /* "QO_AGENT_SOCKET=...", for qo_init() */
	FILE *output;	  /* stays open: a closed pipe would end the daemon */
};

/*
 * Starts it and returns when it listens, or ends the program.
 * tools: the folder of qo_agentd and qo_info; NULL: they are in PATH.
 */
void bench_daemon_start(const char *tools, struct bench_daemon *daemon_out);

/* Asks it to end, insists after a few seconds, and waits for that. */
void bench_daemon_stop(struct bench_daemon *daemon);

/* What the daemon says of itself, summed over its clients where it counts. */
struct bench_daemon_status {
	uint64_t clients;
	uint64_t wakes;
	uint64_t sleeps;
	uint64_t posts;
	uint64_t client_memory_bytes; /* slots and regions aside */
};

/* Asks the daemon by qo_info, which wakes it; or ends the program. */
void bench_daemon_status_read(const struct bench_daemon *daemon,
			      struct bench_daemon_status *status_out);

/* Ends the program if the daemon saw fewer posts: something else did them. */
void bench_daemon_posts_check(const struct bench_daemon *daemon,
			      uint64_t posts_min);

#endif
