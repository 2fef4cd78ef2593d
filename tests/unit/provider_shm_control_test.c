/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "libqoffload/base/clock.h"
#include "libqoffload/base/error.h"
#include "providers/mailbox.h"
#include "tests/unit/provider_pair.h"

#define THREADS 8
#define TAGS 60
#define BURST 100

static struct pair pair;
static const struct qo_provider_ops *ops;

static int open_pair(void **state)
{
	(void)state;
	if (pair_open(&pair, "shm", NULL, 64) != 0)
		return -1;
	ops = pair.endpoint[0]->provider->ops;
	return 0;
}

static int close_pair(void **state)
{
	(void)state;
	pair_close(&pair);
	return 0;
}

static void messages_are_found_by_tag_in_their_order(void **state)
{
	struct qo_control_tag tag = { 9, 0, 1 };
	uint32_t value;
	size_t bytes;

	(void)state;
	for (uint32_t i = 0; i < 20; i++) {
		tag.sequence = i % 4;
		assert_int_equal(ops->control_send(pair.conn[0], &tag, &i,
						   sizeof(i), NULL, in_ms(100)),
				 0);
	}
	for (uint32_t i = 0; i < 20; i++) {
		tag.sequence = 3 - i / 5;
		assert_int_equal(ops->control_recv(pair.conn[1], &tag, &value,
						   sizeof(value), &bytes, NULL,
						   in_ms(100)),
				 0);
		assert_int_equal(bytes, sizeof(value));
		assert_int_equal(value, tag.sequence + 4 * (i % 5));
	}
}

static void a_message_that_does_not_come_times_out(void **state)
{
	struct qo_control_tag tag = { 9, 1, 1 };
	int64_t start_ns = qoi_clock_ns();
	size_t bytes;

	(void)state;
	assert_int_equal(ops->control_recv(pair.conn[1], &tag, NULL, 0, &bytes,
					   NULL, in_ms(30)),
			 -ETIMEDOUT);
	assert_true(qoi_clock_ns() - start_ns >= 30 * QOI_NS_PER_MS);
	/* A look finds what is there, without waiting. */
	assert_int_equal(ops->control_recv(pair.conn[1], &tag, NULL, 0, &bytes,
					   NULL, 0),
			 -ETIMEDOUT);
	ops->control_send(pair.conn[0], &tag, NULL, 0, NULL, in_ms(100));
	assert_int_equal(ops->control_recv(pair.conn[1], &tag, NULL, 0, &bytes,
					   NULL, 0),
			 0);
	assert_int_equal(bytes, 0);
}

static void sizes_are_checked(void **state)
{
	static uint8_t sent[QO_CONTROL_BYTES_MAX + 1];
	static uint8_t got[QO_CONTROL_BYTES_MAX];
	struct qo_control_tag tag = { 9, 2, 1 };
	size_t bytes;

	(void)state;
	for (size_t i = 0; i < sizeof(sent); i++)
		sent[i] = (uint8_t)(i * 13 + i / 251);
	assert_int_equal(ops->control_send(pair.conn[0], &tag, sent,
					   sizeof(sent), NULL, in_ms(100)),
			 -EMSGSIZE);
	assert_int_equal(ops->control_send(pair.conn[0], &tag, sent,
					   QO_CONTROL_BYTES_MAX, NULL,
					   in_ms(100)),
			 0);
	assert_int_equal(ops->control_recv(pair.conn[1], &tag, got, 10, &bytes,
					   NULL, in_ms(100)),
			 -EMSGSIZE);
	assert_int_equal(ops->control_recv(pair.conn[1], &tag, got, sizeof(got),
					   &bytes, NULL, in_ms(100)),
			 0);
	assert_int_equal(bytes, sizeof(got));
	assert_memory_equal(sent, got, sizeof(got));
}

static void an_offer_nobody_wants_is_closed(void **state)
{
	struct qo_control_tag tag = { 9, 3, 1 };
	int fds = fd_count();
	size_t bytes;

	(void)state;
	for (int i = 0; i < 2; i++)
		ops->control_send(pair.conn[0], &tag, NULL, 0, pair.window[0],
				  in_ms(100));
	assert_int_equal(ops->control_recv(pair.conn[1], &tag, NULL, 0, &bytes,
					   NULL, in_ms(100)),
			 0);
	assert_int_equal(ops->control_recv(pair.conn[1], &tag, NULL, 0, &bytes,
					   NULL, in_ms(100)),
			 0);
	assert_int_equal(fd_count(), fds);
}

struct talk {
	uint32_t index;
	int side;
	int failures;
};

