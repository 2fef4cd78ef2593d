/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include <qoffload/qoffload.h>

#include "libqoffload/agent/agent.h"
#include "libqoffload/agent/request.h"
#include "libqoffload/base/clock.h"

#define SLOTS 16

struct table {
	struct qoi_agent agent;
	struct qoi_work work;
	uint32_t number;
};

static int setup(void **state)
{
	static struct table table;

	memset(&table, 0, sizeof(table));
	if (qoi_request_table_open(SLOTS, &table.agent, 0, &table.number) != 0)
		return -1;
	*state = &table;
	return 0;
}

static int teardown(void **state)
{
	qoi_request_table_close(((struct table *)*state)->number);
	return 0;
}

static struct qoi_request *take(struct table *table)
{
	struct qoi_request *request = NULL;

	assert_int_equal(qoi_request_take(table->number, &table->work, &request),
			 0);
	return request;
}

static void each_slot_is_given_once(void **state)
{
	struct table *table = *state;
	struct qoi_request *slots[SLOTS], *more = NULL;

	for (int i = 0; i < SLOTS; i++) {
		slots[i] = take(table);
		for (int j = 0; j < i; j++)
			assert_ptr_not_equal(slots[i], slots[j]);
	}
	assert_int_equal(qoi_request_used(table->number), SLOTS);
	assert_int_equal(qoi_request_take(table->number, &table->work, &more),
			 -EAGAIN);
	assert_null(more);
	qoi_request_give(slots[7]);
	assert_ptr_equal(take(table), slots[7]);
	for (int i = 0; i < SLOTS; i++)
		qoi_request_give(slots[i]);
	assert_int_equal(qoi_request_used(table->number), 0);
}

static void every_start_makes_the_handle_before_stale(void **state)
{
	struct table *table = *state;
	struct qoi_request *request = take(table);
	struct qo_status status;
	qo_request_t first, second;

	qoi_request_start(request, QO_NO_DEADLINE);
	first = qoi_request_handle(request, table->number);
	assert_int_not_equal(first.id, QO_REQUEST_NULL_ID);
	assert_ptr_equal(qoi_request_find(first), request);
	qoi_request_finish(request, 0, QO_RANK_NONE);
	assert_int_equal(qo_test(first, &status), 0);
	assert_int_equal(status.state, QO_DONE);
	qoi_request_start(request, QO_NO_DEADLINE);
	second = qoi_request_handle(request, table->number);
	assert_true(first.id != second.id);
	assert_int_equal(qo_test(first, &status), -EBADF);
	qoi_request_finish(request, 0, QO_RANK_NONE);
	assert_int_equal(qo_test(second, &status), 0);
	qoi_request_give(request);
	assert_int_equal(qo_test(second, &status), -EBADF);
}

static void generations_pass_over_zero_when_they_wrap(void **state)
{
	struct table *table = *state;
	struct qoi_request *request = take(table);

	request->completion = (UINT64_MAX - UINT32_MAX) | QOI_WORD_DONE;
	qoi_request_start(request, QO_NO_DEADLINE);
	assert_int_not_equal(qoi_request_generation(request), 0);
	qoi_request_finish(request, 0, QO_RANK_NONE);
	qoi_request_give(request);
	assert_int_not_equal(qoi_request_generation(request), 0);
}

static void a_failure_carries_its_error_and_its_rank(void **state)
{
	static const struct {
		int error;
		int32_t rank;
	} cases[] = { { -ECONNRESET, 3 },
		      { -EPIPE, 0 },
		      { -EIO, 30000 },
		      { -ETIMEDOUT, QO_RANK_NONE },
		      { -EPROTO, 1 } };
	struct table *table = *state;
	struct qoi_request *request = take(table);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct qo_status status;

		qoi_request_start(request, QO_NO_DEADLINE);
		assert_true(qoi_request_pending(request));
		qoi_request_finish(request, cases[i].error, cases[i].rank);
		assert_false(qoi_request_pending(request));
		qoi_completion_unpack(request->completion, &status);
		assert_int_equal(status.state, QO_FAILED);
		assert_int_equal(status.error, cases[i].error);
		assert_int_equal(status.rank, cases[i].rank);
		assert_int_equal(status.flags, 0);
	}
	qoi_request_give(request);
}

