/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "tests/unit/channel_pair.h"

/* Sends n with a length of its own; returns what claim or commit said. */
static int send_one(struct qoi_channel *channel, uint64_t n)
{
	uint32_t bytes = (uint32_t)(n % (PAIR_PAYLOAD_BYTES + 1));
	void *payload = NULL;
	int error = qoi_channel_claim(channel, &payload);

	if (error != 0)
		return error;
	memset(payload, (int)n, bytes);
	return qoi_channel_commit(channel, bytes, QOI_SLOT_DATA);
}

static int take_one(struct qoi_channel *channel, uint64_t n)
{
	uint32_t bytes = (uint32_t)(n % (PAIR_PAYLOAD_BYTES + 1));
	struct qoi_message message;
	int error = qoi_consumer_peek(&channel->consumer, &message);

	if (error != 0)
		return error;
	assert_int_equal(message.bytes, bytes);
	assert_int_equal(message.kind, QOI_SLOT_DATA);
	for (uint32_t i = 0; i < bytes; i++)
		assert_int_equal(((const uint8_t *)message.payload)[i],
				 (uint8_t)n);
	qoi_channel_release(channel);
	return 0;
}

static void messages_come_in_order_round_the_ring(void **state)
{
	static const uint64_t starts[] = { 0, UINT32_MAX - 5, UINT64_MAX - 5 };

	(void)state;
	for (int mapped = 0; mapped < 2; mapped++) {
		for (size_t s = 0; s < sizeof(starts) / sizeof(starts[0]); s++) {
			struct channel_pair pair;

			assert_int_equal(
				channel_pair_open(&pair, mapped, starts[s]), 0);
			assert_int_equal(qoi_channel_mapped(&pair.channels[0]),
					 mapped);
			for (uint64_t n = 0; n < 100; n++) {
				assert_int_equal(send_one(&pair.channels[0], n),
						 0);
				assert_int_equal(
					send_one(&pair.channels[1], n + 3), 0);
				assert_int_equal(take_one(&pair.channels[1], n),
						 0);
				assert_int_equal(
					take_one(&pair.channels[0], n + 3), 0);
				for (int i = 0; i < 2; i++)
					qoi_channel_flush(&pair.channels[i]);
			}
			channel_pair_close(&pair);
		}
	}
}

static void without_credit_nothing_is_taken(void **state)
{
	(void)state;
	for (int mapped = 0; mapped < 2; mapped++) {
		struct channel_pair pair;
		uint64_t consumed;

		assert_int_equal(channel_pair_open(&pair, mapped, 0), 0);
		consumed = qoi_channel_consumed(&pair.channels[0]);
		for (uint64_t n = 0; n < PAIR_SLOTS; n++)
			assert_int_equal(send_one(&pair.channels[0], n), 0);
		for (int i = 0; i < 3; i++)
			assert_int_equal(send_one(&pair.channels[0], 99),
					 -EAGAIN);
		assert_int_equal(take_one(&pair.channels[1], 0), 0);
		assert_int_equal(qoi_channel_flush(&pair.channels[1]), 0);
		assert_int_equal(qoi_channel_consumed(&pair.channels[0]),
				 consumed + 1);
		assert_int_equal(send_one(&pair.channels[0], PAIR_SLOTS), 0);
		assert_int_equal(send_one(&pair.channels[0], 99), -EAGAIN);
		for (uint64_t n = 1; n <= PAIR_SLOTS; n++)
			assert_int_equal(take_one(&pair.channels[1], n), 0);
		assert_int_equal(take_one(&pair.channels[1], 0), -EAGAIN);
		channel_pair_close(&pair);
	}
}

