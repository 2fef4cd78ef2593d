/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "providers/fault/fault.h"
#include "providers/fault/plan.h"
#include "tests/unit/provider_pair.h"

#define WORDS_OFFSET 32768
#define WINDOW_BYTES (WORDS_OFFSET + 4096)
#define POLLS_MAX 100000

static const char *const none[] = { NULL };
static const char *const all[] = { "QO_FAULT_SEED=7",
				   "QO_FAULT_DELAY=10",
				   "QO_FAULT_REORDER=20",
				   "QO_FAULT_DUPLICATE=20",
				   "QO_FAULT_TEAR=20",
				   "QO_FAULT_REFUSE=10",
				   NULL };

static const struct qo_provider_ops *ops_of(const struct pair *pair)
{
	return pair->endpoint[0]->provider->ops;
}

/* What has begun comes to its end. */
static void poll_until_idle(struct pair *pair)
{
	for (int n = 0; n < POLLS_MAX; n++) {
		endpoint_poll(pair->endpoint[0]);
		endpoint_poll(pair->endpoint[1]);
		if (!ops_of(pair)->busy(pair->endpoint[0]) &&
		    !ops_of(pair)->busy(pair->endpoint[1]))
			return;
	}
	fail_msg("busy for ever");
}

static void nothing_is_mapped_and_nothing_read(void **state)
{
	struct pair pair;

	(void)state;
	assert_int_equal(pair_open(&pair, "fault:shm", none, 64), 0);
	assert_string_equal(pair.endpoint[0]->provider->name, "fault:shm");
	assert_int_equal(pair.endpoint[0]->provider->caps,
			 QO_CAP_PUT | QO_CAP_FD);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pair.conn[i]->flags, 0);
		assert_null(pair.conn[i]->peer_bell);
		assert_null(pair.remote[i]->base);
		assert_int_equal(pair.remote[i]->bytes, 64);
		assert_ptr_equal(pair.conn[i]->endpoint, pair.endpoint[i]);
	}
	assert_int_equal(ops_of(&pair)->get(pair.conn[0], 0, NULL, 1),
			 -EOPNOTSUPP);
	pair_close(&pair);
}

static void without_faults_a_put_lands_at_once(void **state)
{
	struct pair pair;

	(void)state;
	assert_int_equal(pair_open(&pair, "fault:shm", none, 64), 0);
	assert_int_equal(put_word(pair.remote[0], 16, "seam", 4, 8, 5), 0);
	assert_int_equal(word_at(pair.window[1], 8), 5);
	assert_memory_equal(pair.window[1]->base + 16, "seam", 4);
	assert_int_equal(put_word(pair.remote[0], 61, "seam", 4, 8, 5), -EINVAL);
	assert_int_equal(ops_of(&pair)->busy(pair.endpoint[0]), 0);
	pair_close(&pair);
}

static void it_wraps_self_too(void **state)
{
	const struct qo_control_tag tag = { 1, 2, 3 };
	struct qo_endpoint *endpoint = endpoint_open("fault:self", all);
	const struct qo_provider_ops *ops = endpoint->provider->ops;
	struct qo_window *window;
	struct qo_remote *remote;
	struct qo_conn *conn;
	size_t bytes;

	(void)state;
	assert_int_equal(endpoint_connect(endpoint, endpoint, &conn), 0);
	assert_int_equal(ops->window_create(endpoint, 64, &window), 0);
	ops->control_send(conn, &tag, NULL, 0, window, in_ms(100));
	assert_int_equal(ops->control_recv(conn, &tag, NULL, 0, &bytes, &remote,
					   in_ms(100)),
			 0);
	while (put_word(remote, 16, "seam", 4, 8, 5) == -EAGAIN)
		endpoint_poll(endpoint);
	for (int n = 0; n < POLLS_MAX && word_at(window, 8) != 5; n++)
		endpoint_poll(endpoint);
	assert_int_equal(word_at(window, 8), 5);
	assert_memory_equal(window->base + 16, "seam", 4);
	ops->remote_release(remote);
	ops->window_destroy(window);
	ops->disconnect(conn);
	endpoint_close(endpoint);
}

