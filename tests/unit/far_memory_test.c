/* SPDX-License-Identifier: BSD-3-Clause */
/* The ways by which a daemon gets at buffers, through public calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/capture.h"
#include "tests/unit/far_fixture.h"

static struct capture capture;

/* Posts it three times and sees each come; says which path was taken. */
static void run_block(int32_t *send, int32_t *recv, const char *path)
{
	qo_op_t op = far_block_op(send, recv);
	char text[512], wanted[64];
	struct qo_status status;
	qo_request_t request;

	snprintf(wanted, sizeof(wanted),
		 "agent process %d: send %s, "
		 "receive %s\n",
		 getpid(), path, path);
	assert_int_equal(qo_op_describe(op, text, sizeof(text)), 0);
	assert_non_null(strstr(text, wanted));
	for (int i = 0; i < 3; i++) {
		far_values_fill(send, 1000 * i);
		far_values_fill(recv, -5000);
		assert_int_equal(qo_post(op, &request), 0);
		assert_int_equal(qo_test(request, &status), 0);
		assert_int_equal(status.state, QO_PENDING);
		far_serve();
		assert_int_equal(qo_wait(request, QO_NO_DEADLINE, &status), 0);
		assert_int_equal(status.state, QO_DONE);
		assert_int_equal(status.rank, QO_RANK_NONE);
		far_values_expect(recv, 1000 * i, -5000);
	}
	assert_int_equal(qo_op_destroy(op), 0);
	assert_int_equal(fake_agent_heard(&fake, QOI_ATTACH_OP_DROP), 1);
}

static void what_qo_mem_alloc_gave_is_mapped(void **state)
{
	void *send, *recv;
	qo_mem_t mems[2];

	(void)state;
	far_join(NULL, NULL);
	assert_int_equal(qo_mem_alloc(context, 4 * FAR_WHOLE, &send, &mems[0]),
			 0);
	assert_int_equal(qo_mem_alloc(context, 4 * FAR_WHOLE, &recv, &mems[1]),
			 0);
	run_block(send, recv, "map");
	assert_int_equal(fake.op.buffer_kind[0], QOI_BUFFER_REGION);
	/* The extent ends with the block. */
	assert_int_equal(fake.op.buffer_bytes[1], 4 * (FAR_GAP + FAR_BLOCK));
	assert_int_equal(qo_mem_release(mems[0]), 0);
	assert_int_equal(qo_mem_release(mems[1]), 0);
	assert_int_equal(fake_agent_heard(&fake, QOI_ATTACH_REGION_DROP), 2);
}

static void other_memory_is_copied_by_address(void **state)
{
	int32_t send[FAR_WHOLE], recv[FAR_WHOLE];

	(void)state;
	far_join(NULL, NULL);
	run_block(send, recv, "cross");
	assert_int_equal(fake.op.buffer_kind[1], QOI_BUFFER_ADDRESS);
	assert_int_equal(fake.op.buffer_offset[1], (uintptr_t)recv);
	assert_int_equal(fake_agent_heard(&fake, QOI_ATTACH_REGION_ADD), 0);
}

static void what_is_out_of_reach_is_staged_without_its_gaps(void **state)
{
	int32_t send[FAR_WHOLE], recv[FAR_WHOLE];

	(void)state;
	fake.reach = 0;
	far_join(NULL, NULL);
	run_block(send, recv, "stage");
	assert_int_equal(fake.op.buffer_kind[0], QOI_BUFFER_REGION);
	/* Only what shifts the block to its place in a line. */
	assert_true(fake.op.buffer_bytes[0] < 4 * FAR_BLOCK + 128);
	assert_int_equal(fake_agent_heard(&fake, QOI_ATTACH_REGION_DROP), 1);
}

