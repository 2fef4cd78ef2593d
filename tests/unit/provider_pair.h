/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of the providers share: endpoints, in pairs. */
#ifndef PROVIDER_PAIR_H
#define PROVIDER_PAIR_H

#include "providers/registry.h"

#define SECOND_NS INT64_C(1000000000)

/* A deadline so many ms from now. */
int64_t in_ms(int64_t ms);

/*
 * Opens the first provider of a list, with settings "QO_X=value", NULL at the
 * end.  NULL when that fails.
 */
struct qo_endpoint *endpoint_open(const char *providers,
				  const char *const *settings);
void endpoint_close(struct qo_endpoint *endpoint);

/* Connects one endpoint to another of this process, within 10 s. */
int endpoint_connect(struct qo_endpoint *from, struct qo_endpoint *to,
		     struct qo_conn **conn_out);

/* Both connect at once, each in a thread of its own. */
void connect_both(struct qo_endpoint *const endpoint[2],
		  struct qo_conn *conn_out[2], int rc_out[2]);

/* Two endpoints, connected, each with a window that the other holds. */
struct pair {
	struct qo_endpoint *endpoint[2];
	struct qo_conn *conn[2];
	struct qo_window *window[2];
	struct qo_remote *remote[2]; /* [i]: window[1 - i] as i sees it */
};

int pair_open(struct pair *pair, const char *providers,
	      const char *const *settings, uint64_t window_bytes);
void pair_close(struct pair *pair);

/* Polls until the connection has a fate, at most a second; gives it. */
int32_t conn_fate(struct qo_conn *conn);

/* Polls an endpoint once. */
void endpoint_poll(struct qo_endpoint *endpoint);
/* Polls it until its descriptor has nothing more; nobody may wake it. */
void endpoint_settle(struct qo_endpoint *endpoint);

int put_word(struct qo_remote *remote, uint64_t offset, const void *data,
	     uint64_t bytes, uint64_t word_offset, uint64_t word);
uint64_t word_at(const struct qo_window *window, uint64_t offset);

/* Descriptors that are open in this process. */
int fd_count(void);

#endif
