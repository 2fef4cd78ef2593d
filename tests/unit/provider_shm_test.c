/* SPDX-License-Identifier: BSD-3-Clause */
/* Endpoints of one process; provider_shm_process_test.c has two. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libqoffload/base/clock.h"
#include "libqoffload/base/error.h"
#include "providers/shm/wire.h"
#include "tests/unit/provider_pair.h"

#define CYCLES 1000
#define WINDOW_BYTES 4096

static struct pair pair;

static int open_pair(void **state)
{
	(void)state;
	return pair_open(&pair, "shm", NULL, WINDOW_BYTES);
}

static int close_pair(void **state)
{
	(void)state;
	pair_close(&pair);
	return 0;
}

static const struct qo_provider_ops *ops_of(struct qo_endpoint *endpoint)
{
	return endpoint->provider->ops;
}

static void a_pair_has_one_connection(void **state)
{
	struct qo_conn *again;

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(endpoint_connect(pair.endpoint[i],
						  pair.endpoint[1 - i], &again),
				 0);
		assert_ptr_equal(again, pair.conn[i]);
		ops_of(pair.endpoint[i])->disconnect(again);
	}
}

static void one_process_sees_one_address(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_ptr_equal(pair.remote[i]->base, pair.window[1 - i]->base);
		assert_ptr_equal(pair.conn[i]->peer_bell,
				 pair.endpoint[1 - i]->bell);
		assert_int_equal(pair.remote[i]->bytes, WINDOW_BYTES);
	}
}

static void a_put_is_seen_payload_first(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(put_word(pair.remote[i], 64, "seam", 4, 0, 7),
				 0);
		assert_int_equal(word_at(pair.window[1 - i], 0), 7);
		assert_memory_equal(pair.window[1 - i]->base + 64, "seam", 4);
	}
}

static void a_put_beyond_the_window_is_refused(void **state)
{
	struct qo_remote *remote = pair.remote[0];

	(void)state;
	assert_int_equal(put_word(remote, WINDOW_BYTES - 3, "seam", 4, 0, 1),
			 -EINVAL);
	assert_int_equal(put_word(remote, UINT64_MAX - 1, "seam", 4, 0, 1),
			 -EINVAL);
	assert_int_equal(put_word(remote, 0, "seam", 4, WINDOW_BYTES, 1),
			 -EINVAL);
	assert_int_equal(put_word(remote, 0, "seam", 4, 4, 1), -EINVAL);
	assert_int_equal(put_word(remote, WINDOW_BYTES - 12, "seam", 4,
				  WINDOW_BYTES - 8, 1),
			 0);
}

static void a_get_copies_from_ordinary_memory(void **state)
{
	uint64_t bytes = 3 << 20;
	uint8_t *from = malloc(bytes);
	uint8_t *to = calloc(1, bytes);

	(void)state;
	if ((pair.conn[0]->flags & QO_CONN_GET) == 0)
		skip();
	for (uint64_t i = 0; i < bytes; i++)
		from[i] = (uint8_t)(i * 7 + i / 255);
	assert_true(pair.conn[1]->flags & QO_CONN_GET_BY_PEER);
	assert_int_equal(ops_of(pair.endpoint[0])
				 ->get(pair.conn[0], (uint64_t)(uintptr_t)from,
				       to, bytes),
			 0);
	assert_memory_equal(from, to, bytes);
	assert_int_equal(ops_of(pair.endpoint[0])->get(pair.conn[0], 8, to, 8),
			 -EIO);
	free(from);
	free(to);
}

static void get_can_be_switched_off(void **state)
{
	static const char *const off[] = { "QO_SHM_GET=off", NULL };
	struct pair other;
	uint8_t byte = 0;

	(void)state;
	assert_int_equal(pair_open(&other, "shm", off, 64), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(other.conn[i]->flags, QO_CONN_MAP);
	assert_int_equal(ops_of(other.endpoint[0])
				 ->get(other.conn[0],
				       (uint64_t)(uintptr_t)&byte, &byte, 1),
			 -EOPNOTSUPP);
	pair_close(&other);
}

/* One demands what the other refuses to give; whoever connects. */
static void get_can_be_demanded(void **state)
{
	static const char *const off[] = { "QO_SHM_GET=off", NULL };
	static const char *const on[] = { "QO_SHM_GET=on", NULL };

	(void)state;
	for (int i = 0; i < 8; i++) {
		struct qo_endpoint *ends[2] = { endpoint_open("shm", on),
						endpoint_open("shm", off) };
		struct qo_conn *conns[2];
		int64_t start_ns = qoi_clock_ns();
		int rcs[2];

		connect_both(ends, conns, rcs);
		assert_int_equal(rcs[0], -EPERM);
		assert_int_equal(rcs[1], -EPERM);
		assert_true(qoi_clock_ns() - start_ns < SECOND_NS);
		endpoint_close(ends[0]);
		endpoint_close(ends[1]);
	}
}

