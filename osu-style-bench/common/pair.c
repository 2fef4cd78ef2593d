/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"
#include "payload.h"
#include "report.h"

/*
 * Written and checked at both ends of a block.  All of a big one would keep a
 * core busy with what is no part of the operation.
 */
#define MARK_BYTES 64

static void check(int rc, const char *what)
{
	if (rc != 0)
		bench_die("%s: %s: %s", what, qo_error_string(rc),
			  qo_error_detail());
}

void bench_pair_create(qo_context_t context, qo_team_t team, uint64_t bytes,
		       struct bench_pair *pair_out)
{
	struct qo_team_info info = QO_TEAM_INFO_INIT;
	struct bench_pair pair = { .bytes = bytes };

	check(qo_team_query(team, &info), "qo_team_query");
	if (info.count != BENCH_PAIR_RANKS || bytes < MARK_BYTES)
		bench_die("a pair of %u ranks with blocks of %llu bytes",
			  info.count, (unsigned long long)bytes);
	pair.rank = info.rank;
	for (int i = 0; i < 2; i++) {
		void *memory;

		check(qo_mem_alloc(context, BENCH_PAIR_RANKS * bytes, &memory,
				   &pair.mem[i]),
		      "qo_mem_alloc");
		pair.memory[i] = memory;
	}
	check(qo_alltoall_init(team, pair.memory[0], pair.memory[1], bytes,
			       QO_BYTE, &pair.op),
	      "qo_alltoall_init");
	*pair_out = pair;
}

void bench_pair_destroy(struct bench_pair *pair)
{
	check(qo_op_destroy(pair->op), "qo_op_destroy");
	for (int i = 0; i < 2; i++)
		check(qo_mem_release(pair->mem[i]), "qo_mem_release");
}

/* Even runs go on; rank 0 ends its last one with an odd number. */
void bench_pair_post(struct bench_pair *pair, bool last)
{
	struct bench_block_id id = { 2 * ++pair->run, pair->rank, 0 };

	id.run += last && pair->rank == 0;
	for (; id.destination < BENCH_PAIR_RANKS; id.destination++) {
		unsigned char *block =
			pair->memory[0] + id.destination * pair->bytes;

		bench_payload_fill(block, MARK_BYTES, id, true);
		bench_payload_fill(block + pair->bytes - MARK_BYTES, MARK_BYTES,
				   id, true);
	}
	check(qo_post(pair->op, &pair->request), "qo_post");
}

void bench_pair_wait(struct bench_pair *pair)
{
	struct qo_status status;

	check(qo_wait(pair->request, QO_NO_DEADLINE, &status), "qo_wait");
	if (status.state != QO_DONE)
		check(status.error, "an alltoall");
}

static bool block_holds(const struct bench_pair *pair, uint32_t source,
			uint64_t run)
{
	struct bench_block_id id = { run, source, pair->rank };
	const unsigned char *block = pair->memory[1] + source * pair->bytes;

	return bench_payload_check(block, MARK_BYTES, id, true) &&
	       bench_payload_check(block + pair->bytes - MARK_BYTES, MARK_BYTES,
				   id, true);
}

bool bench_pair_was_last(const struct bench_pair *pair)
{
	uint64_t run = 2 * pair->run;
	bool last = !block_holds(pair, 0, run);

	if ((last && !block_holds(pair, 0, run + 1)) ||
	    !block_holds(pair, 1, run))
		bench_die("wrong data in run %llu",
			  (unsigned long long)pair->run);
	return last;
}
