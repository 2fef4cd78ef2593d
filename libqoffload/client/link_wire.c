/* SPDX-License-Identifier: BSD-3-Clause */
#include "libqoffload/client/link_wire.h"

#include <errno.h>
#include <poll.h>

#include "libqoffload/base/clock.h"

/* So that a clock that is asked too early makes no busy loop. */
#define POLL_MS_MIN 1
#define POLL_MS_MAX 1000

/* Waits until the socket is ready, or a while; 0 the deadline has passed. */
static int await(int fd, short events, int64_t deadline_ns)
{
	struct pollfd at = { .fd = fd, .events = events };
	int64_t left = deadline_ns - qoi_clock_ns();

	if (left <= 0)
		return 0;
	left = left / QOI_NS_PER_MS + POLL_MS_MIN;
	poll(&at, 1, left < POLL_MS_MAX ? (int)left : POLL_MS_MAX);
	return 1;
}

int qoi_wire_send(int fd, struct qoi_attach_message *message,
		  int64_t deadline_ns)
{
	int error;

	do
		error = qoi_attach_send(fd, message);
	while (error == -EAGAIN && await(fd, POLLOUT, deadline_ns));
	return error == -EAGAIN ? -ETIMEDOUT : error;
}

int qoi_wire_recv(int fd, struct qoi_attach_message *message,
		  int64_t deadline_ns)
{
	int error;

	do
		error = qoi_attach_recv(fd, message);
	while (error == -EAGAIN && await(fd, POLLIN, deadline_ns));
	return error == -EAGAIN ? -ETIMEDOUT : error;
}
