/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

#include <qoffload/types.h>

#include "libqoffload/coll/schedule.h"

/* A schedule with every kind of step, to be spoilt. */
static const struct qoi_step sample_steps[] = {
	{ .kind = QOI_STEP_PUT, .stage = 0, .peer = 1, .bytes = 16 },
	{ .kind = QOI_STEP_PUT, .stage = 0, .peer = 2, .bytes = 16 },
	{ .kind = QOI_STEP_GET,
	  .stage = 0,
	  .to = QOI_BUFFER_RECV,
	  .peer = 1,
	  .bytes = 16 },
	{ .kind = QOI_STEP_REDUCE,
	  .stage = 0,
	  .to = QOI_BUFFER_SCRATCH,
	  .peer = 2,
	  .bytes = 16 },
	{ .kind = QOI_STEP_COPY,
	  .stage = 1,
	  .from = QOI_BUFFER_RECV,
	  .to = QOI_BUFFER_RECV,
	  .to_offset = 16,
	  .bytes = 16 },
	{ .kind = QOI_STEP_FOLD,
	  .stage = 2,
	  .from = QOI_BUFFER_SCRATCH,
	  .to = QOI_BUFFER_RECV,
	  .bytes = 16 },
};

static struct qoi_schedule *sample(void)
{
	struct qoi_schedule *schedule = calloc(1, sizeof(*schedule));

	assert_non_null(schedule);
	*schedule = (struct qoi_schedule){ .rank = 0,
					   .count = 3,
					   .type = QO_DOUBLE,
					   .reduce = QO_SUM,
					   .stage_count = 3,
					   .step_count = 6,
					   .scratch_bytes = 32,
					   .buffer_bytes = { 16, 32, 32 },
					   .algorithm = "sample" };
	schedule->steps = malloc(sizeof(sample_steps));
	assert_non_null(schedule->steps);
	memcpy(schedule->steps, sample_steps, sizeof(sample_steps));
	return schedule;
}

/* One field of one step, or of the head, is set; why is what must be told. */
#define STEP(index, field, new_value)                                          \
	{                                                                      \
		true, index, offsetof(struct qoi_step, field),                 \
			sizeof(((struct qoi_step *)0)->field), new_value,      \
			#field                                                 \
	}
#define HEAD(field, new_value)                                                 \
	{                                                                      \
		false, 0, offsetof(struct qoi_schedule, field),                \
			sizeof(((struct qoi_schedule *)0)->field), new_value,  \
			#field                                                 \
	}

static const struct mutation {
	bool in_step;
	uint32_t index;
	size_t offset, bytes;
	uint64_t value;
	const char *field;
} mutations[] = {
	STEP(0, kind, QOI_STEP_FOLD + 1),
	STEP(0, peer, 3),
	STEP(0, peer, UINT32_MAX),
	STEP(0, peer, 0),
	STEP(2, peer, 0),
	STEP(4, peer, 1),
	STEP(0, from, QOI_BUFFER_COUNT),
	STEP(2, to, QOI_BUFFER_COUNT),
	STEP(2, to, QOI_BUFFER_SEND),
	STEP(3, to, QOI_BUFFER_SEND),
	STEP(4, to, QOI_BUFFER_SEND),
	STEP(5, to, QOI_BUFFER_SEND),
	STEP(0, from_offset, 1),
	STEP(0, from_offset, UINT64_MAX),
	STEP(0, from_offset, UINT64_MAX - 15),
	STEP(0, bytes, 17),
	STEP(0, bytes, UINT64_MAX),
	STEP(2, to_offset, 17),
	STEP(2, to_offset, UINT64_MAX - 7),
	STEP(4, from_offset, 17),
	STEP(4, to_offset, 15), /* overlaps its source */
	STEP(3, bytes, 12),
	STEP(5, bytes, 15),
	STEP(5, to_offset, 4),
	STEP(5, from_offset, 4),
	STEP(3, stage, 3),
	STEP(3, stage, 2),
	STEP(4, stage, 3),
	STEP(5, stage, 0),
	STEP(5, stage, 1),
	STEP(4, stage, 2), /* then none is in stage 1 */
	STEP(1, peer, 1),  /* two puts to rank 1 */
	STEP(3, peer, 1),  /* a get and a reduce from rank 1 */
	HEAD(rank, 3),
	HEAD(rank, 1),
	HEAD(count, 0),
	HEAD(count, 2),
	HEAD(stage_count, 2),
	HEAD(stage_count, 4),
	HEAD(scratch_bytes, 16),
	HEAD(type, 0),
	HEAD(type, QO_DOUBLE + 1),
	HEAD(reduce, 0),
	HEAD(reduce, QO_XOR),
	HEAD(steps, 0),
};