/* The tags of a thread are its own; sent in one order, asked in another. */
static void *talk(void *arg)
{
	struct talk *me = arg;
	struct qo_conn *conn = pair.conn[me->side];
	struct qo_control_tag tag = { 10 + me->index, 0, 2 };

	for (uint32_t i = 0; i < TAGS; i++) {
		uint32_t value = me->index * 1000 + i;

		tag.sequence = i;
		me->failures +=
			ops->control_send(conn, &tag, &value, sizeof(value),
					  NULL, in_ms(5000)) != 0;
	}
	for (uint32_t i = 0; i < TAGS; i++) {
		uint32_t value = 0;
		size_t bytes = 0;

		tag.sequence = (i * 7 + me->index) % TAGS;
		me->failures +=
			ops->control_recv(conn, &tag, &value, sizeof(value),
					  &bytes, NULL, in_ms(5000)) != 0;
		me->failures += bytes != sizeof(value) ||
				value != me->index * 1000 + tag.sequence;
	}
	return NULL;
}

static void threads_do_not_lose_each_others_messages(void **state)
{
	struct talk talks[2 * THREADS];
	pthread_t threads[2 * THREADS];
	int failures = 0;

	/* At most 4 threads' messages wait at once: under the bound. */
	(void)state;
	for (uint32_t round = 0; round < THREADS / 4; round++) {
		for (uint32_t i = 0; i < 8; i++) {
			talks[i].index = i / 2 + 4 * round;
			talks[i].side = (int)i % 2;
			talks[i].failures = 0;
			pthread_create(&threads[i], NULL, talk, &talks[i]);
		}
		for (uint32_t i = 0; i < 8; i++) {
			pthread_join(threads[i], NULL);
			failures += talks[i].failures;
		}
	}
	assert_int_equal(failures, 0);
}

/* Sends far more than a socket holds before it receives the other's. */
static void *flood(void *arg)
{
	static const uint8_t data[QO_CONTROL_BYTES_MAX];
	struct talk *me = arg;
	struct qo_control_tag tag = { 50, 0, 3 };
	uint8_t *got = malloc(sizeof(data));
	size_t bytes;

	for (uint32_t i = 0; i < BURST; i++)
		me->failures +=
			ops->control_send(pair.conn[me->side], &tag, data,
					  sizeof(data), NULL, in_ms(5000)) != 0;
	for (uint32_t i = 0; i < BURST; i++)
		me->failures += ops->control_recv(pair.conn[me->side], &tag,
						  got, sizeof(data), &bytes,
						  NULL, in_ms(5000)) != 0;
	free(got);
	return NULL;
}

static void two_who_send_at_once_both_go_on(void **state)
{
	struct talk talks[2] = { { 0, 0, 0 }, { 0, 1, 0 } };
	pthread_t threads[2];

	(void)state;
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, flood, &talks[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(talks[0].failures + talks[1].failures, 0);
}

static void who_never_receives_makes_the_sender_time_out(void **state)
{
	static const uint8_t data[QO_CONTROL_BYTES_MAX];
	struct qo_control_tag tag = { 51, 0, 3 };
	uint8_t *got = malloc(sizeof(data));
	uint32_t sent = 0;
	size_t bytes;
	int rc;

	(void)state;
	do {
		rc = ops->control_send(pair.conn[0], &tag, data, sizeof(data),
				       NULL, in_ms(20));
		sent += rc == 0;
	} while (rc == 0 && sent < 10000);
	assert_int_equal(rc, -ETIMEDOUT);
	while (sent-- > 0)
		assert_int_equal(ops->control_recv(pair.conn[1], &tag, got,
						   sizeof(data), &bytes, NULL,
						   in_ms(100)),
				 0);
	free(got);
}

static void too_many_unread_are_an_error(void **state)
{
	struct qo_control_tag tag = { 52, 0, 3 };
	uint32_t sent = 0;
	size_t bytes;
	int rc = 0;

	(void)state;
	while (rc != -ENOMEM && sent < 2 * QOI_MAILBOX_MESSAGES_MAX) {
		tag.sequence = sent++;
		assert_int_equal(ops->control_send(pair.conn[0], &tag, NULL, 0,
						   NULL, in_ms(100)),
				 0);
		tag.sequence = UINT32_MAX;
		rc = ops->control_recv(pair.conn[1], &tag, NULL, 0, &bytes,
				       NULL, 0);
	}
	assert_int_equal(rc, -ENOMEM);
	/* As before once they are read. */
	for (uint32_t i = 0; i < sent; i++) {
		tag.sequence = i;
		assert_int_equal(ops->control_recv(pair.conn[1], &tag, NULL, 0,
						   &bytes, NULL, in_ms(100)),
				 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_are_found_by_tag_in_their_order),
		cmocka_unit_test(a_message_that_does_not_come_times_out),
		cmocka_unit_test(sizes_are_checked),
		cmocka_unit_test(an_offer_nobody_wants_is_closed),
		cmocka_unit_test(threads_do_not_lose_each_others_messages),
		cmocka_unit_test(two_who_send_at_once_both_go_on),
		cmocka_unit_test(who_never_receives_makes_the_sender_time_out),
		cmocka_unit_test(too_many_unread_are_an_error),
	};

	return cmocka_run_group_tests(tests, open_pair, close_pair);
}
