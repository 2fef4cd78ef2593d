/* SPDX-License-Identifier: BSD-3-Clause */
#include "examples/qwindow/schedule.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/qwindow/bits.h"
#include "examples/qwindow/clock.h"

#define SUB_BATCH 8
#define PROGRESS_NS 100000000

struct run {
	const struct schedule_params *params;
	struct schedule_result *result;
	struct exchange *x;
	struct work *work;
	uint32_t ranks;
	uint32_t rank;
	uint32_t piece_patches;
	uint8_t *halo; /* owned, left buffers to send */
	uint8_t *seam; /* owned, seams of a piece to send */
	int64_t progress_ns;
	uint64_t window; /* how many were begun */
};

uint32_t schedule_piece_patches(uint32_t patches)
{
	uint32_t least =
		(patches + EXCHANGE_PIECES_MOST - 1) / EXCHANGE_PIECES_MOST;

	return least < SUB_BATCH ? SUB_BATCH : least;
}

uint64_t schedule_windows(const struct plan *plan, uint32_t ranks,
			  uint32_t rank, size_t patches)
{
	uint64_t windows = 0;

	for (uint32_t k = rank; k < plan->slab_count; k += ranks)
		windows += 1 + (k + 1 < plan->slab_count && plan->buffer > 0);
	return windows * patches;
}

static struct step step_at(const struct run *run, uint64_t number)
{
	const struct plan *plan = run->params->plan;
	size_t shots = run->params->shots->count;
	uint32_t patches = run->params->rack->patches;
	uint32_t epochs = run->result->epoch_count;
	struct step step = {
		.number = number,
		.epoch = (uint32_t)(number % epochs),
		.a_slab = WORK_NO_SLAB,
		.b_slab = WORK_NO_SLAB,
	};
	uint64_t batch = number / epochs;
	uint64_t first = (uint64_t)step.epoch * run->ranks;
	uint64_t slab = first + run->rank;
	/* What comes in from rank + 1 belongs to this slab. */
	uint64_t next = first + (run->rank + 1) % run->ranks;
	uint64_t end = first + run->ranks;

	step.batch.first = batch * patches;
	step.batch.count = shots - step.batch.first < patches
				   ? (uint32_t)(shots - step.batch.first)
				   : patches;
	if (slab < plan->slab_count)
		step.a_slab = (uint32_t)slab;
	if (next > 0 && next < plan->slab_count && plan->buffer > 0)
		step.b_slab = (uint32_t)next - 1;
	step.rounds_end = batch * run->params->layer_count +
			  (end < plan->slab_count ? end * plan->width
						  : run->params->layer_count);
	return step;
}

static int has_edges(const struct run *run)
{
	return run->work->left_bytes > 0;
}

static uint8_t *frame_of(struct run *run, uint64_t number)
{
	return run->x->frame_send[number % EXCHANGE_FRAME_SLOTS];
}

/* Racks have a step's bits when it was measured. */
static int post_blocks(struct run *run, uint64_t number)
{
	const struct rack *rack = run->params->rack;
	struct step step = step_at(run, number);
	uint8_t *send = run->x->block_send[number % EXCHANGE_BLOCK_SLOTS];
	int64_t start_ns;

	pace_wait(&run->result->pace, step.rounds_end);
	start_ns = clock_now_ns();
	for (uint32_t owner = 0; owner < run->ranks; owner++)
		rack_pack(rack, &step.batch, step.epoch * run->ranks + owner,
			  send + owner * rack->block_bytes[run->rank]);
	run->result->rack_ns += (uint64_t)(clock_now_ns() - start_ns);
	return exchange_post(run->x, EXCHANGE_BLOCKS, number);
}

static int take_blocks(struct run *run, const struct step *step)
{
	int rc = exchange_wait(run->x, EXCHANGE_BLOCKS, step->number);
	int64_t start_ns = clock_now_ns();

	if (rc != 0)
		return rc;
	rack_unpack(run->params->rack, &step->batch, step->a_slab,
		    run->x->block_recv[step->number % EXCHANGE_BLOCK_SLOTS],
		    run->work->rows);
	memset(frame_of(run, step->number), 0, run->x->shape.frame_bytes);
	run->result->rack_ns += (uint64_t)(clock_now_ns() - start_ns);
	return 0;
}

static int post_halo(struct run *run, const struct step *step)
{
	if (!has_edges(run))
		return 0;
	work_take_halo(run->work, step, run->halo);
	return exchange_edge_post(run->x, EXCHANGE_HALO, step->number,
				  run->halo);
}

/* Lose the same messages in every run, spread evenly. */
static int is_dropped(const struct run *run, uint64_t round)
{
	uint64_t chance = bits_mix(round * run->ranks + run->rank) % 1000000;

	return (double)chance < run->params->drop_seams * 10000;
}