static void set_field(struct qoi_schedule *schedule,
		      const struct mutation *mutation)
{
	uint8_t *base = mutation->in_step
				? (uint8_t *)&schedule->steps[mutation->index]
				: (uint8_t *)schedule;

	/* Low bytes first, as on all machines we build for. */
	memcpy(base + mutation->offset, &mutation->value, mutation->bytes);
}

static void what_an_agent_may_not_trust_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(mutations) / sizeof(*mutations); i++) {
		struct qoi_schedule *schedule = sample();
		struct qoi_step *steps = schedule->steps;

		assert_int_equal(qoi_schedule_validate(schedule), 0);
		set_field(schedule, &mutations[i]);
		if (qoi_schedule_validate(schedule) != -EINVAL)
			fail_msg("%s of step %u set to %ju was accepted",
				 mutations[i].field, mutations[i].index,
				 (uintmax_t)mutations[i].value);
		schedule->steps = steps;
		qoi_schedule_destroy(schedule);
	}
}

static void one_peer_may_be_met_again_in_the_next_stage(void **state)
{
	struct qoi_schedule *schedule = sample();

	(void)state;
	schedule->steps[1].peer = 1;
	assert_int_equal(qoi_schedule_validate(schedule), -EINVAL);
	for (int i = 1; i < 4; i++)
		schedule->steps[i].stage = 1;
	assert_int_equal(qoi_schedule_validate(schedule), 0);
	qoi_schedule_destroy(schedule);
}

static void a_schedule_is_printed_line_by_line(void **state)
{
	static const char expected[] =
		"sample rank 0 of 3 stages 3 steps 6 scratch 32 sum of double\n"
		"  stage 0 put to rank 1 from send+0 bytes 16\n"
		"  stage 0 put to rank 2 from send+0 bytes 16\n"
		"  stage 0 get from rank 1 to recv+0 bytes 16\n"
		"  stage 0 reduce from rank 2 to scratch+0 bytes 16\n"
		"  stage 1 copy from recv+0 to recv+16 bytes 16\n"
		"  stage 2 fold from scratch+0 to recv+0 bytes 16\n";
	struct qoi_schedule *schedule = sample();
	char text[1000], cut[100];

	(void)state;
	assert_int_equal(qoi_schedule_print(schedule, text, sizeof(text)),
			 strlen(expected));
	assert_string_equal(text, expected);
	memset(cut, 'x', sizeof(cut));
	assert_int_equal(qoi_schedule_print(schedule, cut, sizeof(cut) - 1),
			 strlen(expected));
	assert_int_equal(strlen(cut), sizeof(cut) - 2);
	assert_memory_equal(cut, expected, sizeof(cut) - 2);
	assert_int_equal(cut[sizeof(cut) - 1], 'x');
	assert_int_equal(qoi_schedule_print(schedule, NULL, 0),
			 strlen(expected));
	qoi_schedule_destroy(schedule);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_an_agent_may_not_trust_is_refused),
		cmocka_unit_test(one_peer_may_be_met_again_in_the_next_stage),
		cmocka_unit_test(a_schedule_is_printed_line_by_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