static void a_receive_buffer_that_cannot_be_written_is_staged(void **state)
{
	int32_t send[FAR_WHOLE], recv[FAR_WHOLE];
	char text[512];
	qo_op_t op;

	(void)state;
	fake.writes_cookie = 0;
	far_join(NULL, NULL);
	op = far_block_op(send, recv);
	assert_int_equal(qo_op_describe(op, text, sizeof(text)), 0);
	assert_non_null(strstr(text, "send cross, receive stage\n"));
	assert_int_equal(qo_op_destroy(op), 0);
}

static void each_way_can_be_forced(void **state)
{
	int32_t send[FAR_WHOLE], recv[FAR_WHOLE];

	(void)state;
	far_join("QO_AGENT_MEMORY=stage", NULL);
	run_block(send, recv, "stage");
}

static int init_fails(int32_t *send, int32_t *recv)
{
	uint64_t count = FAR_BLOCK, displacement = 0;
	const struct qo_blocks from = { send, &count, &displacement };
	const struct qo_blocks to = { recv, &count, &displacement };
	qo_op_t op;
	int error;

	capture_start(&capture);
	error = qo_alltoallv_init(team, &from, &to, QO_INT32, &op);
	capture_stop(&capture);
	return error;
}

static void a_forced_way_that_is_none_is_told(void **state)
{
	int32_t send[FAR_WHOLE], recv[FAR_WHOLE];

	(void)state;
	far_join("QO_AGENT_MEMORY=map", NULL);
	assert_int_equal(init_fails(send, recv), -EINVAL);
	assert_non_null(strstr(qo_error_detail(), "qo_mem_alloc"));
	far_teardown(NULL);
	far_setup(NULL);
	fake.reach = QOI_REACH_READ;
	far_join("QO_AGENT_MEMORY=cross", NULL);
	assert_int_equal(init_fails(send, recv), -EPERM);
	assert_non_null(strstr(qo_error_detail(), "receive buffer"));
	assert_int_equal(fake_agent_heard(&fake, QOI_ATTACH_OP_ADD), 0);
}

static void what_the_daemon_refuses_is_told_and_leaves_nothing(void **state)
{
	int32_t send[FAR_WHOLE], recv[FAR_WHOLE];

	(void)state;
	fake_agent_refuse(&fake, QOI_ATTACH_OP_ADD, EINVAL);
	far_join("QO_AGENT_MEMORY=stage", NULL);
	assert_int_equal(init_fails(send, recv), -EINVAL);
	assert_non_null(strstr(qo_error_detail(), "not with me"));
	assert_int_equal(fake_agent_heard(&fake, QOI_ATTACH_REGION_ADD), 1);
	assert_int_equal(fake_agent_heard(&fake, QOI_ATTACH_REGION_DROP), 1);
}

static void memory_that_is_not_mapped_is_still_memory(void **state)
{
	int32_t *send, recv[FAR_WHOLE];
	char text[512];
	qo_mem_t mem;
	qo_op_t op;

	(void)state;
	fake_agent_refuse(&fake, QOI_ATTACH_REGION_ADD, ENOMEM);
	far_join(NULL, NULL);
	capture_start(&capture);
	assert_int_equal(
		qo_mem_alloc(context, 4 * FAR_WHOLE, (void **)&send, &mem), 0);
	capture_stop(&capture);
	op = far_block_op(send, recv);
	assert_int_equal(qo_op_describe(op, text, sizeof(text)), 0);
	assert_non_null(strstr(text, "send cross, receive cross\n"));
	assert_int_equal(qo_op_destroy(op), 0);
	assert_int_equal(qo_mem_release(mem), 0);
}

#define TEST(function)                                                         \
	cmocka_unit_test_setup_teardown(function, far_setup, far_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_qo_mem_alloc_gave_is_mapped),
		TEST(other_memory_is_copied_by_address),
		TEST(what_is_out_of_reach_is_staged_without_its_gaps),
		TEST(a_receive_buffer_that_cannot_be_written_is_staged),
		TEST(each_way_can_be_forced),
		TEST(a_forced_way_that_is_none_is_told),
		TEST(what_the_daemon_refuses_is_told_and_leaves_nothing),
		TEST(memory_that_is_not_mapped_is_still_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