static void the_plan_follows_the_seed_alone(void **state)
{
	struct qo_fault_plan plan = { .seed = 5,
				      .delay = 30,
				      .reorder = 30,
				      .duplicate = 30,
				      .tear = 30,
				      .drop = 30,
				      .refuse = 30 };
	struct qo_fault_fate a[200];
	struct qo_fault_fate b[200];
	int delays = 0;

	(void)state;
	memset(a, 0, sizeof(a));
	memset(b, 0, sizeof(b));
	for (uint64_t i = 0; i < 200; i++)
		qo_fault_plan_look(&plan, 3, i, &a[i]);
	for (uint64_t i = 200; i > 0; i--)
		qo_fault_plan_look(&plan, 3, i - 1, &b[i - 1]);
	assert_memory_equal(a, b, sizeof(a));
	for (int i = 0; i < 200; i++)
		delays += a[i].delay_polls > 0;
	assert_in_range(delays, 40, 80);
	plan.seed = 6;
	qo_fault_plan_look(&plan, 3, 0, &b[0]);
	for (uint64_t i = 0; i < 200; i++)
		qo_fault_plan_look(&plan, 3, i, &b[i]);
	assert_memory_not_equal(a, b, sizeof(a));
}

/* Some puts to places of their own; what befell them. */
static struct qo_fault_stats stats_of_a_run(const char *seed)
{
	const char *settings[] = { seed,   all[1], all[2], all[3],
				   all[4], all[5], NULL };
	struct qo_fault_stats stats;
	struct pair pair;

	assert_int_equal(pair_open(&pair, "fault:shm", settings, WINDOW_BYTES),
			 0);
	for (uint64_t i = 0; i < 400; i++) {
		while (put_word(pair.remote[0], 64 * i, "0123456789abcdef0123",
				20, WORDS_OFFSET + 8 * i, i + 1) == -EAGAIN)
			endpoint_poll(pair.endpoint[0]);
	}
	poll_until_idle(&pair);
	for (uint64_t i = 0; i < 400; i++) {
		assert_int_equal(word_at(pair.window[1], WORDS_OFFSET + 8 * i),
				 i + 1);
		assert_memory_equal(pair.window[1]->base + 64 * i,
				    "0123456789abcdef0123", 20);
	}
	qo_fault_stats_get(pair.endpoint[0], &stats);
	pair_close(&pair);
	return stats;
}

static void the_same_seed_gives_the_same_faults(void **state)
{
	struct qo_fault_stats a = stats_of_a_run("QO_FAULT_SEED=11");
	struct qo_fault_stats b = stats_of_a_run("QO_FAULT_SEED=11");
	struct qo_fault_stats c = stats_of_a_run("QO_FAULT_SEED=12");

	(void)state;
	assert_memory_equal(&a, &b, sizeof(a));
	assert_memory_not_equal(&a, &c, sizeof(a));
	assert_int_equal(a.accepted, 400);
	assert_int_equal(a.delivered, 400);
	assert_true(a.delayed > 0 && a.reordered > 0 && a.duplicated > 0 &&
		    a.torn > 0 && a.refused > 0);
	assert_int_equal(a.stale, a.duplicated);
}

