/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "providers/deadline.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <time.h>

#include "libqoffload/base/clock.h"

static struct timespec to_timespec(int64_t ns)
{
	struct timespec time = { 0, 0 };

	if (ns > 0) {
		time.tv_sec = ns / QOI_NS_PER_S;
		time.tv_nsec = ns % QOI_NS_PER_S;
	}
	return time;
}

int qoi_deadline_condition_init(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;
	int rc = pthread_condattr_init(&attributes);

	if (rc != 0)
		return -ENOMEM;
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	rc = pthread_cond_init(condition, &attributes);
	pthread_condattr_destroy(&attributes);
	return rc == 0 ? 0 : -ENOMEM;
}

int qoi_deadline_wait(pthread_cond_t *condition, pthread_mutex_t *mutex,
		      int64_t deadline_ns)
{
	struct timespec until = to_timespec(deadline_ns);

	if (deadline_ns == QOI_CLOCK_NEVER)
		return -pthread_cond_wait(condition, mutex);
	return -pthread_cond_timedwait(condition, mutex, &until);
}

int qoi_deadline_poll(int fd, short events, int64_t deadline_ns)
{
	struct pollfd watched = { .fd = fd, .events = events };
	struct timespec timeout = to_timespec(deadline_ns - qoi_clock_ns());
	int count =
		ppoll(&watched, 1,
		      deadline_ns == QOI_CLOCK_NEVER ? NULL : &timeout, NULL);

	return count == 0 ? -ETIMEDOUT : 0;
}
