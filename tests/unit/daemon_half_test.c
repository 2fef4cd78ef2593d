/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations as the daemon carries them out, on every way to the buffers. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <qoffload/types.h>

#include "libqoffload/shm/completion.h"
#include "tests/unit/daemon_ranks.h"

static void run_alltoall(uint64_t elements, uint32_t mapped, uint32_t sequence)
{
	const struct qoi_coll coll = { .kind = QOI_ALLTOALL,
				       .type = QO_UINT64,
				       .elements = elements };

	ops_add(coll, NULL, 3, sequence, mapped);
	for (uint32_t round = 0; round < 12; round++) {
		for (uint32_t rank = 0; rank < 3; rank++) {
			for (uint64_t i = 0; i < 3 * elements; i++)
				words(rank, 0)[i] =
					value(rank, (uint32_t)(i / elements),
					      i % elements, round);
			post(rank);
		}
		turn_all();
		expect_done(3);
		for (uint32_t rank = 0; rank < 3; rank++) {
			for (uint64_t i = 0; i < 3 * elements; i++)
				assert_int_equal(words(rank, RECV_AT)[i],
						 value((uint32_t)(i / elements),
						       rank, i % elements,
						       round));
		}
	}
	for (uint32_t rank = 0; rank < 3; rank++)
		assert_int_equal(qoi_half_drop(&clients[rank].session,
					       (uint32_t)clients[rank].op),
				 0);
}

static void an_alltoall_arrives_on_every_path(void **state)
{
	(void)state;
	for (uint32_t mapped = 0; mapped < 8; mapped++) {
		run_alltoall(3, mapped, mapped);
		run_alltoall(40000, mapped, 100 + mapped);
	}
	run_alltoall(0, 7, 200);
}

static void run_allreduce(const char *algorithm, uint64_t elements,
			  uint32_t mapped, uint32_t sequence)
{
	const struct qoi_coll coll = { .kind = QOI_ALLREDUCE,
				       .type = QO_UINT64,
				       .reduce = QO_SUM,
				       .elements = elements };

	ops_add(coll, algorithm, RANKS, sequence, mapped);
	for (uint32_t rank = 0; rank < RANKS; rank++) {
		for (uint64_t i = 0; i < elements; i++)
			words(rank, 0)[i] = value(rank, 0, i, 0);
		post(rank);
		/* Each posts into what the others wait for. */
		turn_all();
	}
	expect_done(RANKS);
	for (uint32_t rank = 0; rank < RANKS; rank++) {
		for (uint64_t i = 0; i < elements; i++) {
			uint64_t sum = 0;

			for (uint32_t from = 0; from < RANKS; from++)
				sum += value(from, 0, i, 0);
			assert_int_equal(words(rank, RECV_AT)[i], sum);
		}
		assert_int_equal(qoi_half_drop(&clients[rank].session,
					       (uint32_t)clients[rank].op),
				 0);
	}
}

static void an_allreduce_folds_on_every_path(void **state)
{
	static const uint32_t mappings[] = { 0, 5, 15 };
	const char *const *names = qoi_coll_algorithms(QOI_ALLREDUCE);
	uint32_t sequence = 0;

	(void)state;
	for (uint32_t i = 0; names[i] != NULL; i++) {
		for (uint32_t j = 0; j < 3; j++) {
			run_allreduce(names[i], 7, mappings[j], sequence++);
			run_allreduce(names[i], 60001, mappings[j], sequence++);
		}
	}
}

/* The root is done when its message is kept; who is asleep holds up nobody. */
static void a_short_bcast_is_kept_until_the_receiver_posts(void **state)
{
	const struct qoi_coll coll = { .kind = QOI_BCAST,
				       .type = QO_UINT64,
				       .elements = 4 };
	uint64_t word;

	(void)state;
	ops_add(coll, "flat", 3, 1, 7);
	words(0, RECV_AT)[0] = 4711;
	post(0);
	turn_all();
	assert_true(ended(0, &word));
	assert_false(ended(1, &word));
	/* A client that is done may go at once. */
	qoi_halves_drop_all(&clients[0].session, -EPIPE);
	post(1);
	post(2);
	turn_all();
	for (uint32_t rank = 1; rank < 3; rank++) {
		assert_true(ended(rank, &word));
		assert_int_equal(qoi_completion_state(word),
				 QOI_COMPLETION_DONE);
		assert_int_equal(words(rank, RECV_AT)[0], 4711);
	}
}

static void a_death_fails_what_needs_the_rank(void **state)
{
	const struct qoi_coll coll = { .kind = QOI_ALLGATHER,
				       .type = QO_UINT64,
				       .elements = 20000 };
	uint64_t word;

	(void)state;
	ops_add(coll, NULL, RANKS, 1, 3);
	for (uint32_t rank = 0; rank < RANKS - 1; rank++)
		post(rank);
	turn_all();
	assert_false(ended(0, &word));
	qoi_halves_drop_all(&clients[3].session, -ECONNRESET);
	for (uint32_t rank = 0; rank < RANKS - 1; rank++)
		expect_failed(rank, -ECONNRESET, 3);
	/* And it stays so. */
	post(1);
	turn_all();
	expect_failed(1, -ECONNRESET, 3);
}

static void a_good_bye_fails_those_alone_that_wait_for_it(void **state)
{
	const struct qoi_coll coll = { .kind = QOI_BCAST,
				       .type = QO_UINT64,
				       .elements = 20000 };
	uint64_t word;

	(void)state;
	ops_add(coll, "flat", 3, 1, 7);
	post(1);
	turn_all();
	assert_false(ended(1, &word));
	qoi_halves_drop_all(&clients[2].session, -EPIPE);
	assert_false(ended(1, &word));
	qoi_halves_drop_all(&clients[0].session, -EPIPE);
	expect_failed(1, -EPIPE, 0);
}

