/* SPDX-License-Identifier: BSD-3-Clause */
/* What a client asks of the daemon, and what it writes into its lanes, is checked. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <qoffload/error.h>
#include <qoffload/types.h>

#include "libqoffload/shm/completion.h"
#include "tests/unit/daemon_ranks.h"

static int ask_refused(struct qoi_layout_attach_op *ask,
		       const struct qoi_schedule *schedule)
{
	uint64_t slot;

	return qoi_half_add(&clients[0].session, ask, steps_copy(schedule),
			    &slot);
}

static void what_a_client_asks_is_checked(void **state)
{
	const struct qoi_coll coll = { .kind = QOI_ALLTOALL,
				       .type = QO_UINT64,
				       .elements = 10,
				       .count = 2 };
	struct qoi_schedule *schedule;
	struct qoi_layout_attach_op good, ask;

	(void)state;
	assert_int_equal(qoi_schedule_compile(&coll, NULL, NULL, &schedule), 0);
	ask_fill(&good, schedule, &clients[0], 1, 1);

#define REFUSED(error_, change_)                                               \
	do {                                                                   \
		ask = good;                                                    \
		change_;                                                       \
		assert_int_equal(ask_refused(&ask, schedule), (error_));       \
		assert_int_equal(the_daemon.group_count, 0);                   \
	} while (0)

	REFUSED(-EINVAL, ask.rank = 2);
	REFUSED(-EINVAL, ask.count = 0);
	REFUSED(-EINVAL, ask.count = UINT32_MAX);
	REFUSED(-EINVAL, ask.completion = 64);
	REFUSED(-EINVAL, ask.scratch_bytes = UINT64_MAX);
	REFUSED(-EINVAL, ask.stage_count++);
	REFUSED(-EINVAL, ask.buffer_kind[0] = 9);
	REFUSED(-EINVAL, ask.buffer_kind[0] = QOI_BUFFER_NONE);
	REFUSED(-EINVAL, ask.buffer_bytes[0]--);
	REFUSED(-EINVAL, ask.buffer_offset[1] = REGION_BYTES - 8);
	REFUSED(-EINVAL, ask.buffer_offset[1] = UINT64_MAX - 8);
	REFUSED(-EINVAL, ask.buffer_region[1] = 1);
	REFUSED(-EINVAL, ask.buffer_kind[0] = QOI_BUFFER_ADDRESS;
		ask.buffer_offset[0] = UINT64_MAX - 3);
	clients[0].session.reach = QOI_REACH_READ;
	REFUSED(-EPERM, ask.buffer_kind[1] = QOI_BUFFER_ADDRESS);
#undef REFUSED
	assert_int_equal(ask_refused(&good, schedule), 0);
	/* The same rank again, and another number of ranks. */
	assert_int_equal(ask_refused(&good, schedule), -EPROTO);
	assert_int_equal(the_daemon.group_count, 1);
	assert_int_equal(qoi_half_drop(&clients[0].session, 99), -EBADF);
	qoi_schedule_destroy(schedule);
}

/* Memory that is asked for counts, touched or not. */
static void what_operations_may_take_is_bounded(void **state)
{
	const struct qoi_coll coll = { .kind = QOI_ALLTOALL,
				       .type = QO_UINT64,
				       .elements = 10,
				       .count = 2 };
	struct qoi_schedule *schedule;
	struct qoi_layout_attach_op ask;
	int error = 0;

	(void)state;
	assert_int_equal(qoi_schedule_compile(&coll, NULL, NULL, &schedule), 0);
	for (uint32_t i = 0; i < 4096 && error == 0; i++) {
		ask_fill(&ask, schedule, &clients[0], i, 1);
		ask.scratch_bytes = QOI_SCRATCH_MAX;
		error = ask_refused(&ask, schedule);
	}
	assert_int_equal(error, -ENOMEM);
	assert_non_null(strstr(qo_error_detail(), "of the daemon"));
	/* Another client is not refused for that. */
	ask_fill(&ask, schedule, &clients[1], 5000, 1);
	assert_int_equal(qoi_half_add(&clients[1].session, &ask,
				      steps_copy(schedule), &clients[1].op),
			 0);
	qoi_schedule_destroy(schedule);
}

static void nonsense_in_a_lane_is_counted_and_passed_over(void **state)
{
	const struct qoi_coll coll = { .kind = QOI_BARRIER, .type = QO_BYTE };
	struct qoi_command command = { .op_slot = 12345 };
	struct client *client = &clients[0];

	(void)state;
	ops_add(coll, NULL, 2, 1, 0);
	assert_int_equal(qoi_producer_send(&client->lane, &command, 8,
					   QOI_COMMAND_POST, 0),
			 0);
	assert_int_equal(qoi_producer_send(&client->lane, &command,
					   sizeof(command), 99, 0),
			 0);
	assert_int_equal(qoi_producer_send(&client->lane, &command,
					   sizeof(command), QOI_COMMAND_POST, 0),
			 0);
	post(0);
	post(0); /* before the first one ended */
	turn_all();
	assert_int_equal(client->session.counts.commands_bad, 4);
	client->generation--;
	post(1);
	turn_all();
	expect_done(2);
}

static void a_post_before_all_ranks_came_fails(void **state)
{
	const struct qoi_coll coll = { .kind = QOI_BARRIER,
				       .type = QO_BYTE,
				       .count = 2 };
	struct qoi_schedule *schedule;
	struct qoi_layout_attach_op ask;

	(void)state;
	assert_int_equal(qoi_schedule_compile(&coll, NULL, NULL, &schedule), 0);
	ask_fill(&ask, schedule, &clients[0], 1, 1);
	assert_int_equal(qoi_half_add(&clients[0].session, &ask,
				      steps_copy(schedule), &clients[0].op),
			 0);
	post(0);
	turn_all();
	expect_failed(0, -EPROTO, QOI_COMPLETION_RANK_NONE);
	qoi_schedule_destroy(schedule);
}

int main(void)
{
#define CASE(name_)                                                            \
	cmocka_unit_test_setup_teardown(name_, ranks_setup, ranks_teardown)
	const struct CMUnitTest tests[] = {
		CASE(what_a_client_asks_is_checked),
		CASE(what_operations_may_take_is_bounded),
		CASE(nonsense_in_a_lane_is_counted_and_passed_over),
		CASE(a_post_before_all_ranks_came_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
