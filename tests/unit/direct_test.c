/* SPDX-License-Identifier: BSD-3-Clause */
/* Which schedules need no agent: judged over those of all ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include <qoffload/types.h>

#include "libqoffload/client/far_op.h"

#define RANKS 4
#define SLOT_BYTES 4096

/* Rank's answer for a collective of `count` ranks. */
static int judge(struct qoi_coll *coll, const char *algorithm, uint32_t rank,
		 uint64_t slot_bytes)
{
	struct qoi_schedule *schedule;
	int direct;

	coll->rank = rank;
	assert_int_equal(qoi_schedule_compile(coll, algorithm, NULL, &schedule),
			 0);
	direct = qoi_schedule_is_direct(schedule, slot_bytes);
	qoi_schedule_destroy(schedule);
	return direct;
}

static void expect_all(struct qoi_coll coll, const char *algorithm, int direct)
{
	for (uint32_t rank = 0; rank < coll.count; rank++) {
		int found = judge(&coll, algorithm, rank, SLOT_BYTES);

		if (found != direct)
			fail_msg("%s by %s, rank %u of %u: %d",
				 qoi_coll_kind_name(coll.kind), algorithm, rank,
				 coll.count, found);
	}
}

static struct qoi_coll coll_of(uint32_t kind, uint64_t elements)
{
	return (struct qoi_coll){
		.kind = kind,
		.count = RANKS,
		.type = QO_INT64,
		.reduce = kind == QOI_ALLREDUCE ? QO_SUM : 0,
		.elements = elements,
	};
}

static void flat_exchanges_of_small_messages_are_direct(void **state)
{
	(void)state;
	expect_all(coll_of(QOI_ALLTOALL, 8), "flat", 1);
	expect_all(coll_of(QOI_ALLGATHER, 8), "flat", 1);
	expect_all(coll_of(QOI_ALLREDUCE, 8), "flat", 1);
	expect_all(coll_of(QOI_BARRIER, 0), "flat", 1);
}

static void in_place_makes_no_difference(void **state)
{
	struct qoi_coll alltoall = coll_of(QOI_ALLTOALL, 8);
	struct qoi_coll allreduce = coll_of(QOI_ALLREDUCE, 8);

	(void)state;
	alltoall.in_place = 1;
	allreduce.in_place = 1;
	expect_all(alltoall, "flat", 1);
	expect_all(allreduce, "flat", 1);
}

static void one_rank_alone_needs_nobody(void **state)
{
	struct qoi_coll coll = coll_of(QOI_ALLTOALL, 8);

	(void)state;
	coll.count = 1;
	expect_all(coll, "flat", 1);
}

static void a_message_that_fills_its_slot_is_direct_a_longer_one_not(void **state)
{
	(void)state;
	expect_all(coll_of(QOI_ALLTOALL, SLOT_BYTES / 8), "flat", 1);
	expect_all(coll_of(QOI_ALLTOALL, SLOT_BYTES / 8 + 1), "flat", 0);
}

static void several_stages_need_an_agent(void **state)
{
	(void)state;
	expect_all(coll_of(QOI_ALLGATHER, 8), "ring", 0);
	expect_all(coll_of(QOI_ALLTOALL, 8), "pairwise", 0);
	expect_all(coll_of(QOI_ALLREDUCE, 8), "doubling", 0);
}

/* Its root may be instances ahead: who then sends for it? */
static void a_broadcast_needs_an_agent(void **state)
{
	(void)state;
	expect_all(coll_of(QOI_BCAST, 8), "flat", 0);
	expect_all(coll_of(QOI_BCAST, 8), "binomial", 0);
}

static void a_block_that_goes_one_way_alone_needs_an_agent(void **state)
{
	uint64_t some[RANKS] = { 2, 2, 2, 2 };
	uint64_t gap[RANKS] = { 2, 2, 0, 2 };
	uint64_t displacements[RANKS] = { 0, 2, 4, 6 };
	struct qoi_coll coll = coll_of(QOI_ALLTOALLV, 0);

	(void)state;
	coll.send_counts = some;
	coll.recv_counts = some;
	coll.send_displacements = displacements;
	coll.recv_displacements = displacements;
	expect_all(coll, "flat", 1);
	/* Nothing to rank 2, but something from it. */
	coll.send_counts = gap;
	assert_int_equal(judge(&coll, "flat", 0, SLOT_BYTES), 0);
}

/* The rule itself, on schedules made by hand. */
static int judge_steps(const struct qoi_step *steps, uint32_t count)
{
	const struct qoi_schedule schedule = {
		.count = RANKS,
		.step_count = count,
		.steps = (struct qoi_step *)(uintptr_t)steps,
	};

	return qoi_schedule_is_direct(&schedule, SLOT_BYTES);
}

static void each_condition_alone_decides(void **state)
{
	const struct qoi_step copy = { .kind = QOI_STEP_COPY, .bytes = 1 << 20 };
	const struct qoi_step put = { .kind = QOI_STEP_PUT, .peer = 1 };
	const struct qoi_step get = { .kind = QOI_STEP_GET, .peer = 1 };
	const struct qoi_step take = { .kind = QOI_STEP_REDUCE, .peer = 1 };
	struct qoi_step steps[3];

	(void)state;
	steps[0] = put;
	steps[1] = get;
	steps[2] = copy;
	steps[2].stage = 1;
	assert_int_equal(judge_steps(steps, 0), 1);
	assert_int_equal(judge_steps(steps, 3), 1);
	assert_int_equal(judge_steps(steps, 1), 0);
	assert_int_equal(judge_steps(steps + 1, 1), 0);
	assert_int_equal(judge_steps(steps + 2, 1), 1);
	steps[1] = take;
	assert_int_equal(judge_steps(steps, 2), 1);
	/* From another than it is sent to. */
	steps[1].peer = 2;
	assert_int_equal(judge_steps(steps, 2), 0);
	/* In exchange, but one after the other. */
	steps[1] = get;
	steps[1].stage = 1;
	assert_int_equal(judge_steps(steps, 2), 0);
	/* Only one way is long. */
	steps[1] = get;
	steps[1].bytes = SLOT_BYTES + 1;
	assert_int_equal(judge_steps(steps, 2), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flat_exchanges_of_small_messages_are_direct),
		cmocka_unit_test(in_place_makes_no_difference),
		cmocka_unit_test(one_rank_alone_needs_nobody),
		cmocka_unit_test(
			a_message_that_fills_its_slot_is_direct_a_longer_one_not),
		cmocka_unit_test(several_stages_need_an_agent),
		cmocka_unit_test(a_broadcast_needs_an_agent),
		cmocka_unit_test(a_block_that_goes_one_way_alone_needs_an_agent),
		cmocka_unit_test(each_condition_alone_decides),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