static void a_delayed_put_comes_later_and_keeps_it_busy(void **state)
{
	static const char *const delay[] = { "QO_FAULT_DELAY=100", NULL };
	struct qo_fault_stats stats;
	struct pollfd fd = { .events = POLLIN };
	struct pair pair;
	uint64_t accepted = 0;

	(void)state;
	assert_int_equal(pair_open(&pair, "fault:shm", delay, WINDOW_BYTES), 0);
	fd.fd = ops_of(&pair)->fd(pair.endpoint[1]);
	while (put_word(pair.remote[0], 0, NULL, 0, 8 * accepted, 1) == 0)
		accepted++;
	assert_in_range(accepted, 64, 128);
	assert_int_equal(word_at(pair.window[1], 0), 0);
	assert_int_equal(ops_of(&pair)->busy(pair.endpoint[0]), 1);
	qo_fault_stats_get(pair.endpoint[0], &stats);
	assert_int_equal(stats.full, 1);
	/* Who sleeps is woken when it lands. */
	qoi_bell_agent_set(pair.endpoint[1]->bell, QOI_BELL_AGENT_DATA);
	for (int n = 0; n < POLLS_MAX && word_at(pair.window[1], 0) == 0; n++) {
		assert_int_equal(poll(&fd, 1, 0), 0);
		endpoint_poll(pair.endpoint[0]);
	}
	assert_int_equal(poll(&fd, 1, 0), 1);
	/* In order: a delay holds back what follows. */
	for (uint64_t i = 0; i < accepted; i++) {
		while (word_at(pair.window[1], 8 * i) == 0) {
			for (uint64_t j = i; j < accepted; j++)
				assert_int_equal(word_at(pair.window[1], 8 * j),
						 0);
			endpoint_poll(pair.endpoint[0]);
		}
	}
	assert_int_equal(ops_of(&pair)->busy(pair.endpoint[0]), 0);
	pair_close(&pair);
}

static void a_reordered_put_is_overtaken_by_others_alone(void **state)
{
	static const char *const reorder[] = { "QO_FAULT_REORDER=50", NULL };
	uint64_t last = 0;
	int overtaken = 0;
	struct pair pair;

	(void)state;
	assert_int_equal(pair_open(&pair, "fault:shm", reorder, 4096), 0);
	for (uint64_t i = 1; i <= 300; i++) {
		/* One word each, and one that all share. */
		assert_int_equal(put_word(pair.remote[0], 0, NULL, 0, 8 * i, 1),
				 0);
		while (put_word(pair.remote[0], 0, NULL, 0, 0, i) == -EAGAIN)
			endpoint_poll(pair.endpoint[0]);
		assert_true(word_at(pair.window[1], 0) >= last);
		last = word_at(pair.window[1], 0);
		overtaken += last == i && word_at(pair.window[1], 8 * i) == 0;
		if (i % 3 == 0)
			endpoint_poll(pair.endpoint[0]);
		assert_true(word_at(pair.window[1], 0) >= last);
	}
	assert_true(overtaken > 0);
	poll_until_idle(&pair);
	assert_int_equal(word_at(pair.window[1], 0), 300);
	pair_close(&pair);
}

static void a_torn_put_shows_its_word_last(void **state)
{
	static const char *const tear[] = { "QO_FAULT_TEAR=100", NULL };
	struct qo_fault_stats stats;
	struct pair pair;
	int seen_torn = 0;

	(void)state;
	assert_int_equal(pair_open(&pair, "fault:shm", tear, 4096), 0);
	for (uint64_t bytes = 0; bytes < 100; bytes++) {
		uint64_t offset = 64 + bytes % 9;
		uint8_t data[100];
		const uint8_t *there = pair.window[1]->base + offset;
		uint64_t came;

		memset(data, (int)bytes + 1, sizeof(data));
		assert_int_equal(put_word(pair.remote[0], offset, data, bytes,
					  0, bytes + 1),
				 0);
		while (word_at(pair.window[1], 0) != bytes + 1) {
			for (came = 0; came < bytes; came++)
				if (there[came] != bytes + 1)
					break;
			seen_torn += came > 0 && came < bytes;
			endpoint_poll(pair.endpoint[0]);
		}
		assert_memory_equal(there, data, bytes);
	}
	assert_true(seen_torn > 50);
	qo_fault_stats_get(pair.endpoint[0], &stats);
	assert_int_equal(stats.delivered, 100);
	pair_close(&pair);
}

