/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Displacements beyond 2^31 and 2^32 bytes, in buffers that are mapped but not
 * there; products that exceed 64 bits.
 */
#define _GNU_SOURCE /* MAP_NORESERVE */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/conformance/suite.h"

#define SPAN_BYTES (UINT64_C(9) << 30)
#define COUNT 3

static uint64_t *sparse_map(void)
{
	void *memory = mmap(NULL, SPAN_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

/* Just below 2 GiB, over it, over 4 GiB, over 8 GiB; elements of 8 bytes. */
static const uint64_t far_places[] = {
	(UINT64_C(1) << 28) - 1,
	(UINT64_C(1) << 29) + 5,
	(UINT64_C(1) << 30) + 7,
};

static uint64_t value_of(uint32_t from, uint32_t to, uint64_t i)
{
	return UINT64_C(0xfeed) << 48 | from << 16 | to << 8 | i;
}

static int far_alltoallv(struct qot_rank *rank, qo_team_t team, uint64_t *send,
			 uint64_t *recv)
{
	uint64_t counts[3] = { COUNT, COUNT, COUNT };
	struct qo_blocks from = { send, counts, far_places };
	struct qo_blocks to = { recv, counts, far_places };
	qo_op_t op;

	for (uint32_t to_rank = 0; to_rank < rank->count; to_rank++)
		for (uint64_t i = 0; i < COUNT; i++)
			send[far_places[to_rank] + i] =
				value_of(rank->rank, to_rank, i);
	QOT_CHECK(rank,
		  qo_alltoallv_init(team, &from, &to, QO_UINT64, &op) == 0);
	QOC_PASS(qot_run_op(op));
	for (uint32_t peer = 0; peer < rank->count; peer++) {
		QOT_CHECK(rank, recv[far_places[peer] - 1] == 0);
		QOT_CHECK(rank, recv[far_places[peer] + COUNT] == 0);
		for (uint64_t i = 0; i < COUNT; i++)
			QOT_CHECK(rank, recv[far_places[peer] + i] ==
						value_of(peer, rank->rank, i));
	}
	QOT_CHECK(rank, qo_op_destroy(op) == 0);
	return 0;
}

static int far_allgatherv(struct qot_rank *rank, qo_team_t team, uint64_t *recv)
{
	uint64_t counts[3] = { COUNT, 0, COUNT };
	struct qo_blocks to = { recv, counts, far_places };
	qo_op_t op;

	memset(&recv[far_places[1]], 0, COUNT * sizeof(*recv));
	for (uint64_t i = 0; i < counts[rank->rank]; i++)
		recv[far_places[rank->rank] + i] = value_of(rank->rank, 9, i);
	QOT_CHECK(rank, qo_allgatherv_init(team, QO_IN_PLACE, 0, &to, QO_UINT64,
					   &op) == 0);
	QOC_PASS(qot_run_op(op));
	for (uint32_t peer = 0; peer < rank->count; peer++)
		for (uint64_t i = 0; i < COUNT; i++)
			QOT_CHECK(rank,
				  recv[far_places[peer] + i] ==
					  (counts[peer] == 0
						   ? 0
						   : value_of(peer, 9, i)));
	QOT_CHECK(rank, qo_op_destroy(op) == 0);
	return 0;
}

static int far_blocks(struct qot_rank *rank)
{
	uint64_t *send = sparse_map();
	uint64_t *recv = sparse_map();
	qo_context_t context;
	qo_team_t team;

	QOT_CHECK(rank, send != NULL && recv != NULL);
	QOC_PASS(qoc_join(rank, NULL, &context, &team));
	QOC_PASS(far_alltoallv(rank, team, send, recv));
	QOC_PASS(far_allgatherv(rank, team, recv));
	munmap(send, SPAN_BYTES);
	munmap(recv, SPAN_BYTES);
	return qoc_leave(rank, context, team);
}

static int overflows(struct qot_rank *rank)
{
	uint64_t counts[3] = { 1, 1, 1 };
	uint64_t places[3] = { 0, 1, UINT64_MAX / 8 };
	uint64_t memory[3] = { 0 };
	struct qo_blocks blocks = { memory, counts, places };
	qo_context_t context;
	qo_team_t team;
	qo_op_t op;

	places[rank->count - 1] = UINT64_MAX / 8;
	QOC_PASS(qoc_join(rank, NULL, &context, &team));
	QOT_CHECK(rank, qo_alltoallv_init(team, &blocks, &blocks, QO_UINT64,
					  &op) == -EOVERFLOW);
	QOT_CHECK(rank, qo_allgatherv_init(team, memory, 1, &blocks, QO_UINT64,
					   &op) == -EOVERFLOW);
	QOT_CHECK(rank,
		  qo_alltoall_init(team, memory, memory, UINT64_MAX / 8 + 1,
				   QO_UINT64, &op) == -EOVERFLOW);
	QOT_CHECK(rank,
		  qo_allreduce_init(team, QO_IN_PLACE, memory, UINT64_MAX / 4,
				    QO_UINT64, QO_SUM, &op) == -EOVERFLOW);
	return qoc_leave(rank, context, team);
}

const struct qoc_case qoc_size_cases[] = {
	{ "far_blocks", 1, 3, far_blocks, NULL, 0 },
	{ "overflows", 1, 3, overflows, NULL, 0 },
	{ NULL, 0, 0, NULL, NULL, 0 },
};