/* The last to look sees that its message was taken, though the taker left. */
static void what_was_taken_before_a_good_bye_counts(void **state)
{
	const struct qoi_coll coll = { .kind = QOI_BCAST,
				       .type = QO_UINT64,
				       .elements = 20000 };
	struct qoi_half *leaf;

	(void)state;
	ops_add(coll, "flat", 2, 1, 3);
	leaf = clients[1].session.halves[clients[1].op];
	post(0);
	turn_all();
	post(1);
	/* The leaf takes all; the root has no turn in between. */
	for (uint32_t i = 0; i < 100 && (leaf->pending || i == 0); i++) {
		the_daemon.bulk_left = 128 << 10;
		qoi_session_turn(&clients[1].session);
	}
	assert_int_equal(
		qoi_half_drop(&clients[1].session, (uint32_t)clients[1].op), 0);
	expect_done(2);
}

static void memory_that_is_not_there_fails_all(void **state)
{
	const struct qoi_coll coll = { .kind = QOI_ALLGATHER,
				       .type = QO_UINT64,
				       .elements = 1000,
				       .count = 2 };

	(void)state;
	for (uint32_t rank = 0; rank < 2; rank++) {
		struct qoi_coll mine = coll;
		struct qoi_schedule *schedule;
		struct qoi_layout_attach_op ask;

		mine.rank = rank;
		assert_int_equal(
			qoi_schedule_compile(&mine, NULL, NULL, &schedule), 0);
		ask_fill(&ask, schedule, &clients[rank], 1, 0);
		if (rank == 1)
			ask.buffer_offset[0] = 4096; /* nobody's */
		assert_int_equal(qoi_half_add(&clients[rank].session, &ask,
					      steps_copy(schedule),
					      &clients[rank].op),
				 0);
		qoi_schedule_destroy(schedule);
		post(rank);
	}
	turn_all();
	/* Whoever finds it first says why; the others, who is to blame. */
	expect_failed(0, -EIO, 1);
	expect_failed(1, -ECONNRESET, 1);
}

/* What a rank copies to itself is left to a thread of its own that claims it. */
static void a_waiter_may_claim_its_own_copies(void **state)
{
	const struct qoi_coll coll = { .kind = QOI_ALLTOALL,
				       .type = QO_UINT64,
				       .elements = 5000 };

	(void)state;
	ops_add(coll, NULL, 2, 1, 3);
	for (uint32_t rank = 0; rank < 2; rank++) {
		for (uint64_t i = 0; i < 10000; i++)
			words(rank, 0)[i] = 100 * rank + i / 5000 + 1;
		post(rank);
	}
	assert_true(qoi_attach_local_claim(slot_of(0), clients[0].generation,
					   QOI_LOCAL_CLIENT));
	turn_all();
	expect_done(2);
	assert_int_equal(words(0, RECV_AT)[0], 0);
	assert_int_equal(words(0, RECV_AT)[5000], 101);
	assert_int_equal(words(1, RECV_AT)[0], 2);
	assert_int_equal(words(1, RECV_AT)[5000], 102);
	/* Not both, and not of another request. */
	assert_false(qoi_attach_local_claim(slot_of(1), clients[1].generation,
					    QOI_LOCAL_CLIENT));
	assert_false(qoi_attach_local_claim(
		slot_of(0), clients[0].generation + 1, QOI_LOCAL_CLIENT));
}

/* A large operation of one moves in pieces between which others are served. */
static void a_large_one_does_not_hold_up_a_small_one(void **state)
{
	const struct qoi_coll large = { .kind = QOI_ALLTOALL,
					.type = QO_UINT64,
					.elements = 100000 };
	const struct qoi_coll small = { .kind = QOI_BARRIER, .type = QO_BYTE };
	uint64_t big[2];
	uint64_t word;

	(void)state;
	ops_add(large, NULL, 2, 1, 3);
	big[0] = clients[0].op;
	big[1] = clients[1].op;
	post(0);
	post(1);
	ops_add(small, NULL, 2, 2, 3);
	clients[0].generation = 100;
	clients[1].generation = 100;
	post(0);
	post(1);
	for (uint32_t i = 0; i < 4; i++) {
		the_daemon.bulk_left = 128 << 10;
		for (uint32_t rank = 0; rank < 2; rank++)
			qoi_session_turn(&clients[rank].session);
	}
	/* Not: moved whole, with the small one after it. */
	assert_true(the_daemon.pending == 2);
	assert_true(the_daemon.counts.bytes_moved <= 4 * (128 << 10));
	assert_true(ended(0, &word) && ended(1, &word));
	turn_all();
	assert_int_equal(the_daemon.pending, 0);
	for (uint32_t rank = 0; rank < 2; rank++)
		assert_int_equal(qoi_half_drop(&clients[rank].session,
					       (uint32_t)big[rank]),
				 0);
}

int main(void)
{
#define CASE(name_)                                                            \
	cmocka_unit_test_setup_teardown(name_, ranks_setup, ranks_teardown)
	const struct CMUnitTest tests[] = {
		CASE(an_alltoall_arrives_on_every_path),
		CASE(an_allreduce_folds_on_every_path),
		CASE(a_short_bcast_is_kept_until_the_receiver_posts),
		CASE(a_death_fails_what_needs_the_rank),
		CASE(a_good_bye_fails_those_alone_that_wait_for_it),
		CASE(what_was_taken_before_a_good_bye_counts),
		CASE(memory_that_is_not_there_fails_all),
		CASE(a_waiter_may_claim_its_own_copies),
		CASE(a_large_one_does_not_hold_up_a_small_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