static int post_seam(struct run *run, const struct step *step, uint32_t piece)
{
	struct exchange *x = run->x;
	uint64_t round = step->number * x->shape.pieces + piece;

	if (step->a_slab != WORK_NO_SLAB && step->a_slab > 0) {
		run->result->seams_sent++;
		if (is_dropped(run, round)) {
			run->result->seams_dropped++;
			memset(run->seam, 0, x->shape.seam_bytes);
		}
	}
	return exchange_edge_post(x, EXCHANGE_SEAM, round, run->seam);
}

static int poke(struct run *run)
{
	return run->params->poke ? exchange_poke(run->x) : 0;
}

/* The rank that is to be stopped is stopped here. */
static int begin_window(struct run *run)
{
	struct freeze *freeze = run->params->freeze;
	int rc;

	run->window++;
	if (freeze == NULL || run->window != freeze->window)
		return 0;
	rc = freeze_now(freeze);
	if (rc != 0)
		problem_set(run->x->problem, rc,
			    "--freeze: the rank was not seen to stop; see "
			    "whether /proc is mounted");
	return rc;
}

static int decode_a_piece(struct run *run, const struct step *step,
			  uint32_t piece)
{
	struct work *work = run->work;
	uint32_t first = piece * run->piece_patches;
	uint32_t end = first + run->piece_patches;
	int rc = 0;

	memset(run->seam, 0, run->x->shape.seam_bytes);
	if (step->a_slab == WORK_NO_SLAB)
		return 0;
	for (uint32_t p = first; p < end && p < step->batch.count && rc == 0;
	     p++) {
		rc = begin_window(run);
		work_decode_a(work, step, p,
			      run->seam + (p - first) * work->seam_bytes,
			      frame_of(run, step->number));
	}
	return rc;
}

/* The seams of a piece fly while the next piece is decoded. */
static int decode_a_pieces(struct run *run, const struct step *step)
{
	int rc = 0;

	for (uint32_t piece = 0; piece < run->x->shape.pieces && rc == 0;
	     piece++) {
		rc = decode_a_piece(run, step, piece);
		if (rc == 0 && has_edges(run))
			rc = post_seam(run, step, piece);
		if (rc == 0)
			rc = poke(run);
	}
	return rc;
}

/* Seams are taken and given back even where no window needs them: the edges
 * of all ranks stay in step. */
static int decode_b_piece(struct run *run, const struct step *step,
			  uint32_t piece, const uint8_t *halo)
{
	struct work *work = run->work;
	uint64_t round = step->number * run->x->shape.pieces + piece;
	uint32_t first = piece * run->piece_patches;
	uint32_t end = first + run->piece_patches;
	const uint8_t *seam;
	int rc = exchange_edge_wait(run->x, EXCHANGE_SEAM, round, &seam);

	if (rc != 0)
		return rc;
	for (uint32_t p = first; p < end && p < step->batch.count &&
				 step->b_slab != WORK_NO_SLAB && rc == 0;
	     p++) {
		rc = begin_window(run);
		work_decode_b(work, step, p, halo + p * work->left_bytes,
			      seam + (p - first) * work->seam_bytes,
			      frame_of(run, step->number));
	}
	if (rc != 0)
		return rc;
	rc = exchange_edge_release(run->x, EXCHANGE_SEAM, round);
	return rc != 0 ? rc : poke(run);
}

static int decode_b_pieces(struct run *run, uint64_t number)
{
	struct step step = step_at(run, number);
	const uint8_t *halo;
	int rc;

	if (!has_edges(run))
		return 0;
	rc = exchange_edge_wait(run->x, EXCHANGE_HALO, number, &halo);
	for (uint32_t piece = 0; piece < run->x->shape.pieces && rc == 0;
	     piece++)
		rc = decode_b_piece(run, &step, piece, halo);
	if (rc == 0)
		rc = exchange_edge_release(run->x, EXCHANGE_HALO, number);
	return rc;
}

static int wait_frame(struct run *run, uint64_t number)
{
	struct step step = step_at(run, number);
	int rc = exchange_wait(run->x, EXCHANGE_FRAME, number);
	const uint8_t *bits = run->x->frame_recv[number % EXCHANGE_FRAME_SLOTS];

	if (rc != 0)
		return rc;
	for (uint32_t o = 0; o < run->params->observable_count; o++) {
		for (uint32_t p = 0; p < step.batch.count; p++)
			run->result->frames[step.batch.first + p] ^=
				(uint64_t)bits_get(bits, p) << o;
		bits += run->work->frame_bytes;
	}
	pace_done(&run->result->pace, step.rounds_end);
	return 0;
}

static void show_progress(struct run *run, const struct step *step)
{
	int64_t now_ns = clock_now_ns();

	if (!run->params->progress || now_ns < run->progress_ns)
		return;
	run->progress_ns = now_ns + PROGRESS_NS;
	fprintf(stderr, "\rstep %llu of %llu, patch %zu of %zu ",
		(unsigned long long)step->number + 1,
		(unsigned long long)run->result->step_count,
		step->batch.first + step->batch.count,
		run->params->shots->count);
}

