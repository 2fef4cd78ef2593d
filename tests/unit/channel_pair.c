/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/channel_pair.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "providers/put.h"

/* One slot more than is used, so that a window has an end to run over. */
#define SLACK_BYTES 128

int channel_pair_refuse;

/* Straight into the other window, which the channel is not shown. */
static struct channel_pair *current;

static int mock_put(struct qo_remote *remote, const struct qo_put *put)
{
	uint8_t *window = current->windows[remote == &current->remotes[0]];

	if (channel_pair_refuse > 0) {
		channel_pair_refuse--;
		return -EAGAIN;
	}
	if (!qoi_put_fits(remote, put))
		return -EINVAL;
	if (put->bytes != 0)
		memcpy(window + put->offset, put->data, put->bytes);
	memcpy(window + put->word_offset, &put->word, sizeof(put->word));
	return 0;
}

static int end_open(struct channel_pair *pair, int i, uint64_t start)
{
	const struct qoi_queue_shape shape = { PAIR_SLOTS, PAIR_PAYLOAD_BYTES,
					       QOI_ENCODING_CLASSIC };
	const struct qoi_channel_place place = {
		.slots_offset = QOI_CREDIT_BYTES,
		.credit_offset = 0,
	};
	struct qoi_channel_params params = {
		.conn = &pair->conns[i],
		.remote = &pair->remotes[i],
		.own_base = pair->windows[i],
		.peer = 1 - (uint32_t)i,
		.out_shape = shape,
		.in_shape = shape,
		.own = place,
		.peers = place,
		.credit_batch = PAIR_SLOTS / 2,
		.start = start,
	};

	pair->conns[i].endpoint = &pair->endpoint;
	pair->remotes[i].conn = &pair->conns[i];
	pair->remotes[i].bytes = pair->window_bytes;
	if (pair->mapped)
		pair->remotes[i].base = pair->windows[1 - i];
	return qoi_channel_init(&pair->channels[i], &params);
}

int channel_pair_open(struct channel_pair *pair, int mapped, uint64_t start)
{
	const struct qoi_queue_shape shape = { PAIR_SLOTS, PAIR_PAYLOAD_BYTES,
					       QOI_ENCODING_CLASSIC };
	int error = 0;

	memset(pair, 0, sizeof(*pair));
	current = pair;
	channel_pair_refuse = 0;
	pair->mapped = mapped;
	pair->ops.put = mock_put;
	pair->provider.ops = &pair->ops;
	pair->endpoint.provider = &pair->provider;
	pair->window_bytes =
		QOI_CREDIT_BYTES + qoi_queue_bytes(&shape) + SLACK_BYTES;
	for (int i = 0; i < 2; i++) {
		pair->windows[i] = aligned_alloc(
			128, (pair->window_bytes + 127) & ~UINT64_C(127));
		memset(pair->windows[i], 0, pair->window_bytes);
		qoi_credit_format((uint64_t *)(void *)pair->windows[i], start);
		qoi_queue_format(&shape, pair->windows[i] + QOI_CREDIT_BYTES,
				 start);
	}
	for (int i = 0; i < 2 && error == 0; i++)
		error = end_open(pair, i, start);
	return error;
}

void channel_pair_close(struct channel_pair *pair)
{
	for (int i = 0; i < 2; i++) {
		qoi_channel_fini(&pair->channels[i]);
		free(pair->windows[i]);
	}
}
