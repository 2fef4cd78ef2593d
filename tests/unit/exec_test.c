/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <qoffload/types.h>

#include "libqoffload/agent/exec.h"
#include "tests/unit/channel_pair.h"

#define ROUNDS_MAX 100000

/* Two ranks, each with its schedule, over one pair of channels. */
struct two {
	struct channel_pair pair;
	struct qoi_schedule *schedules[2];
	struct qoi_channel *channels[2][2];
	struct qo_conn *conns[2][2];
	struct qoi_exec execs[2];
};

static void two_open(struct two *two, int mapped, struct qoi_coll coll,
		     const char *algorithm)
{
	assert_int_equal(channel_pair_open(&two->pair, mapped, 0), 0);
	coll.count = 2;
	for (uint32_t i = 0; i < 2; i++) {
		coll.rank = i;
		assert_int_equal(qoi_schedule_compile(&coll, algorithm, NULL,
						      &two->schedules[i]),
				 0);
		two->channels[i][i] = NULL;
		two->conns[i][i] = NULL;
		two->channels[i][1 - i] = &two->pair.channels[i];
		two->conns[i][1 - i] = &two->pair.conns[i];
		assert_int_equal(qoi_exec_init(&two->execs[i], two->schedules[i],
					       two->channels[i], two->conns[i]),
				 0);
	}
}

static void two_close(struct two *two)
{
	for (int i = 0; i < 2; i++) {
		qoi_exec_fini(&two->execs[i]);
		qoi_schedule_destroy(two->schedules[i]);
	}
	channel_pair_close(&two->pair);
}

/* Alternately, until both are complete; returns how many advances it took. */
static int two_run(struct two *two, uint64_t budget_bytes)
{
	int complete[2] = { 0, 0 };
	int count = 0;

	for (int i = 0; i < 2; i++)
		qoi_exec_start(&two->execs[i]);
	while (!complete[0] || !complete[1]) {
		for (int i = 0; i < 2; i++) {
			struct qoi_budget budget = { .bytes = budget_bytes,
						     .in_cycle = 1 };

			/* Refused now and then, where puts are. */
			channel_pair_refuse = count % 3 == 0;
			if (!complete[i])
				complete[i] = qoi_exec_advance(&two->execs[i],
							       &budget);
			assert_true(complete[i] >= 0);
			channel_pair_refuse = 0;
			qoi_channel_flush(&two->pair.channels[i]);
			assert_true(++count < ROUNDS_MAX);
		}
	}
	return count;
}

static void large_messages_go_through_small_slots(void **state)
{
	enum { COUNT = 1000 };
	static const char *const algorithms[] = { "flat", "doubling", "ring" };
	static uint32_t send[2][COUNT], recv[2][COUNT];
	const struct qoi_coll coll = { .kind = QOI_ALLREDUCE,
				       .type = QO_UINT32,
				       .reduce = QO_SUM,
				       .elements = COUNT };

	(void)state;
	for (int mapped = 0; mapped < 2; mapped++) {
		for (int a = 0; a < 3; a++) {
			struct two two;

			two_open(&two, mapped, coll, algorithms[a]);
			for (uint32_t post = 0; post < 4; post++) {
				for (uint32_t i = 0; i < COUNT; i++) {
					send[0][i] = i + post;
					send[1][i] = 7 * i;
				}
				for (int i = 0; i < 2; i++) {
					two.execs[i].buffers[QOI_BUFFER_SEND] =
						(uint8_t *)send[i];
					two.execs[i].buffers[QOI_BUFFER_RECV] =
						(uint8_t *)recv[i];
				}
				/* A slot at a time, and all at once. */
				two_run(&two, post % 2 == 0 ? 1 : UINT32_MAX);
				for (uint32_t i = 0; i < COUNT; i++) {
					assert_int_equal(recv[0][i],
							 8 * i + post);
					assert_int_equal(recv[1][i],
							 8 * i + post);
				}
			}
			two_close(&two);
		}
	}
}

