/* SPDX-License-Identifier: BSD-3-Clause */
/* Two ends of a channel in one process, mapped, or put by a mock provider. */
#ifndef CHANNEL_PAIR_H
#define CHANNEL_PAIR_H

#include "libqoffload/agent/channel.h"

#define PAIR_SLOTS 4
#define PAIR_PAYLOAD_BYTES 48

struct channel_pair {
	struct qo_provider_ops ops;
	struct qo_provider provider;
	struct qo_endpoint endpoint;
	struct qo_conn conns[2];
	struct qo_remote remotes[2]; /* [i]: the other's window as i sees it */
	struct qoi_channel channels[2];
	uint8_t *windows[2];
	uint64_t window_bytes;
	int mapped;
};

/* How many of the next puts are refused with -EAGAIN. */
extern int channel_pair_refuse;

/* Starts at that position; returns 0 or what qoi_channel_init() does. */
int channel_pair_open(struct channel_pair *pair, int mapped, uint64_t start);
void channel_pair_close(struct channel_pair *pair);

#endif
