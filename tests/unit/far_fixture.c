/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "tests/unit/far_fixture.h"

struct fake_agent fake;
qo_context_t context;
qo_team_t team;

static int gather(const void *send, void *recv, size_t bytes, void *arg,
		  void **request_out)
{
	(void)arg;
	memcpy(recv, send, bytes);
	*request_out = NULL;
	return 0;
}

static int gathered(void *request, void *arg)
{
	(void)request;
	(void)arg;
	return 0;
}

void far_join(const char *a, const char *b)
{
	char socket[160];
	const char *settings[] = { "QO_AGENT=process",
				   "QO_AGENT_DIRECT=off",
				   "QO_FINI_TIMEOUT=100ms",
				   socket,
				   a,
				   b,
				   NULL };
	struct qo_init_params params = QO_INIT_PARAMS_INIT;
	const struct qo_oob oob = {
		.size = sizeof(oob),
		.count = 1,
		.allgather = gather,
		.test = gathered,
	};

	snprintf(socket, sizeof(socket), "QO_AGENT_SOCKET=%s", fake.name);
	params.settings = settings;
	assert_int_equal(fake_agent_start(&fake), 0);
	assert_int_equal(qo_init(&params, &context), 0);
	assert_int_equal(qo_team_create(context, &oob, &team), 0);
}

int far_setup(void **state)
{
	(void)state;
	fake_agent_init(&fake);
	context = NULL;
	team = NULL;
	return 0;
}

int far_teardown(void **state)
{
	(void)state;
	if (team != NULL)
		qo_team_destroy(team);
	if (context != NULL)
		qo_fini(context);
	fake_agent_stop(&fake);
	return 0;
}

qo_op_t far_block_op(int32_t *send, int32_t *recv)
{
	static const uint64_t count = FAR_BLOCK;
	static const uint64_t displacement = FAR_GAP;
	const struct qo_blocks from = { send, &count, &displacement };
	const struct qo_blocks to = { recv, &count, &displacement };
	qo_op_t op = NULL;

	assert_int_equal(qo_alltoallv_init(team, &from, &to, QO_INT32, &op), 0);
	return op;
}

void far_serve(void)
{
	struct qoi_command command;

	assert_int_equal(fake_agent_take(&fake, &command), 1);
	assert_int_equal(command.op_slot, 3);
	fake_agent_copy(&fake);
	fake_agent_complete(&fake, command.generation, QO_DONE);
}

void far_values_fill(int32_t *values, int32_t first)
{
	for (int i = 0; i < FAR_WHOLE; i++)
		values[i] = first + i;
}

void far_values_expect(const int32_t *values, int32_t first, int32_t before)
{
	for (int i = 0; i < FAR_WHOLE; i++) {
		int inside = i >= FAR_GAP && i < FAR_GAP + FAR_BLOCK;

		assert_int_equal(values[i], (inside ? first : before) + i);
	}
}
