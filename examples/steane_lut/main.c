/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Table decoding of many Steane blocks spread over ranks: racks send
 * syndromes to the ranks that decode them (alltoall), which tell all ranks
 * the observables (XOR allreduce). Batches overlap: while one is looked up,
 * the syndromes of the next and the frames of the last are on their way.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <qoffload/mpi.h>
#include <qoffload/qoffload.h>

#include "examples/qwindow/agree.h"
#include "examples/qwindow/shots.h"
#include "examples/steane_lut/table.h"

#define PROGRAM "steane_lut"
#define BATCH 4096 /* blocks; two batches are under way at once */
#define SLOTS 2
#define NO_BLOCK UINT32_MAX

struct slot {
	uint32_t *send;	 /* owned, syndromes, `pair` for each rank */
	uint32_t *recv;	 /* owned, syndromes, `pair` from each rank */
	uint8_t *frame;	 /* owned, my predictions, one byte a block */
	uint8_t *frames; /* owned, everyone's */
	qo_op_t blocks_op;
	qo_op_t frames_op;
	qo_request_t blocks;
	qo_request_t predictions;
};

struct program {
	uint32_t rank;
	uint32_t ranks;
	uint32_t share; /* blocks of a batch that one rack has */
	uint32_t pair;	/* of these, for one decoder */
	struct table table;
	struct shots shots;
	struct shots observables;
	int64_t reference_errors; /* -1: unknown */
	qo_context_t context;
	qo_team_t team;
	struct slot slots[SLOTS];
	uint64_t errors;
	uint64_t wrong; /* predictions that differ from a look-up here */
	struct problem problem;
};

