/* SPDX-License-Identifier: BSD-3-Clause */
/* Two processes with an endpoint each: the test and its child. */
#ifndef PROVIDER_SIDE_H
#define PROVIDER_SIDE_H

#include <sys/types.h>

#include "tests/unit/provider_pair.h"

#define SIDE_WINDOW_BYTES 65536

/* One of the two processes, with what it needs to reach the other. */
struct side {
	struct qo_endpoint *endpoint;
	const struct qo_provider_ops *ops;
	struct qo_conn *conn;
	struct qo_window *window;
	struct qo_remote *remote;
	uint8_t address[QO_ADDRESS_BYTES_MAX];
	size_t address_bytes;
	int fd; /* to the other, for addresses */
	pid_t child;
};

/* Opens an endpoint and swaps addresses with the other side. */
int side_open(struct side *side);
int side_connect(struct side *side);
/* Swaps windows. */
int side_windows(struct side *side);
void side_close(struct side *side);

/*
 * Forks a child that runs the function and exits with what it returns.
 * Neither has an endpoint before: the child must not inherit one.
 */
void side_start(struct side *side, int (*child)(struct side *));
/* Closes this side; the child's status; 128 + n when signal n ended it. */
int side_finish(struct side *side);

#endif
