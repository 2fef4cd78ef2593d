/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/provider_side.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILD_SECONDS 60

static const struct qo_control_tag window_tag = { 1, 0, 0 };

int side_open(struct side *side)
{
	uint8_t own[QO_ADDRESS_BYTES_MAX];
	size_t bytes;
	ssize_t got;

	side->endpoint = endpoint_open("shm", NULL);
	if (side->endpoint == NULL)
		return -ENODEV;
	side->ops = side->endpoint->provider->ops;
	side->ops->address(side->endpoint, own, &bytes);
	if (send(side->fd, own, bytes, MSG_NOSIGNAL) != (ssize_t)bytes)
		return -EIO;
	got = recv(side->fd, side->address, sizeof(side->address), 0);
	if (got <= 0)
		return -EIO;
	side->address_bytes = (size_t)got;
	return 0;
}

int side_connect(struct side *side)
{
	return side->ops->connect(side->endpoint, side->address,
				  side->address_bytes, in_ms(10000),
				  &side->conn);
}

int side_windows(struct side *side)
{
	size_t bytes;
	int rc = side->ops->window_create(side->endpoint, SIDE_WINDOW_BYTES,
					  &side->window);

	if (rc == 0)
		rc = side->ops->control_send(side->conn, &window_tag, NULL, 0,
					     side->window, in_ms(5000));
	if (rc == 0)
		rc = side->ops->control_recv(side->conn, &window_tag, NULL, 0,
					     &bytes, &side->remote, in_ms(5000));
	return rc;
}

void side_close(struct side *side)
{
	if (side->remote != NULL)
		side->ops->remote_release(side->remote);
	if (side->window != NULL)
		side->ops->window_destroy(side->window);
	if (side->conn != NULL)
		side->ops->disconnect(side->conn);
	if (side->endpoint != NULL)
		endpoint_close(side->endpoint);
}

void side_start(struct side *side, int (*child)(struct side *))
{
	int fds[2];

	memset(side, 0, sizeof(*side));
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
	side->child = fork();
	assert_true(side->child >= 0);
	if (side->child == 0) {
		alarm(CHILD_SECONDS);
		close(fds[0]);
		side->fd = fds[1];
		_exit(child(side));
	}
	close(fds[1]);
	side->fd = fds[0];
}

int side_finish(struct side *side)
{
	int status = 0;

	close(side->fd);
	side_close(side);
	waitpid(side->child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
