/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Staging, over the schedules of every algorithm: what a step reads or writes
 * in the staged buffer is what it would in the user's, and no byte besides is
 * touched.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <qoffload/types.h>

#include "libqoffload/client/far_op.h"
#include "tests/unit/fake_agent.h"

#define RANKS_MAX 5
#define GAP 3 /* elements between blocks of the v kinds */

static struct fake_agent fake;
static struct qoi_config config;
static struct qoi_link *link_;

static int setup(void **state)
{
	const char *settings[] = { "QO_AGENT=process", NULL, NULL };
	struct qoi_link_params params = { &config, -1, 0, 0 };
	char socket[160];

	(void)state;
	fake_agent_init(&fake);
	fake.reach = 0;
	snprintf(socket, sizeof(socket), "QO_AGENT_SOCKET=%s", fake.name);
	settings[1] = socket;
	assert_int_equal(qoi_config_init(&config, settings), 0);
	assert_int_equal(fake_agent_start(&fake), 0);
	assert_int_equal(qoi_link_open(&params, &link_), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	qoi_link_close(link_);
	fake_agent_stop(&fake);
	qoi_config_fini(&config);
	return 0;
}

/* One staged operation. */
struct stage {
	struct qo_op op;
	struct qoi_far_op far;
	struct qoi_schedule *schedule;
	struct qoi_step *steps; /* as the daemon gets them */
	struct qoi_layout_attach_op ask;
	uint8_t *user[2];
	uint8_t *shadow; /* what the receive buffer should be */
};

static void stage_open(struct stage *stage, const struct qoi_coll *coll,
		       const char *algorithm)
{
	memset(stage, 0, sizeof(*stage));
	assert_int_equal(qoi_schedule_compile(coll, algorithm, NULL,
					      &stage->schedule),
			 0);
	stage->op.schedule = stage->schedule;
	for (int i = 0; i < 2; i++) {
		uint64_t bytes = stage->schedule->buffer_bytes[i];

		stage->user[i] = malloc(bytes + 1);
		for (uint64_t j = 0; j <= bytes; j++)
			stage->user[i][j] = (uint8_t)(17 * i + 7 * j + j / 256);
		stage->op.exec.buffers[i] = stage->user[i];
		stage->far.path[i] = bytes == 0 ? QOI_CONFIG_MEMORY_AUTO
						: QOI_CONFIG_MEMORY_STAGE;
	}
	stage->steps = malloc((stage->schedule->step_count + 1) *
			      sizeof(*stage->steps));
	if (stage->schedule->step_count != 0)
		memcpy(stage->steps, stage->schedule->steps,
		       stage->schedule->step_count * sizeof(*stage->steps));
	stage->shadow = malloc(stage->schedule->buffer_bytes[1] + 1);
	memcpy(stage->shadow, stage->user[1],
	       stage->schedule->buffer_bytes[1] + 1);
	stage->far.link = link_;
	stage->far.staging.fd = -1;
	stage->op.far = &stage->far;
	assert_int_equal(qoi_far_stage_open(&stage->op, &stage->far,
					    stage->steps, &stage->ask),
			 0);
}

static void stage_close(struct stage *stage)
{
	qoi_far_stage_close(&stage->far);
	qoi_schedule_destroy(stage->schedule);
	free(stage->steps);
	free(stage->shadow);
	free(stage->user[0]);
	free(stage->user[1]);
}

/* Where the daemon finds a buffer's byte. */
static uint8_t *staged(const struct stage *stage, uint32_t buffer,
		       uint64_t offset, uint64_t bytes)
{
	const struct qoi_layout_attach_op *ask = &stage->ask;

	assert_true(offset + bytes <= ask->buffer_bytes[buffer]);
	assert_int_equal(ask->buffer_kind[buffer], QOI_BUFFER_REGION);
	assert_true(ask->buffer_offset[buffer] + ask->buffer_bytes[buffer] <=
		    stage->far.staging.bytes);
	return stage->far.staging.base + ask->buffer_offset[buffer] + offset;
}

static void reads_check(const struct stage *stage, uint32_t i)
{
	const struct qoi_step *step = &stage->schedule->steps[i];
	int combines =
		step->kind == QOI_STEP_REDUCE || step->kind == QOI_STEP_FOLD;

	if (step->bytes == 0)
		return;
	if (step->kind != QOI_STEP_GET && step->kind != QOI_STEP_REDUCE &&
	    step->from != QOI_BUFFER_SCRATCH)
		assert_memory_equal(staged(stage, step->from,
					   stage->steps[i].from_offset,
					   step->bytes),
				    stage->user[step->from] + step->from_offset,
				    step->bytes);
	if (combines && step->to != QOI_BUFFER_SCRATCH)
		assert_memory_equal(
			staged(stage, step->to, stage->steps[i].to_offset,
			       step->bytes),
			stage->user[step->to] + step->to_offset, step->bytes);
}

/* Writes what no other step writes; elements lie as in the user's buffer. */
static void write_mark(struct stage *stage, uint32_t i)
{
	const struct qoi_step *step = &stage->schedule->steps[i];

	if (step->bytes == 0 || step->kind == QOI_STEP_PUT ||
	    step->to != QOI_BUFFER_RECV)
		return;
	assert_int_equal(stage->steps[i].to_offset % 64, step->to_offset % 64);
	memset(staged(stage, step->to, stage->steps[i].to_offset, step->bytes),
	       (int)(101 + i), step->bytes);
	memset(stage->shadow + step->to_offset, (int)(101 + i), step->bytes);
}

static void stage_check(const struct qoi_coll *coll, const char *algorithm)
{
	struct stage stage;

	stage_open(&stage, coll, algorithm);
	qoi_far_copy_in(&stage.op);
	for (uint32_t i = 0; i < stage.schedule->step_count; i++)
		reads_check(&stage, i);
	for (uint32_t i = 0; i < stage.schedule->step_count; i++)
		write_mark(&stage, i);
	qoi_far_copy_out(&stage.op);
	assert_memory_equal(stage.user[1], stage.shadow,
			    stage.schedule->buffer_bytes[1] + 1);
	stage_close(&stage);
}

/* Blocks of different lengths, some empty, with gaps between. */
struct blocks {
	uint64_t counts[RANKS_MAX];
	uint64_t displacements[RANKS_MAX];
};

static void blocks_make(struct blocks *blocks, const struct qoi_coll *coll)
{
	uint64_t at = GAP;

	for (uint32_t rank = 0; rank < coll->count; rank++) {
		blocks->counts[rank] = rank % 3 * coll->elements;
		/* Backwards, as a user may have them. */
		blocks->displacements[coll->count - 1 - rank] = at;
		at += 2 * coll->elements + GAP;
	}
}

static void kind_check(struct qoi_coll *coll)
{
	const char *const *algorithms = qoi_coll_algorithms(coll->kind);
	struct blocks blocks;

	blocks_make(&blocks, coll);
	if (coll->kind == QOI_ALLTOALLV || coll->kind == QOI_ALLGATHERV) {
		coll->send_counts = coll->recv_counts = blocks.counts;
		coll->send_displacements = blocks.displacements;
		coll->recv_displacements = blocks.displacements;
	}
	for (size_t i = 0; algorithms[i] != NULL; i++) {
		for (uint32_t rank = 0; rank < coll->count; rank++) {
			coll->rank = rank;
			if (coll->kind == QOI_ALLGATHERV)
				coll->elements = blocks.counts[rank];
			stage_check(coll, algorithms[i]);
		}
	}
}

static void every_algorithm_is_staged_byte_for_byte(void **state)
{
	static const uint64_t elements[] = { 0, 1, 7, 700 };

	(void)state;
	for (uint32_t kind = 0; kind < QOI_COLL_KIND_COUNT; kind++) {
		for (uint32_t i = 0; i < 4 * RANKS_MAX * 2; i++) {
			struct qoi_coll coll = {
				.kind = kind,
				.count = 1 + i % RANKS_MAX,
				.type = QO_INT32,
				.reduce = kind == QOI_ALLREDUCE ? QO_SUM : 0,
				.in_place = i / RANKS_MAX % 2,
				.elements = elements[i / (2 * RANKS_MAX)],
			};

			if (kind == QOI_BCAST)
				coll.in_place = 0;
			kind_check(&coll);
		}
	}
}

static void a_gap_of_many_gigabytes_costs_nothing(void **state)
{
	uint64_t counts[2] = { 4, 4 };
	uint64_t displacements[2] = { 0, UINT64_C(1) << 40 };
	const struct qoi_coll coll = {
		.kind = QOI_ALLTOALLV,
		.count = 2,
		.type = QO_INT32,
		.send_counts = counts,
		.recv_counts = counts,
		.send_displacements = displacements,
		.recv_displacements = displacements,
	};
	struct qoi_layout_attach_op ask = { 0 };
	struct qoi_far_op far = { .link = link_, .staging = { .fd = -1 } };
	struct qoi_step steps[8];
	struct qoi_schedule *schedule;
	struct qo_op op = { .far = &far };

	(void)state;
	assert_int_equal(qoi_schedule_compile(&coll, "flat", NULL, &schedule),
			 0);
	assert_true(schedule->step_count <= 8);
	memcpy(steps, schedule->steps, schedule->step_count * sizeof(*steps));
	op.schedule = schedule;
	far.path[0] = far.path[1] = QOI_CONFIG_MEMORY_STAGE;
	assert_int_equal(qoi_far_stage_open(&op, &far, steps, &ask), 0);
	assert_int_equal(far.staging.bytes, 4096);
	qoi_far_stage_close(&far);
	qoi_schedule_destroy(schedule);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_algorithm_is_staged_byte_for_byte),
		cmocka_unit_test(a_gap_of_many_gigabytes_costs_nothing),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