static void a_copy_never_overwrites_what_is_newer(void **state)
{
	static const char *const twice[] = { "QO_FAULT_DUPLICATE=100", NULL };
	struct qo_fault_stats stats;
	struct pair pair;

	(void)state;
	assert_int_equal(pair_open(&pair, "fault:shm", twice, 64), 0);
	for (uint64_t i = 1; i <= 200; i++) {
		while (put_word(pair.remote[0], 16, &i, sizeof(i), 0, i) != 0)
			endpoint_poll(pair.endpoint[0]);
		while (word_at(pair.window[1], 0) != i)
			endpoint_poll(pair.endpoint[0]);
		/* Taken: the second copy would bring it back. */
		memset(pair.window[1]->base + 16, 0xff, sizeof(i));
		endpoint_poll(pair.endpoint[0]);
		assert_int_equal(word_at(pair.window[1], 0), i);
		assert_int_equal(word_at(pair.window[1], 16), UINT64_MAX);
	}
	poll_until_idle(&pair);
	assert_int_equal(word_at(pair.window[1], 0), 200);
	assert_int_equal(word_at(pair.window[1], 16), UINT64_MAX);
	qo_fault_stats_get(pair.endpoint[0], &stats);
	assert_int_equal(stats.duplicated, 200);
	assert_int_equal(stats.stale, 200);
	pair_close(&pair);
}

static void a_refused_put_leaves_nothing(void **state)
{
	static const char *const refuse[] = { "QO_FAULT_REFUSE=100", NULL };
	struct qo_fault_stats stats;
	struct pair pair;
	int refusals = 0;

	(void)state;
	assert_int_equal(pair_open(&pair, "fault:shm", refuse, 64), 0);
	while (put_word(pair.remote[0], 16, "seam", 4, 0, 1) == -EAGAIN) {
		endpoint_poll(pair.endpoint[0]);
		assert_int_equal(word_at(pair.window[1], 0), 0);
		assert_int_equal(word_at(pair.window[1], 16), 0);
		refusals++;
	}
	assert_in_range(refusals, 1, 3);
	qo_fault_stats_get(pair.endpoint[0], &stats);
	assert_int_equal(stats.refused, refusals);
	assert_int_equal(stats.accepted, 1);
	pair_close(&pair);
}

/* Both sides learn of it, one through the other. */
static void expect_broken(struct pair *pair)
{
	const struct qo_control_tag tag = { 4, 4, 4 };
	struct qo_conn *conn;
	struct qo_fault_stats stats;

	assert_int_equal(conn_fate(pair->conn[0]), -ECONNRESET);
	assert_int_equal(conn_fate(pair->conn[1]), -ECONNRESET);
	poll_until_idle(pair);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(put_word(pair->remote[i], 0, NULL, 0, 0, 1),
				 -ECONNRESET);
		assert_int_equal(ops_of(pair)->control_send(pair->conn[i], &tag,
							    NULL, 0, NULL,
							    in_ms(100)),
				 -ECONNRESET);
		assert_int_equal(endpoint_connect(pair->endpoint[i],
						  pair->endpoint[1 - i], &conn),
				 -ECONNRESET);
	}
	qo_fault_stats_get(pair->endpoint[0], &stats);
	assert_int_equal(stats.lost, 1);
	assert_int_equal(stats.accepted,
			 stats.delivered + stats.dropped + stats.discarded);
}

static void a_dropped_put_breaks_the_connection(void **state)
{
	static const char *const drop[] = { "QO_FAULT_DROP=5",
					    "QO_FAULT_DELAY=30",
					    "QO_FAULT_DUPLICATE=30", NULL };
	struct pair pair;
	uint64_t i = 0;
	int rc;

	(void)state;
	assert_int_equal(pair_open(&pair, "fault:shm", drop, 8192), 0);
	do {
		rc = put_word(pair.remote[0], 0, NULL, 0, 8 * i, 1);
		i += rc == 0;
		endpoint_poll(pair.endpoint[0]);
	} while ((rc == 0 || rc == -EAGAIN) && i < 1000);
	assert_int_equal(rc, -ECONNRESET);
	expect_broken(&pair);
	pair_close(&pair);
}