static void only_what_ends_after_its_deadline_is_late(void **state)
{
	struct table *table = *state;
	struct qoi_request *request = take(table);
	struct qo_status status;

	qoi_request_start(request, qoi_clock_ns() - 1);
	qoi_request_finish(request, 0, QO_RANK_NONE);
	qoi_completion_unpack(request->completion, &status);
	assert_int_equal(status.state, QO_DONE);
	assert_int_equal(status.flags, QO_STATUS_LATE);
	qoi_request_start(request, qoi_clock_ns() + 3600 * QOI_NS_PER_S);
	qoi_request_finish(request, 0, QO_RANK_NONE);
	qoi_completion_unpack(request->completion, &status);
	assert_int_equal(status.flags, 0);
	assert_int_equal(status.rank, QO_RANK_NONE);
	qoi_request_give(request);
}

static void a_status_is_told_in_one_line(void **state)
{
	struct qo_status status = { QO_FAILED, -ECONNRESET, 3, 0 };
	char text[64];

	(void)state;
	assert_int_equal(qo_status_describe(&status, text, sizeof(text)), 0);
	assert_string_equal(text, "failed: peer lost: rank 3");
	status.rank = QO_RANK_NONE;
	assert_int_equal(qo_status_describe(&status, text, sizeof(text)), 0);
	assert_string_equal(text, "failed: peer lost");
	assert_int_equal(qo_status_describe(&status, text, 5), -EMSGSIZE);
	assert_string_equal(text, "fail");
	status.state = QO_PENDING;
	assert_int_equal(qo_status_describe(&status, text, sizeof(text)), 0);
	assert_string_equal(text, "pending");
	status.state = QO_DONE;
	status.flags = QO_STATUS_LATE;
	assert_int_equal(qo_status_describe(&status, text, sizeof(text)), 0);
	assert_non_null(strstr(text, "deadline"));
}

static void a_closed_table_knows_no_handle(void **state)
{
	struct qoi_agent agent = { 0 };
	struct qoi_work work = { 0 };
	struct qoi_request *request;
	struct qo_status status;
	qo_request_t handle;
	uint32_t number;

	(void)state;
	assert_int_equal(qoi_request_table_open(SLOTS, &agent, 0, &number), 0);
	assert_int_equal(qoi_request_take(number, &work, &request), 0);
	qoi_request_start(request, QO_NO_DEADLINE);
	handle = qoi_request_handle(request, number);
	qoi_request_finish(request, 0, QO_RANK_NONE);
	assert_int_equal(qo_test(handle, &status), 0);
	qoi_request_give(request);
	qoi_request_table_close(number);
	assert_int_equal(qo_test(handle, &status), -EBADF);
}

static void contexts_run_out_with_an_error(void **state)
{
	struct qoi_agent agent = { 0 };
	uint32_t numbers[QOI_CONTEXT_COUNT_MAX];
	uint32_t count = 0, number;

	(void)state;
	/* setup() has one. */
	while (count < QOI_CONTEXT_COUNT_MAX &&
	       qoi_request_table_open(16, &agent, 0, &numbers[count]) == 0)
		count++;
	assert_int_equal(count, QOI_CONTEXT_COUNT_MAX - 1);
	assert_int_equal(qoi_request_table_open(16, &agent, 0, &number),
			 -EAGAIN);
	while (count != 0)
		qoi_request_table_close(numbers[--count]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_slot_is_given_once),
		cmocka_unit_test(every_start_makes_the_handle_before_stale),
		cmocka_unit_test(generations_pass_over_zero_when_they_wrap),
		cmocka_unit_test(a_failure_carries_its_error_and_its_rank),
		cmocka_unit_test(only_what_ends_after_its_deadline_is_late),
		cmocka_unit_test(a_status_is_told_in_one_line),
		cmocka_unit_test(a_closed_table_knows_no_handle),
		cmocka_unit_test(contexts_run_out_with_an_error),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