/* Throughput: the frame of a step is whole one step later, and is waited for
 * yet one later. Latency: at once. */
static int finish_step(struct run *run, uint64_t number)
{
	int rc;

	if (run->params->latency) {
		rc = decode_b_pieces(run, number);
		if (rc == 0)
			rc = exchange_post(run->x, EXCHANGE_FRAME, number);
		return rc != 0 ? rc : wait_frame(run, number);
	}
	if (number == 0)
		return 0;
	rc = decode_b_pieces(run, number - 1);
	if (rc == 0)
		rc = exchange_post(run->x, EXCHANGE_FRAME, number - 1);
	if (rc == 0 && number > 1)
		rc = wait_frame(run, number - 2);
	return rc;
}

static int run_step(struct run *run, uint64_t number)
{
	struct step step = step_at(run, number);
	int ahead = run->result->pace.round_ns == 0;
	int rc = 0;

	/* In real time the next bits are not there yet. */
	if (number == 0 || !ahead)
		rc = post_blocks(run, number);
	if (rc == 0)
		rc = take_blocks(run, &step);
	if (rc == 0 && ahead && number + 1 < run->result->step_count)
		rc = post_blocks(run, number + 1);
	if (rc == 0)
		rc = post_halo(run, &step);
	if (rc == 0)
		rc = decode_a_pieces(run, &step);
	if (rc == 0)
		rc = finish_step(run, number);
	show_progress(run, &step);
	return rc;
}

/* What throughput mode has left over after the last step. */
static int drain(struct run *run)
{
	uint64_t last = run->result->step_count - 1;
	int rc;

	if (run->params->latency)
		return 0;
	rc = decode_b_pieces(run, last);
	if (rc == 0)
		rc = exchange_post(run->x, EXCHANGE_FRAME, last);
	if (rc == 0 && last > 0)
		rc = wait_frame(run, last - 1);
	return rc != 0 ? rc : wait_frame(run, last);
}

static int run_make(struct run *run)
{
	const struct rack *rack = run->params->rack;
	struct work *work = run->work;
	int rc;

	work->plan = run->params->plan;
	work->patches = rack->patches;
	work->observable_count = run->params->observable_count;
	work->row_bytes = rack->row_bytes;
	work->windows = run->params->windows;
	rc = work_init(work);
	if (rc != 0)
		return rc;
	run->halo = calloc(rack->patches, work->left_bytes + 1);
	run->seam = calloc(run->piece_patches, work->seam_bytes + 1);
	run->result->frames = calloc(run->params->shots->count + 1,
				     sizeof(*run->result->frames));
	if (run->halo == NULL || run->seam == NULL ||
	    run->result->frames == NULL)
		return -ENOMEM;
	return 0;
}

static int run_all(struct run *run)
{
	int64_t start_ns;
	int rc = 0;

	/* Ranks begin together, so that times and cadence compare. */
	MPI_Barrier(run->x->comm);
	start_ns = clock_now_ns();
	pace_start(&run->result->pace);
	for (uint64_t t = 0; t < run->result->step_count && rc == 0; t++)
		rc = run_step(run, t);
	if (rc == 0)
		rc = drain(run);
	run->result->total_ns = (uint64_t)(clock_now_ns() - start_ns);
	if (run->params->progress)
		fprintf(stderr, "\r\033[K");
	return rc;
}

static int has_lost(const struct schedule_params *params,
		    const struct schedule_result *result)
{
	const struct timeline *kept[] = {
		params->windows,
		params->exchange->posts,
		params->exchange->waits,
	};
	int lost = result->work.log.lost;

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		lost |= kept[i] != NULL && kept[i]->lost;
	return lost;
}

int schedule_run(const struct schedule_params *params,
		 struct schedule_result *result)
{
	const struct rack *rack = params->rack;
	struct run run = {
		.params = params,
		.result = result,
		.x = params->exchange,
		.work = &result->work,
		.ranks = rack->ranks,
		.rank = rack->rank,
		.piece_patches = schedule_piece_patches(rack->patches),
	};
	uint64_t batches =
		(params->shots->count + rack->patches - 1) / rack->patches;
	int rc;

	result->epoch_count =
		(params->plan->slab_count + rack->ranks - 1) / rack->ranks;
	result->step_count = batches * result->epoch_count;
	result->pace.period_ns =
		result->pace.round_ns * rack->ranks * params->plan->width;
	rc = run_make(&run);
	if (rc == 0)
		rc = run_all(&run);
	free(run.halo);
	free(run.seam);
	if (rc == 0 && has_lost(params, result))
		rc = -ENOMEM;
	if (rc != 0)
		problem_set(params->exchange->problem, rc,
			    "decoding: %s; use "
			    "fewer --patches or --shots",
			    strerror(-rc));
	return rc;
}

void schedule_result_release(struct schedule_result *result)
{
	free(result->frames);
	work_fini(&result->work);
	memset(result, 0, sizeof(*result));
}
