/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "libqoffload/agent/mesh.h"

#define DEPTH 4
#define SLOT_BYTES 16
#define PUTS_MAX 16

/* What the mock provider was asked to put. */
static struct qo_put made[PUTS_MAX];
static uint64_t bodies[PUTS_MAX];
static uint32_t put_count;
static int refuse;

static int mock_put(struct qo_remote *remote, const struct qo_put *put)
{
	(void)remote;
	if (refuse > 0) {
		refuse--;
		return -EAGAIN;
	}
	assert_true(put_count < PUTS_MAX);
	if (put->bytes >= QOI_SLOT_HEADER_BYTES)
		memcpy(&bodies[put_count],
		       (const uint8_t *)put->data + QOI_SLOT_HEADER_BYTES - 8,
		       put->bytes - QOI_SLOT_HEADER_BYTES + 8);
	made[put_count++] = *put;
	return 0;
}

/* A mesh with one edge out of here, or in, whose other end isn't mapped. */
struct side {
	struct qo_provider_ops ops;
	struct qo_provider provider;
	struct qo_endpoint endpoint;
	struct qo_conn conn;
	struct qo_remote remote;
	struct qoi_edge edge;
	uint32_t index;
	struct qo_mesh mesh;
	_Alignas(128) uint8_t memory[4096];
};

static void side_open(struct side *side, uint32_t role)
{
	memset(side, 0, sizeof(*side));
	put_count = 0;
	refuse = 0;
	side->ops.put = mock_put;
	side->provider.ops = &side->ops;
	side->endpoint.provider = &side->provider;
	side->conn.endpoint = &side->endpoint;
	side->remote.conn = &side->conn;
	side->edge.conn = &side->conn;
	side->edge.remote = &side->remote;
	side->edge.roles = role;
	side->edge.shape = (struct qoi_queue_shape){ DEPTH, SLOT_BYTES,
						     QOI_ENCODING_CLASSIC };
	side->edge.staging = side->edge.out_slots = side->memory;
	side->edge.out_slots_offset = 1024;
	side->edge.credit_out_offset = 256;
	side->mesh.work.ops = &qoi_mesh_work_ops;
	side->mesh.edges = &side->edge;
	side->mesh.edge_count = 1;
	side->mesh.in = side->mesh.out = &side->index;
	side->mesh.in_count = role == QOI_ROLE_IN;
	side->mesh.out_count = role == QOI_ROLE_OUT;
	side->mesh.depth = DEPTH;
	side->mesh.unmapped = 1;
}

static int advance(struct side *side, uint32_t in_cycle)
{
	struct qoi_budget budget = { .bytes = 1000, .in_cycle = in_cycle };

	return side->mesh.work.ops->advance(&side->mesh.work, &budget);
}

static void seam_stage(struct side *side, uint64_t round, uint64_t value)
{
	uint8_t *slot = qoi_slot(side->edge.staging, &side->edge.shape, round);

	memcpy(qoi_slot_payload(slot), &value, sizeof(value));
	qoi_slot_publish(slot, round, sizeof(value), 0, 0);
	side->mesh.next = round + 1;
}

/* Only the duty cycle may put; refused ones are tried again, in order. */
static void seams_are_put_by_the_cycle_in_order(void **state)
{
	static struct side side;

	(void)state;
	side_open(&side, QOI_ROLE_OUT);
	assert_false(qoi_mesh_owes(&side.mesh));
	for (uint64_t round = 0; round < 3; round++)
		seam_stage(&side, round, 100 + round);
	assert_true(qoi_mesh_owes(&side.mesh));
	assert_int_equal(advance(&side, 0), 1);
	assert_int_equal(put_count, 0);
	refuse = 1;
	assert_int_equal(advance(&side, 1), 1);
	assert_int_equal(put_count, 0);
	assert_int_equal(advance(&side, 1), 0);
	assert_int_equal(put_count, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(made[i].word, i + 1);
		assert_int_equal(bodies[i], 100 + i);
		assert_int_equal(made[i].offset, made[i].word_offset + 8);
		assert_true(made[i].word_offset >= 1024);
	}
	assert_false(qoi_mesh_owes(&side.mesh));
	assert_int_equal(advance(&side, 1), 0);
	assert_int_equal(put_count, 3);
}

static void credits_are_put_once_each(void **state)
{
	static struct side side;

	(void)state;
	side_open(&side, QOI_ROLE_IN);
	side.mesh.released = 2;
	assert_true(qoi_mesh_owes(&side.mesh));
	refuse = 1;
	assert_int_equal(advance(&side, 1), 1);
	assert_int_equal(advance(&side, 1), 0);
	assert_int_equal(put_count, 1);
	assert_int_equal(made[0].word, 2);
	assert_int_equal(made[0].word_offset, 256);
	assert_int_equal(made[0].bytes, 0);
	assert_int_equal(advance(&side, 1), 0);
	assert_int_equal(put_count, 1);
}

/* Nobody waits for puts to a peer that is gone. */
static void nothing_is_owed_to_the_lost(void **state)
{
	static struct side side;

	(void)state;
	side_open(&side, QOI_ROLE_OUT);
	seam_stage(&side, 0, 1);
	assert_true(qoi_mesh_owes(&side.mesh));
	side.conn.fate = -ECONNRESET;
	assert_false(qoi_mesh_owes(&side.mesh));
	assert_int_equal(advance(&side, 1), 0);
	assert_int_equal(put_count, 0);
}

static void a_round_is_found_by_its_request_alone(void **state)
{
	static struct side side;
	static struct qoi_request requests[DEPTH], stranger;
	static struct qoi_round rounds[DEPTH];

	(void)state;
	side_open(&side, QOI_ROLE_IN);
	side.mesh.rounds = rounds;
	for (int i = 0; i < DEPTH; i++)
		rounds[i].request = &requests[i];
	for (int i = 0; i < DEPTH; i++)
		assert_ptr_equal(qoi_mesh_round_of(&side.mesh, &requests[i]),
				 &rounds[i]);
	assert_null(qoi_mesh_round_of(&side.mesh, &stranger));
	assert_ptr_equal(qoi_mesh_round(&side.mesh, 5), &rounds[1]);
	assert_ptr_equal(qoi_mesh_round(&side.mesh, UINT64_MAX), &rounds[3]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seams_are_put_by_the_cycle_in_order),
		cmocka_unit_test(credits_are_put_once_each),
		cmocka_unit_test(nothing_is_owed_to_the_lost),
		cmocka_unit_test(a_round_is_found_by_its_request_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
