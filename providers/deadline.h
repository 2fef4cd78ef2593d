/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting until a time of qoi_clock_ns(), for the set-up plane. */
#ifndef QOI_DEADLINE_H
#define QOI_DEADLINE_H

#include <pthread.h>
#include <stdint.h>

/* A condition whose timed waits follow CLOCK_MONOTONIC.  0 or -ENOMEM. */
int qoi_deadline_condition_init(pthread_cond_t *condition);

/* Waits until signalled (0), or until the deadline (-ETIMEDOUT). */
int qoi_deadline_wait(pthread_cond_t *condition, pthread_mutex_t *mutex,
		      int64_t deadline_ns);

/*
 * Waits until the descriptor has one of the poll(2) events, an error or a
 * hang-up (0), or until the deadline (-ETIMEDOUT).  A signal may end it early
 * with 0: callers look again anyway.
 */
int qoi_deadline_poll(int fd, short events, int64_t deadline_ns);

#endif