/* An error of the library: this rank can't go on, so none can. */
static void must(int rc, const char *what)
{
	if (rc == 0)
		return;
	fprintf(stderr, PROGRAM ": %s: %s: %s\n", what, qo_error_string(rc),
		qo_error_detail());
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static void post(qo_op_t op, qo_request_t *request, qo_context_t context)
{
	int rc;

	while ((rc = qo_post(op, request)) == -EAGAIN)
		must(qo_progress(context), "qo_progress");
	must(rc, "qo_post");
}

static void wait_for(qo_request_t request)
{
	struct qo_status status;

	must(qo_wait(request, QO_NO_DEADLINE, &status), "qo_wait");
	if (status.state != QO_DONE)
		must(status.error, "exchange");
}

static uint32_t syndrome_of(const struct program *program, size_t block)
{
	const uint8_t *row = shots_row(&program->shots, block);
	uint32_t syndrome = 0;

	for (uint32_t i = 0; i < program->shots.stride; i++)
		syndrome |= (uint32_t)row[i] << (8 * i);
	return syndrome;
}

/* Block j of rack r goes to rank j % ranks; its number in the batch: */
static uint32_t block_number(const struct program *program, uint32_t rack,
			     uint32_t decoder, uint32_t i)
{
	uint32_t j = i * program->ranks + decoder;
	uint32_t block = rack * program->share + j;

	return j < program->share && block < BATCH ? block : NO_BLOCK;
}

static void send_syndromes(struct program *program, size_t batch)
{
	struct slot *slot = &program->slots[batch % SLOTS];
	uint32_t *send = slot->send;

	for (uint32_t decoder = 0; decoder < program->ranks; decoder++) {
		for (uint32_t i = 0; i < program->pair; i++) {
			uint32_t block = block_number(program, program->rank,
						      decoder, i);
			size_t shot = batch * BATCH + block;

			*send++ =
				block != NO_BLOCK && shot < program->shots.count
					? syndrome_of(program, shot)
					: NO_BLOCK;
		}
	}
	post(slot->blocks_op, &slot->blocks, program->context);
}

static void decode(struct program *program, size_t batch)
{
	struct slot *slot = &program->slots[batch % SLOTS];
	const uint32_t *syndrome = slot->recv;

	wait_for(slot->blocks);
	memset(slot->frame, 0, BATCH);
	for (uint32_t rack = 0; rack < program->ranks; rack++) {
		for (uint32_t i = 0; i < program->pair; i++, syndrome++) {
			if (*syndrome != NO_BLOCK)
				slot->frame[block_number(program, rack,
							 program->rank, i)] =
					program->table.values[*syndrome];
		}
	}
	post(slot->frames_op, &slot->predictions, program->context);
}

/* All ranks know all predictions; each could go on with its own blocks. */
static void judge(struct program *program, size_t batch)
{
	struct slot *slot = &program->slots[batch % SLOTS];

	wait_for(slot->predictions);
	for (size_t i = 0; i < BATCH; i++) {
		size_t shot = batch * BATCH + i;
		uint8_t here;

		if (shot >= program->shots.count)
			break;
		here = program->table.values[syndrome_of(program, shot)];
		program->wrong += slot->frames[i] != here;
		program->errors += slot->frames[i] !=
				   shots_row(&program->observables, shot)[0];
	}
}

static void run(struct program *program)
{
	size_t batches = (program->shots.count + BATCH - 1) / BATCH;

	send_syndromes(program, 0);
	for (size_t b = 0; b < batches; b++) {
		if (b + 1 < batches)
			send_syndromes(program, b + 1);
		decode(program, b);
		if (b > 0)
			judge(program, b - 1);
	}
	judge(program, batches - 1);
}

static void open_exchange(struct program *program)
{
	size_t count = (size_t)program->pair * program->ranks;

	must(qo_init(NULL, &program->context), "qo_init");
	must(qo_team_from_mpi(program->context, MPI_COMM_WORLD, &program->team),
	     "qo_team_from_mpi");
	for (int i = 0; i < SLOTS; i++) {
		struct slot *slot = &program->slots[i];

		slot->send = calloc(count, sizeof(*slot->send));
		slot->recv = calloc(count, sizeof(*slot->recv));
		slot->frame = calloc(1, BATCH);
		slot->frames = calloc(1, BATCH);
		if (slot->send == NULL || slot->recv == NULL ||
		    slot->frame == NULL || slot->frames == NULL)
			must(-ENOMEM, "buffers");
		must(qo_alltoall_init(program->team, slot->send, slot->recv,
				      program->pair, QO_UINT32, &slot->blocks_op),
		     "qo_alltoall_init");
		must(qo_allreduce_init(program->team, slot->frame, slot->frames,
				       BATCH, QO_UINT8, QO_XOR, &slot->frames_op),
		     "qo_allreduce_init");
	}
}

static void close_exchange(struct program *program)
{
	for (int i = 0; i < SLOTS; i++) {
		struct slot *slot = &program->slots[i];

		must(qo_op_destroy(slot->blocks_op), "qo_op_destroy");
		must(qo_op_destroy(slot->frames_op), "qo_op_destroy");
		free(slot->send);
		free(slot->recv);
		free(slot->frame);
		free(slot->frames);
	}
	must(qo_team_destroy(program->team), "qo_team_destroy");
	must(qo_fini(program->context), "qo_fini");
}

/* The true flips are beside the shots, under .obs. instead of .det. */
static int read_observables(struct program *program, const char *shots)
{
	const char *at = strstr(shots, ".det.");
	char path[4096];

	if (at == NULL)
		return problem_set(
			&program->problem, -EINVAL,
			"%s: the name "
			"has no .det. in it; name it like x.det.b8, with "
			"x.obs.b8 beside it",
			shots);
	snprintf(path, sizeof(path), "%.*s.obs.%s", (int)(at - shots), shots,
		 at + strlen(".det."));
	if (shots_read(path, program->table.observables, 0,
		       &program->observables, &program->problem) != 0)
		return -EINVAL;
	if (program->observables.count == program->shots.count)
		return 0;
	return problem_set(&program->problem, -EINVAL,
			   "%s: %zu shots, but "
			   "%zu in %s; give those of the same sample",
			   path, program->observables.count,
			   program->shots.count, shots);
}

static int read_files(struct program *program, int argc, char **argv)
{
	int rc;

	if (argc != 3)
		return problem_set(&program->problem, -EINVAL,
				   "two files are "
				   "needed: " PROGRAM " TABLE.lut SHOTS.det.b8");
	rc = table_read(argv[1], &program->table, &program->problem);
	if (rc == 0)
		rc = shots_read(argv[2], program->table.detectors, 0,
				&program->shots, &program->problem);
	if (rc == 0)
		rc = read_observables(program, argv[2]);
	if (rc == 0)
		program->reference_errors = table_reference_errors(argv[2]);
	return rc;
}

static int tell(const struct program *program)
{
	int exact = program->reference_errors < 0 ||
		    (uint64_t)program->reference_errors == program->errors;

	if (program->rank == 0) {
		printf("blocks          %zu of %u detectors, on %u ranks\n",
		       program->shots.count, program->table.detectors,
		       program->ranks);
		printf("same as local   %s  %llu of %zu predictions differ\n",
		       program->wrong == 0 ? "ok    " : "FAILED",
		       (unsigned long long)program->wrong, program->shots.count);
		printf("logical errors  %s  %llu, reference %lld\n",
		       program->reference_errors < 0 ? "unchecked"
		       : exact			     ? "ok    "
						     : "FAILED",
		       (unsigned long long)program->errors,
		       (long long)program->reference_errors);
	}
	return exact && program->wrong == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct program program = { 0 };
	int rank, ranks, rc, status = 2;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	program.rank = (uint32_t)rank;
	program.ranks = (uint32_t)ranks;
	program.share = (BATCH + program.ranks - 1) / program.ranks;
	program.pair = (program.share + program.ranks - 1) / program.ranks;
	rc = read_files(&program, argc, argv);
	if (agree_or_print(MPI_COMM_WORLD, rc, &program.problem, PROGRAM) == 0) {
		open_exchange(&program);
		run(&program);
		status = tell(&program);
		close_exchange(&program);
	}
	table_release(&program.table);
	shots_release(&program.shots);
	shots_release(&program.observables);
	MPI_Finalize();
	return status;
}