static void a_refused_put_took_nothing(void **state)
{
	struct channel_pair pair;

	(void)state;
	assert_int_equal(channel_pair_open(&pair, 0, 0), 0);
	for (uint64_t n = 0; n < 10; n++) {
		channel_pair_refuse = 2;
		assert_int_equal(send_one(&pair.channels[0], n), -EAGAIN);
		assert_int_equal(send_one(&pair.channels[0], n), -EAGAIN);
		assert_int_equal(take_one(&pair.channels[1], n), -EAGAIN);
		assert_int_equal(send_one(&pair.channels[0], n), 0);
		assert_int_equal(take_one(&pair.channels[1], n), 0);
		channel_pair_refuse = 1;
		assert_int_equal(qoi_channel_flush(&pair.channels[1]), -EAGAIN);
		assert_true(qoi_channel_owes(&pair.channels[1]));
		assert_int_equal(qoi_channel_flush(&pair.channels[1]), 0);
		assert_false(qoi_channel_owes(&pair.channels[1]));
		/* Nothing is due: nothing is put. */
		channel_pair_refuse = 1;
		assert_int_equal(qoi_channel_flush(&pair.channels[1]), 0);
		assert_int_equal(channel_pair_refuse, 1);
	}
	channel_pair_close(&pair);
}

/* Credits return in batches, or when asked for. */
static void credits_come_in_batches(void **state)
{
	(void)state;
	for (int mapped = 0; mapped < 2; mapped++) {
		struct channel_pair pair;

		assert_int_equal(channel_pair_open(&pair, mapped, 0), 0);
		for (uint64_t n = 0; n < 3; n++)
			assert_int_equal(send_one(&pair.channels[0], n), 0);
		assert_int_equal(take_one(&pair.channels[1], 0), 0);
		assert_int_equal(qoi_channel_consumed(&pair.channels[0]), 0);
		assert_int_equal(take_one(&pair.channels[1], 1), 0);
		if (!mapped)
			assert_int_equal(qoi_channel_flush(&pair.channels[1]),
					 0);
		assert_int_equal(qoi_channel_consumed(&pair.channels[0]), 2);
		channel_pair_close(&pair);
	}
}

/* What the peer says of its window is checked before it is followed. */
static void places_outside_the_window_are_refused(void **state)
{
	static const struct qoi_channel_place bad[] = {
		{ UINT64_MAX, 0 },	    { 0, UINT64_MAX },
		{ UINT64_C(1) << 63, 0 },   { 4000, 0 },
		{ QOI_CREDIT_BYTES, 4000 }, { QOI_CREDIT_BYTES + 8, 0 },
		{ QOI_CREDIT_BYTES, 4 },    { 1024, 0 },
	};
	struct channel_pair pair;

	(void)state;
	assert_int_equal(channel_pair_open(&pair, 1, 0), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct qoi_queue_shape shape = { PAIR_SLOTS,
						       PAIR_PAYLOAD_BYTES,
						       QOI_ENCODING_CLASSIC };
		struct qoi_channel channel;
		struct qoi_channel_params params = {
			.conn = &pair.conns[0],
			.remote = &pair.remotes[0],
			.own_base = pair.windows[0],
			.out_shape = shape,
			.in_shape = shape,
			.own = { QOI_CREDIT_BYTES, 0 },
			.peers = bad[i],
			.credit_batch = 1,
		};

		assert_int_equal(qoi_channel_init(&channel, &params), -EBADMSG);
	}
	channel_pair_close(&pair);
}

static void the_fate_of_the_connection_is_the_channels(void **state)
{
	struct channel_pair pair;

	(void)state;
	assert_int_equal(channel_pair_open(&pair, 1, 0), 0);
	assert_int_equal(qoi_channel_fate(&pair.channels[0]), 0);
	pair.conns[0].fate = -ECONNRESET;
	assert_int_equal(qoi_channel_fate(&pair.channels[0]), -ECONNRESET);
	assert_int_equal(qoi_channel_fate(&pair.channels[1]), 0);
	channel_pair_close(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_come_in_order_round_the_ring),
		cmocka_unit_test(without_credit_nothing_is_taken),
		cmocka_unit_test(a_refused_put_took_nothing),
		cmocka_unit_test(credits_come_in_batches),
		cmocka_unit_test(places_outside_the_window_are_refused),
		cmocka_unit_test(the_fate_of_the_connection_is_the_channels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