static void a_wake_reaches_a_sleeping_agent_alone(void **state)
{
	struct qo_endpoint *sleeper = pair.endpoint[1];
	struct pollfd fd = { .fd = ops_of(sleeper)->fd(sleeper),
			     .events = POLLIN };

	(void)state;
	ops_of(sleeper)->wake(pair.conn[0]);
	assert_int_equal(poll(&fd, 1, 0), 0);
	qoi_bell_agent_set(sleeper->bell, QOI_BELL_AGENT_DATA);
	ops_of(sleeper)->wake(pair.conn[0]);
	assert_int_equal(poll(&fd, 1, 0), 1);
	ops_of(sleeper)->wake_clear(sleeper);
	assert_int_equal(poll(&fd, 1, 0), 0);
	/* So does a put. */
	assert_int_equal(put_word(pair.remote[0], 0, NULL, 0, 0, 1), 0);
	assert_int_equal(poll(&fd, 1, 0), 1);
	qoi_bell_agent_set(sleeper->bell, QOI_BELL_AGENT_AWAKE);
	ops_of(sleeper)->wake_clear(sleeper);
	assert_int_equal(put_word(pair.remote[0], 0, NULL, 0, 0, 2), 0);
	assert_int_equal(poll(&fd, 1, 0), 0);
}

static void some_addresses_are_out_of_reach(void **state)
{
	struct qo_endpoint *own = pair.endpoint[0];
	struct qo_shm_address address;
	struct qo_shm_address wrong;
	struct qo_conn *conn;
	size_t bytes;

	(void)state;
	ops_of(own)->address(pair.endpoint[1], &address, &bytes);
	assert_int_equal(ops_of(own)->reachable(own, &address, bytes), 0);
	assert_int_equal(ops_of(own)->reachable(own, &address, bytes - 1),
			 -EPROTONOSUPPORT);
	wrong = address;
	wrong.node_id[3] ^= 1;
	assert_int_equal(ops_of(own)->reachable(own, &wrong, bytes),
			 -ENETUNREACH);
	wrong = address;
	wrong.layout_hash ^= 1;
	assert_int_equal(ops_of(own)->reachable(own, &wrong, bytes),
			 -EPROTONOSUPPORT);
	assert_int_equal(ops_of(own)->connect(own, &wrong, bytes, in_ms(100),
					      &conn),
			 -EPROTONOSUPPORT);
	ops_of(own)->address(own, &address, &bytes);
	assert_int_equal(ops_of(own)->reachable(own, &address, bytes),
			 -ENETUNREACH);
	assert_int_equal(endpoint_connect(own, own, &conn), -EPERM);
}

