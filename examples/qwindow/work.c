/* SPDX-License-Identifier: BSD-3-Clause */
#include "examples/qwindow/work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "examples/qwindow/bits.h"
#include "examples/qwindow/clock.h"

/* Where the corrections of the window being decoded go. */
struct sink {
	struct work *work;
	const struct slab *slab; /* NULL in a B window */
	uint8_t *row;
	uint8_t *seam;
	uint8_t *frame;
	uint32_t patch; /* in the batch */
	uint32_t shot;
};

int work_init(struct work *work)
{
	const struct plan *plan = work->plan;
	size_t patches = work->patches;

	if (plan->slab_count > 1 && plan->buffer > 0) {
		work->right_bytes = bits_bytes(plan->right_most);
		work->left_bytes = bits_bytes(plan->left_most);
		work->seam_bytes = bits_bytes(plan->seam_most);
	}
	work->frame_bytes = bits_bytes(patches);
	work->rows = calloc(patches, work->row_bytes);
	work->left = calloc(1, work->left_bytes + 1);
	if (work->rows == NULL || work->left == NULL)
		return -ENOMEM;
	for (int i = 0; i < WORK_RIGHT_SLOTS; i++) {
		work->right[i] = calloc(patches, work->right_bytes + 1);
		if (work->right[i] == NULL)
			return -ENOMEM;
	}
	return window_decoder_init(&work->decoder, plan);
}

void work_fini(struct work *work)
{
	window_decoder_fini(&work->decoder);
	free(work->rows);
	free(work->left);
	for (int i = 0; i < WORK_RIGHT_SLOTS; i++)
		free(work->right[i]);
	free(work->log.entries);
	memset(work, 0, sizeof(*work));
}

static void count_window(struct work *work, struct stats *stats,
			 int64_t start_ns)
{
	int64_t end_ns = clock_now_ns();

	stats_add(stats, (uint64_t)(end_ns - start_ns));
	timeline_add(work->windows, start_ns, end_ns);
}

static void log_commit(struct commit_log *log, uint32_t shot, uint32_t edge)
{
	if (log->count == log->room) {
		size_t room = log->room * 2 + 4096;
		struct commit *grown =
			realloc(log->entries, room * sizeof(*grown));

		if (grown == NULL) {
			log->lost = 1;
			return;
		}
		log->entries = grown;
		log->room = room;
	}
	log->entries[log->count++] = (struct commit){ shot, edge };
}

static void flip_end(const struct sink *sink, uint32_t vertex)
{
	const struct slab *slab = sink->slab;
	uint32_t in_seam = slab->all.first + vertex - slab->seam.first;

	bits_flip(sink->row, vertex);
	if (in_seam < slab->seam.count)
		bits_flip(sink->seam, in_seam);
}

static void commit(const struct graph_edge *edge, void *arg)
{
	struct sink *sink = arg;
	struct work *work = sink->work;

	log_commit(&work->log, sink->shot, edge->id);
	for (uint32_t o = 0; o < work->observable_count; o++) {
		if ((edge->observables >> o & 1) != 0)
			bits_flip(sink->frame + o * work->frame_bytes,
				  sink->patch);
	}
	if (sink->slab == NULL)
		return;
	flip_end(sink, edge->a);
	if (edge->b != GRAPH_BOUNDARY)
		flip_end(sink, edge->b);
}

static uint8_t *right_of(struct work *work, uint64_t step, uint32_t patch)
{
	return work->right[step % WORK_RIGHT_SLOTS] + patch * work->right_bytes;
}

void work_take_halo(const struct work *work, const struct step *step,
		    uint8_t *halo)
{
	const struct slab *slab;

	if (step->a_slab == WORK_NO_SLAB)
		return;
	slab = &work->plan->slabs[step->a_slab];
	for (uint32_t p = 0; p < step->batch.count; p++)
		bits_extract(halo + p * work->left_bytes,
			     work->rows + p * work->row_bytes, 0,
			     slab->left.count);
}

void work_decode_a(struct work *work, const struct step *step, uint32_t patch,
		   uint8_t *seam, uint8_t *frame)
{
	const struct slab *slab = &work->plan->slabs[step->a_slab];
	struct sink sink = {
		.work = work,
		.slab = slab,
		.row = work->rows + patch * work->row_bytes,
		.seam = seam,
		.frame = frame,
		.patch = patch,
		.shot = (uint32_t)(step->batch.first + patch),
	};
	int64_t start_ns = clock_now_ns();

	window_decode_a(&work->decoder, slab, sink.row, commit, &sink);
	if (work->right_bytes > 0)
		bits_extract(right_of(work, step->number, patch), sink.row,
			     slab->right.first - slab->all.first,
			     slab->right.count);
	count_window(work, &work->a, start_ns);
}

void work_decode_b(struct work *work, const struct step *step, uint32_t patch,
		   const uint8_t *halo, const uint8_t *seam, uint8_t *frame)
{
	const struct plan *plan = work->plan;
	const struct slab *next = &plan->slabs[step->b_slab + 1];
	struct sink sink = {
		.work = work,
		.frame = frame,
		.patch = patch,
		.shot = (uint32_t)(step->batch.first + patch),
	};
	/* The last rank's slab is one epoch older than what comes in. */
	uint64_t a_step =
		step->b_slab == step->a_slab ? step->number : step->number - 1;
	int64_t start_ns = clock_now_ns();

	memcpy(work->left, halo, bits_bytes(next->left.count));
	bits_xor_into(work->left, next->seam.first - next->left.first, seam,
		      next->seam.count);
	window_decode_b(&work->decoder, &plan->slabs[step->b_slab],
			right_of(work, a_step, patch), work->left,
			next->left.count, commit, &sink);
	count_window(work, &work->b, start_ns);
}
