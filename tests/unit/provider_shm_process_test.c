/* SPDX-License-Identifier: BSD-3-Clause */
/* Two processes exchange. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "libqoffload/shm/atomic.h"
#include "tests/unit/provider_side.h"

#define ROUNDS 2000
#define NOBODY 65534

static const struct qo_control_tag address_tag = { 1, 1, 0 };
static const struct qo_control_tag end_tag = { 1, 2, 0 };

static uint64_t pattern(uint64_t round, uint64_t i)
{
	return (round << 32) ^ (i * UINT64_C(0x9e3779b97f4a7c15));
}

/*
 * Writes a round to the other, and waits for the other's, asleep.  The other
 * may be one round ahead: odd and even rounds have places of their own.
 */
static int play_round(struct side *side, uint64_t round)
{
	uint64_t data[16];
	uint64_t at = 256 * (round % 2);
	struct qo_put put = { .offset = at + 64,
			      .data = data,
			      .bytes = 128,
			      .word_offset = at,
			      .word = round };
	const uint64_t *word = (const void *)(side->window->base + at);
	const uint64_t *got = (const void *)(side->window->base + at + 64);
	struct qoi_bell *bell = side->endpoint->bell;

	for (uint64_t i = 0; i < 16; i++)
		data[i] = pattern(round, i);
	if (side->ops->put(side->remote, &put) != 0)
		return -1;
	side->ops->wake(side->conn);
	while (qoi_observe64_at(QOI_EDGE_O1, word) != round) {
		uint32_t sequence = qoi_bell_announce(bell);

		if (qoi_observe64_at(QOI_EDGE_O1, word) == round)
			qoi_bell_cancel(bell);
		else if (qoi_bell_sleep(bell, sequence, in_ms(2000)) != 0)
			return -2;
	}
	for (uint64_t i = 0; i < 16; i++)
		if (got[i] != pattern(round, i))
			return -3;
	return 0;
}

static int play(struct side *side)
{
	static const char text[] = "from ordinary memory";
	uint64_t address = (uint64_t)(uintptr_t)text;
	char copy[sizeof(text)] = "";
	int rc = side_open(side);

	if (rc == 0)
		rc = side_connect(side);
	if (rc == 0)
		rc = side_windows(side);
	for (uint64_t round = 1; rc == 0 && round <= ROUNDS; round++)
		rc = play_round(side, round);
	if (rc != 0)
		return 1;
	/* Both read, or neither: the pair decides. */
	if ((side->conn->flags & QO_CONN_GET) == 0)
		return (side->conn->flags & QO_CONN_GET_BY_PEER) == 0 ? 0 : 2;
	if (side->ops->control_send(side->conn, &address_tag, &address, 8, NULL,
				    in_ms(1000)) != 0)
		return 3;
	{
		size_t bytes;

		if (side->ops->control_recv(side->conn, &address_tag, &address,
					    8, &bytes, NULL, in_ms(1000)) != 0)
			return 4;
	}
	if (side->ops->get(side->conn, address, copy, sizeof(copy)) != 0)
		return 5;
	if (strcmp(copy, text) != 0)
		return 6;
	/* Neither leaves while the other may read it. */
	if (side->ops->control_send(side->conn, &end_tag, NULL, 0, NULL,
				    in_ms(1000)) != 0)
		return 7;
	{
		size_t bytes;

		if (side->ops->control_recv(side->conn, &end_tag, NULL, 0,
					    &bytes, NULL, in_ms(1000)) != 0)
			return 8;
	}
	return 0;
}

static int play_and_close(struct side *side)
{
	int code = play(side);

	side_close(side);
	return code;
}

static void two_processes_exchange(void **state)
{
	struct side side;

	(void)state;
	side_start(&side, play_and_close);
	assert_int_equal(play(&side), 0);
	assert_int_equal(conn_fate(side.conn), -EPIPE);
	assert_int_equal(side_finish(&side), 0);
}

static int connect_as_nobody(struct side *side)
{
	int rc;

	if (setresuid(NOBODY, NOBODY, NOBODY) != 0 || side_open(side) != 0)
		return 1;
	rc = side_connect(side);
	side_close(side);
	return rc == -ECONNRESET || rc == -EPERM ? 0 : 2;
}

/* By either side, so it doesn't matter who connects. */
static void another_user_is_refused(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	for (int i = 0; i < 6; i++) {
		struct side side;

		side_start(&side, connect_as_nobody);
		assert_int_equal(side_open(&side), 0);
		assert_int_equal(side_connect(&side), -EPERM);
		/* Turns away who came, as an agent would. */
		for (int n = 0; n < 20; n++) {
			endpoint_settle(side.endpoint);
			usleep(1000);
		}
		assert_int_equal(side_finish(&side), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_processes_exchange),
		cmocka_unit_test(another_user_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