static void a_budget_bounds_one_advance(void **state)
{
	enum { COUNT = 1 << 16 };
	static uint8_t send[2 * COUNT], recv[2 * COUNT];
	const struct qoi_coll coll = { .kind = QOI_ALLTOALL,
				       .type = QO_UINT8,
				       .elements = COUNT };
	struct qoi_budget budget = { .bytes = 100 };
	struct two two;

	(void)state;
	two_open(&two, 1, coll, "flat");
	two.execs[0].buffers[QOI_BUFFER_SEND] = send;
	two.execs[0].buffers[QOI_BUFFER_RECV] = recv;
	qoi_exec_start(&two.execs[0]);
	assert_int_equal(qoi_exec_advance(&two.execs[0], &budget), 0);
	assert_int_equal(budget.bytes, 0);
	assert_true(two.pair.channels[0].producer.position <= PAIR_SLOTS);
	two_close(&two);
}

static void what_only_awaits_shows_where(void **state)
{
	static uint8_t send[2][2], recv[2][2];
	const struct qoi_coll coll = { .kind = QOI_ALLTOALL,
				       .type = QO_UINT8,
				       .elements = 1 };
	struct qoi_budget budget = { .bytes = 1000 };
	const uint64_t *watch = NULL;
	uint64_t value = 0;
	struct two two;

	(void)state;
	two_open(&two, 1, coll, "flat");
	for (int i = 0; i < 2; i++) {
		two.execs[i].buffers[QOI_BUFFER_SEND] = send[i];
		two.execs[i].buffers[QOI_BUFFER_RECV] = recv[i];
		qoi_exec_start(&two.execs[i]);
	}
	assert_int_equal(qoi_exec_advance(&two.execs[0], &budget), 0);
	assert_int_equal(qoi_exec_only_arrivals(&two.execs[0], &watch, &value),
			 1);
	assert_true(*watch != value);
	assert_int_equal(qoi_exec_advance(&two.execs[1], &budget), 1);
	assert_true(*watch == value);
	assert_int_equal(qoi_exec_advance(&two.execs[0], &budget), 1);
	two_close(&two);
}

/* A peer may send anything; nothing is written outside the buffer. */
static void a_message_of_the_wrong_length_is_refused(void **state)
{
	static uint8_t send[8], recv[8];
	const struct qoi_coll coll = { .kind = QOI_ALLTOALL,
				       .type = QO_UINT8,
				       .elements = 4 };
	static const uint32_t lengths[] = { 0, 3, 5, PAIR_PAYLOAD_BYTES };

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct qoi_budget budget = { .bytes = 1000 };
		struct two two;
		void *payload = NULL;

		two_open(&two, 1, coll, "flat");
		two.execs[0].buffers[QOI_BUFFER_SEND] = send;
		two.execs[0].buffers[QOI_BUFFER_RECV] = recv;
		memset(recv, 0x5a, sizeof(recv));
		assert_int_equal(
			qoi_channel_claim(&two.pair.channels[1], &payload), 0);
		memset(payload, 0xff, lengths[i]);
		assert_int_equal(qoi_channel_commit(&two.pair.channels[1],
						    lengths[i], QOI_SLOT_DATA),
				 0);
		qoi_exec_start(&two.execs[0]);
		assert_int_equal(qoi_exec_advance(&two.execs[0], &budget),
				 -EBADMSG);
		assert_int_equal(two.execs[0].error_rank, 1);
		for (int b = 4; b < 8; b++)
			assert_int_equal(recv[b], 0x5a);
		two_close(&two);
	}
}

/* A notice where none was agreed must not make us read the peer's memory. */
static void a_notice_that_lies_is_refused(void **state)
{
	static uint8_t send[8], recv[8];
	const struct qoi_coll coll = { .kind = QOI_ALLTOALL,
				       .type = QO_UINT8,
				       .elements = 4 };
	const struct qoi_get_notice notice = { .address = 4096,
					       .bytes = 1 << 20 };
	struct qoi_budget budget = { .bytes = 1000 };
	struct two two;
	void *payload = NULL;

	(void)state;
	two_open(&two, 1, coll, "flat");
	two.execs[0].buffers[QOI_BUFFER_SEND] = send;
	two.execs[0].buffers[QOI_BUFFER_RECV] = recv;
	assert_int_equal(qoi_channel_claim(&two.pair.channels[1], &payload), 0);
	memcpy(payload, &notice, sizeof(notice));
	assert_int_equal(qoi_channel_commit(&two.pair.channels[1],
					    sizeof(notice), QOI_SLOT_GET),
			 0);
	qoi_exec_start(&two.execs[0]);
	assert_int_equal(qoi_exec_advance(&two.execs[0], &budget), -EBADMSG);
	two_close(&two);
}