static void a_connection_can_be_killed_at_a_put(void **state)
{
	static const char *const kill[] = { "QO_FAULT_KILL_AFTER=10", NULL };
	struct pollfd fd = { .events = POLLIN };
	struct pair pair;

	(void)state;
	assert_int_equal(pair_open(&pair, "fault:shm", kill, 64), 0);
	fd.fd = ops_of(&pair)->fd(pair.endpoint[1]);
	for (uint64_t i = 1; i < 10; i++)
		assert_int_equal(put_word(pair.remote[0], 0, NULL, 0, 0, i), 0);
	assert_int_equal(put_word(pair.remote[0], 0, NULL, 0, 0, 10),
			 -ECONNRESET);
	assert_int_equal(word_at(pair.window[1], 0), 9);
	assert_int_equal(ops_of(&pair)->busy(pair.endpoint[0]), 1);
	/* Who sleeps is woken for it. */
	assert_int_equal(poll(&fd, 1, 0), 0);
	qoi_bell_agent_set(pair.endpoint[1]->bell, QOI_BELL_AGENT_DATA);
	while (ops_of(&pair)->busy(pair.endpoint[0]))
		endpoint_poll(pair.endpoint[0]);
	assert_int_equal(poll(&fd, 1, 0), 1);
	expect_broken(&pair);
	pair_close(&pair);
}

static void a_good_bye_goes_through(void **state)
{
	struct pair pair;

	(void)state;
	assert_int_equal(pair_open(&pair, "fault:shm", all, 64), 0);
	ops_of(&pair)->remote_release(pair.remote[1]);
	ops_of(&pair)->window_destroy(pair.window[1]);
	ops_of(&pair)->disconnect(pair.conn[1]);
	endpoint_close(pair.endpoint[1]);
	assert_int_equal(conn_fate(pair.conn[0]), -EPIPE);
	pair.remote[1] = NULL;
	pair.window[1] = NULL;
	pair.conn[1] = NULL;
	pair.endpoint[1] = NULL;
	pair_close(&pair);
}

static void what_is_under_way_lands_before_its_remote_goes(void **state)
{
	struct pair pair;
	int rc;

	(void)state;
	assert_int_equal(pair_open(&pair, "fault:shm", all, 8192), 0);
	for (uint64_t i = 0; i < 60; i++)
		do
			rc = put_word(pair.remote[0], 4096 + 64 * i,
				      "seam seam", 9, 8 * i, 1);
		while (rc == -EAGAIN);
	ops_of(&pair)->remote_release(pair.remote[0]);
	pair.remote[0] = NULL;
	for (uint64_t i = 0; i < 60; i++) {
		assert_int_equal(word_at(pair.window[1], 8 * i), 1);
		assert_memory_equal(pair.window[1]->base + 4096 + 64 * i,
				    "seam seam", 9);
	}
	/* Refusals keep it busy for a while: others may try again. */
	for (int i = 0; i < 100; i++) {
		uint32_t work;

		ops_of(&pair)->poll(pair.endpoint[0], 64, &work);
	}
	assert_int_equal(ops_of(&pair)->busy(pair.endpoint[0]), 0);
	pair_close(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_mapped_and_nothing_read),
		cmocka_unit_test(without_faults_a_put_lands_at_once),
		cmocka_unit_test(it_wraps_self_too),
		cmocka_unit_test(the_plan_follows_the_seed_alone),
		cmocka_unit_test(the_same_seed_gives_the_same_faults),
		cmocka_unit_test(a_delayed_put_comes_later_and_keeps_it_busy),
		cmocka_unit_test(a_reordered_put_is_overtaken_by_others_alone),
		cmocka_unit_test(a_torn_put_shows_its_word_last),
		cmocka_unit_test(a_copy_never_overwrites_what_is_newer),
		cmocka_unit_test(a_refused_put_leaves_nothing),
		cmocka_unit_test(a_dropped_put_breaks_the_connection),
		cmocka_unit_test(a_connection_can_be_killed_at_a_put),
		cmocka_unit_test(a_good_bye_goes_through),
		cmocka_unit_test(what_is_under_way_lands_before_its_remote_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
