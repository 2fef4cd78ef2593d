/* SPDX-License-Identifier: BSD-3-Clause */
/* Who connects to whom, all at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>

#include "providers/shm/wire.h"
#include "tests/unit/provider_pair.h"

#define MANY 8

static const struct qo_provider_ops *ops_of(struct qo_endpoint *endpoint)
{
	return endpoint->provider->ops;
}

struct many {
	struct qo_endpoint *endpoint[MANY];
	struct qo_conn *conn[MANY][MANY];
	int rc[MANY];
};

struct many_call {
	struct many *many;
	int index;
};

/* In a rotated order: a ring of those who wait for each other. */
static void *connect_to_all(void *arg)
{
	struct many_call *call = arg;
	struct many *many = call->many;
	int i = call->index;

	for (int step = 1; step < MANY && many->rc[i] == 0; step++) {
		int j = (i + step) % MANY;

		many->rc[i] =
			endpoint_connect(many->endpoint[i], many->endpoint[j],
					 &many->conn[i][j]);
	}
	return NULL;
}

static void many_connect_to_each_other(void **state)
{
	static struct many many;
	struct many_call calls[MANY];
	pthread_t threads[MANY];
	int fds;

	(void)state;
	memset(&many, 0, sizeof(many));
	for (int i = 0; i < MANY; i++)
		many.endpoint[i] = endpoint_open("shm", NULL);
	fds = fd_count();
	for (int i = 0; i < MANY; i++) {
		calls[i].many = &many;
		calls[i].index = i;
		pthread_create(&threads[i], NULL, connect_to_all, &calls[i]);
	}
	for (int i = 0; i < MANY; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(many.rc[i], 0);
	}
	for (int i = 0; i < MANY; i++)
		endpoint_settle(many.endpoint[i]); /* lets go of knocks */
	/* A socket and an eventfd for each side of each connection. */
	assert_int_equal(fd_count(), fds + 2 * MANY * (MANY - 1));
	for (int i = 0; i < MANY; i++)
		for (int j = 0; j < MANY; j++)
			if (i != j)
				ops_of(many.endpoint[i])
					->disconnect(many.conn[i][j]);
	for (int i = 0; i < MANY; i++)
		endpoint_close(many.endpoint[i]);
}

struct same_call {
	struct qo_endpoint *from;
	struct qo_endpoint *to;
	struct qo_conn *conn;
	int rc;
};

static void *connect_same(void *arg)
{
	struct same_call *call = arg;

	call->rc = endpoint_connect(call->from, call->to, &call->conn);
	return NULL;
}

static void many_threads_get_the_same_connection(void **state)
{
	struct qo_endpoint *ends[2] = { endpoint_open("shm", NULL),
					endpoint_open("shm", NULL) };
	struct same_call calls[MANY];
	pthread_t threads[MANY];

	(void)state;
	for (int i = 0; i < MANY; i++) {
		calls[i].from = ends[i % 2];
		calls[i].to = ends[1 - i % 2];
		pthread_create(&threads[i], NULL, connect_same, &calls[i]);
	}
	for (int i = 0; i < MANY; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(calls[i].rc, 0);
		assert_ptr_equal(calls[i].conn, calls[i % 2].conn);
	}
	for (int i = 0; i < MANY; i++)
		ops_of(calls[i].from)->disconnect(calls[i].conn);
	endpoint_close(ends[0]);
	endpoint_close(ends[1]);
}

static void who_waits_alone_times_out(void **state)
{
	struct qo_endpoint *ends[2] = { endpoint_open("shm", NULL),
					endpoint_open("shm", NULL) };
	uint8_t address[QO_ADDRESS_BYTES_MAX];
	struct qo_conn *conn;
	size_t bytes;

	/* The lower id and the higher, whichever is first. */
	(void)state;
	for (int i = 0; i < 2; i++) {
		ops_of(ends[i])->address(ends[i], address, &bytes);
		assert_int_equal(ops_of(ends[1 - i])
					 ->connect(ends[1 - i], address, bytes,
						   in_ms(20), &conn),
				 -ETIMEDOUT);
	}
	/* That it was in vain before does no harm. */
	{
		struct qo_conn *conns[2];
		int rcs[2];

		connect_both(ends, conns, rcs);
		assert_int_equal(rcs[0], 0);
		assert_int_equal(rcs[1], 0);
		ops_of(ends[0])->disconnect(conns[0]);
		ops_of(ends[1])->disconnect(conns[1]);
	}
	endpoint_close(ends[0]);
	endpoint_close(ends[1]);
}

static struct qo_endpoint *lower_first(struct qo_endpoint *ends[2])
{
	struct qo_shm_address a;
	struct qo_shm_address b;
	size_t bytes;

	ops_of(ends[0])->address(ends[0], &a, &bytes);
	ops_of(ends[1])->address(ends[1], &b, &bytes);
	if (memcmp(a.endpoint_id, b.endpoint_id, QO_SHM_ID_BYTES) > 0) {
		struct qo_endpoint *swap = ends[0];

		ends[0] = ends[1];
		ends[1] = swap;
	}
	return ends[0];
}

static void an_agent_lets_a_peer_in(void **state)
{
	struct qo_endpoint *ends[2] = { endpoint_open("shm", NULL),
					endpoint_open("shm", NULL) };
	struct same_call call = { .from = lower_first(ends), .to = ends[1] };
	struct pollfd fd = { .fd = ops_of(ends[1])->fd(ends[1]),
			     .events = POLLIN };
	struct qo_conn *conn;
	pthread_t thread;

	/* The higher only polls, as its descriptor tells it to. */
	(void)state;
	pthread_create(&thread, NULL, connect_same, &call);
	assert_int_equal(poll(&fd, 1, 5000), 1);
	endpoint_poll(ends[1]);
	assert_int_equal(poll(&fd, 1, 5000), 1);
	endpoint_settle(ends[1]);
	pthread_join(thread, NULL);
	endpoint_settle(ends[1]);
	assert_int_equal(call.rc, 0);
	assert_int_equal(endpoint_connect(ends[1], ends[0], &conn), 0);
	assert_int_equal(poll(&fd, 1, 0), 0);
	ops_of(ends[0])->disconnect(call.conn);
	ops_of(ends[1])->disconnect(conn);
	endpoint_close(ends[0]);
	endpoint_close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_connect_to_each_other),
		cmocka_unit_test(many_threads_get_the_same_connection),
		cmocka_unit_test(who_waits_alone_times_out),
		cmocka_unit_test(an_agent_lets_a_peer_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