static void a_lost_rank_is_found_and_named(void **state)
{
	const struct qoi_coll coll = { .kind = QOI_BARRIER, .type = QO_BYTE };
	struct two two;

	(void)state;
	two_open(&two, 1, coll, "flat");
	assert_int_equal(qoi_exec_fate(&two.execs[0]), 0);
	two.pair.conns[0].fate = -ECONNRESET;
	assert_int_equal(qoi_exec_fate(&two.execs[0]), -ECONNRESET);
	assert_int_equal(two.execs[0].error_rank, 1);
	assert_int_equal(qoi_exec_fate(&two.execs[1]), 0);
	two_close(&two);
}

/*
 * Rank 0 waits for rank 1, and then for rank 2, which has said good-bye: with
 * its message here that is no loss, without it it is.
 */
static int orphaned_when(int sent, int32_t fate, uint32_t *rank_out)
{
	static uint8_t target[2];
	struct qoi_step steps[] = {
		{ .kind = QOI_STEP_GET,
		  .to = QOI_BUFFER_RECV,
		  .peer = 1,
		  .bytes = 1 },
		{ .kind = QOI_STEP_GET,
		  .to = QOI_BUFFER_RECV,
		  .peer = 2,
		  .bytes = 1,
		  .stage = 1,
		  .to_offset = 1 },
	};
	const struct qoi_schedule schedule = { .count = 3,
					       .type = QO_BYTE,
					       .stage_count = 2,
					       .step_count = 2,
					       .steps = steps };
	struct qoi_budget budget = { .bytes = 1000 };
	struct channel_pair one, two;
	struct qoi_channel *channels[] = { NULL, &one.channels[0],
					   &two.channels[0] };
	struct qo_conn *conns[] = { NULL, &one.conns[0], &two.conns[0] };
	struct qoi_exec exec;
	void *payload = NULL;
	int found;

	assert_int_equal(channel_pair_open(&one, 1, 0), 0);
	assert_int_equal(channel_pair_open(&two, 1, 0), 0);
	assert_int_equal(qoi_exec_init(&exec, &schedule, channels, conns), 0);
	exec.buffers[QOI_BUFFER_RECV] = target;
	if (sent) {
		assert_int_equal(qoi_channel_claim(&two.channels[1], &payload),
				 0);
		assert_int_equal(qoi_channel_commit(&two.channels[1], 1,
						    QOI_SLOT_DATA),
				 0);
	}
	two.conns[0].fate = fate;
	qoi_exec_start(&exec);
	assert_int_equal(qoi_exec_advance(&exec, &budget), 0);
	found = qoi_exec_orphaned(&exec);
	*rank_out = exec.error_rank;
	qoi_exec_fini(&exec);
	channel_pair_close(&one);
	channel_pair_close(&two);
	return found;
}

static void what_the_leaver_sent_is_not_missed(void **state)
{
	uint32_t rank;

	(void)state;
	assert_int_equal(orphaned_when(1, 0, &rank), 0);
	assert_int_equal(orphaned_when(0, 0, &rank), 0);
	assert_int_equal(orphaned_when(1, -EPIPE, &rank), 0);
	assert_int_equal(orphaned_when(0, -EPIPE, &rank), -EPIPE);
	assert_int_equal(rank, 2);
	assert_int_equal(orphaned_when(0, -ECONNRESET, &rank), -ECONNRESET);
	assert_int_equal(rank, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(large_messages_go_through_small_slots),
		cmocka_unit_test(a_budget_bounds_one_advance),
		cmocka_unit_test(what_only_awaits_shows_where),
		cmocka_unit_test(a_message_of_the_wrong_length_is_refused),
		cmocka_unit_test(a_notice_that_lies_is_refused),
		cmocka_unit_test(a_lost_rank_is_found_and_named),
		cmocka_unit_test(what_the_leaver_sent_is_not_missed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
