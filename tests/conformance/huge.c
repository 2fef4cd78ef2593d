/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One transfer of more than 2^31 bytes, by the default path and in pieces.
 * Skipped (77) where memory is short.
 */
#define _GNU_SOURCE /* MAP_NORESERVE */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/ranks.h"

#define COUNT ((UINT64_C(22) << 30) / 80) /* of 8 bytes: 2.2 GiB */
#define NEEDED_BYTES (UINT64_C(7) << 30)
#define SKIP 77

static const char *const direct[] = { "QO_SHM_GET=auto", NULL };
static const char *const pieces[] = { "QO_SHM_GET=off", "QO_SHM_CHUNK_BYTES=1m",
				      NULL };

/* From rank 0 to rank 1; the rest of what is sent stays untouched zeros. */
static int transfer(struct qot_rank *rank)
{
	static const uint64_t marks[] = {
		0,	   1,	     (UINT64_C(1) << 28) - 1, UINT64_C(1) << 28,
		COUNT / 2, COUNT - 1
	};
	uint64_t sizes[2][2] = { { 0, 0 }, { 0, 0 } };
	uint64_t places[2] = { 0, 0 };
	struct qo_blocks send = { NULL, sizes[0], places };
	struct qo_blocks recv = { NULL, sizes[1], places };
	uint64_t *data =
		mmap(NULL, COUNT * 8, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	qo_context_t context;
	qo_team_t team;
	qo_op_t op;

	QOT_CHECK(rank, data != MAP_FAILED);
	QOT_CHECK(rank, qot_join(rank, rank->arg, &context, &team) == 0);
	send.address = recv.address = data;
	sizes[rank->rank][1 - rank->rank] = COUNT;
	for (size_t i = 0; rank->rank == 0 && i < 6; i++)
		data[marks[i]] = i + 1;
	QOT_CHECK(rank,
		  qo_alltoallv_init(team, &send, &recv, QO_UINT64, &op) == 0);
	QOT_CHECK(rank, qot_run_op(op) == 0);
	for (size_t i = 0; i < 6; i++)
		QOT_CHECK(rank, data[marks[i]] == i + 1);
	QOT_CHECK(rank, data[COUNT / 2 + 1] == 0);
	QOT_CHECK(rank, qo_op_destroy(op) == 0);
	QOT_CHECK(rank, qo_team_destroy(team) == 0);
	QOT_CHECK(rank, qo_fini(context) == 0);
	return 0;
}

int main(void)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t free_bytes = (uint64_t)sysconf(_SC_AVPHYS_PAGES) * page;
	int failed;

	if (free_bytes < NEEDED_BYTES) {
		printf("skip: %llu MiB of memory free, not %llu\n",
		       (unsigned long long)(free_bytes >> 20),
		       (unsigned long long)(NEEDED_BYTES >> 20));
		return SKIP;
	}
	qot_limit(120, "huge");
	failed = qot_run_processes(2, transfer, (void *)(uintptr_t)direct);
	failed += qot_run_processes(2, transfer, (void *)(uintptr_t)pieces);
	return failed != 0;
}