static void a_peer_that_closes_says_good_bye(void **state)
{
	const struct qo_control_tag tag = { 1, 1, 1 };
	struct pair other;
	char data[4];
	size_t bytes;

	(void)state;
	assert_int_equal(pair_open(&other, "shm", NULL, 64), 0);
	/* Something unread in its socket, and its own last word in ours. */
	ops_of(other.endpoint[1])
		->control_send(other.conn[1], &tag, "x", 1, NULL, in_ms(100));
	ops_of(other.endpoint[0])
		->control_send(other.conn[0], &tag, "last", 4, NULL, in_ms(100));
	ops_of(other.endpoint[0])->remote_release(other.remote[0]);
	ops_of(other.endpoint[0])->window_destroy(other.window[0]);
	ops_of(other.endpoint[0])->disconnect(other.conn[0]);
	assert_int_equal(conn_fate(other.conn[1]), 0);
	endpoint_close(other.endpoint[0]);
	assert_int_equal(conn_fate(other.conn[1]), -EPIPE);
	assert_int_equal(put_word(other.remote[1], 0, NULL, 0, 0, 1),
			 -ECONNRESET);
	assert_int_equal(ops_of(other.endpoint[1])
				 ->control_recv(other.conn[1], &tag, data, 4,
						&bytes, NULL, in_ms(1000)),
			 0);
	assert_memory_equal(data, "last", 4);
	assert_int_equal(ops_of(other.endpoint[1])
				 ->control_recv(other.conn[1], &tag, data, 4,
						&bytes, NULL, in_ms(1000)),
			 -EPIPE);
	assert_int_equal(ops_of(other.endpoint[1])
				 ->control_send(other.conn[1], &tag, data, 4,
						NULL, in_ms(1000)),
			 -EPIPE);
	ops_of(other.endpoint[1])->remote_release(other.remote[1]);
	ops_of(other.endpoint[1])->window_destroy(other.window[1]);
	ops_of(other.endpoint[1])->disconnect(other.conn[1]);
	endpoint_close(other.endpoint[1]);
}

static int shared_names(void)
{
	DIR *folder = opendir("/dev/shm");
	struct dirent *entry;
	int count = 0;

	while (folder != NULL && (entry = readdir(folder)) != NULL)
		count += strstr(entry->d_name, "qoffload") != NULL;
	if (folder != NULL)
		closedir(folder);
	return count;
}

static int socket_is_named(const struct qo_shm_address *address)
{
	char name[64] = "@qoffload-";
	char line[512];
	FILE *file = fopen("/proc/net/unix", "r");
	int found = 0;

	for (int i = 0; i < QO_SHM_ID_BYTES; i++)
		sprintf(name + strlen(name), "%02x", address->endpoint_id[i]);
	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		found |= strstr(line, name) != NULL;
	if (file != NULL)
		fclose(file);
	return found;
}

static void nothing_is_left_after_many_cycles(void **state)
{
	int fds = fd_count();

	(void)state;
	for (int i = 0; i < CYCLES; i++) {
		struct qo_shm_address address;
		struct pair other;
		size_t bytes;

		assert_int_equal(pair_open(&other, "shm", NULL, 64), 0);
		ops_of(other.endpoint[0])
			->address(other.endpoint[0], &address, &bytes);
		if (i % 100 == 0)
			assert_true(socket_is_named(&address));
		pair_close(&other);
		assert_int_equal(fd_count(), fds);
		if (i % 100 == 0)
			assert_false(socket_is_named(&address));
	}
	assert_int_equal(shared_names(), 0);
}

static void reconnecting_costs_no_descriptor(void **state)
{
	int fds = fd_count();

	(void)state;
	for (int i = 0; i < CYCLES; i++) {
		struct qo_conn *conn;

		assert_int_equal(endpoint_connect(pair.endpoint[i % 2],
						  pair.endpoint[1 - i % 2],
						  &conn),
				 0);
		ops_of(pair.endpoint[i % 2])->disconnect(conn);
	}
	assert_int_equal(fd_count(), fds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pair_has_one_connection),
		cmocka_unit_test(one_process_sees_one_address),
		cmocka_unit_test(a_put_is_seen_payload_first),
		cmocka_unit_test(a_put_beyond_the_window_is_refused),
		cmocka_unit_test(a_get_copies_from_ordinary_memory),
		cmocka_unit_test(get_can_be_switched_off),
		cmocka_unit_test(get_can_be_demanded),
		cmocka_unit_test(a_wake_reaches_a_sleeping_agent_alone),
		cmocka_unit_test(some_addresses_are_out_of_reach),
		cmocka_unit_test(a_peer_that_closes_says_good_bye),
		cmocka_unit_test(nothing_is_left_after_many_cycles),
		cmocka_unit_test(reconnecting_costs_no_descriptor),
	};

	return cmocka_run_group_tests(tests, open_pair, close_pair);
}
