/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Staging: what an operation uses of a buffer lies in memory that the daemon
 * maps, one span behind the other without the gaps, and the steps that the
 * daemon gets say so.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libqoffload/base/error.h"
#include "libqoffload/client/far_op.h"

/* A span keeps its place in a line, so that elements stay aligned. */
#define LINE_BYTES UINT64_C(128)
#define PAGE_BYTES UINT64_C(4096)

/* Spans of a buffer while they are gathered; then sorted, without overlap. */
struct spans {
	struct qoi_span *list; /* owner: this */
	uint32_t count;
};

static int step_reads(const struct qoi_step *step, uint32_t buffer)
{
	return step->from == buffer &&
	       (step->kind == QOI_STEP_PUT || step->kind == QOI_STEP_COPY ||
		step->kind == QOI_STEP_FOLD);
}

static int step_writes(const struct qoi_step *step, uint32_t buffer)
{
	return step->to == buffer && step->kind != QOI_STEP_PUT;
}

/* What is combined into a buffer reads what it had. */
static int step_combines(const struct qoi_step *step, uint32_t buffer)
{
	return step->to == buffer &&
	       (step->kind == QOI_STEP_REDUCE || step->kind == QOI_STEP_FOLD);
}

static void span_add(struct spans *spans, uint64_t offset, uint64_t bytes)
{
	if (bytes == 0)
		return;
	spans->list[spans->count].offset = offset;
	spans->list[spans->count].bytes = bytes;
	spans->count++;
}

static int span_compare(const void *a, const void *b)
{
	const struct qoi_span *left = a;
	const struct qoi_span *right = b;

	if (left->offset == right->offset)
		return 0;
	return left->offset < right->offset ? -1 : 1;
}

static void spans_merge(struct spans *spans)
{
	struct qoi_span *list = spans->list;
	uint32_t last = 0;

	if (spans->count == 0)
		return;
	qsort(list, spans->count, sizeof(*list), span_compare);
	for (uint32_t i = 1; i < spans->count; i++) {
		uint64_t end = list[i].offset + list[i].bytes;
		uint64_t before = list[last].offset + list[last].bytes;

		if (list[i].offset > before)
			list[++last] = list[i];
		else if (end > before)
			list[last].bytes = end - list[last].offset;
	}
	spans->count = last + 1;
}

#define SPANS_IN 1u  /* what is read before it is written, or may be */
#define SPANS_OUT 2u /* what is written */

static int spans_gather(const struct qoi_schedule *schedule, uint32_t buffer,
			uint32_t which, struct spans *spans)
{
	/* A step touches a buffer in two places at the most. */
	spans->list = calloc(2 * (uint64_t)schedule->step_count + 1,
			     sizeof(*spans->list));
	spans->count = 0;
	if (spans->list == NULL)
		return qoi_fail(-ENOMEM, "no memory to stage %u steps",
				schedule->step_count);
	for (uint32_t i = 0; i < schedule->step_count; i++) {
		const struct qoi_step *step = &schedule->steps[i];

		if ((which & SPANS_IN) != 0 && step_reads(step, buffer))
			span_add(spans, step->from_offset, step->bytes);
		if (((which & SPANS_IN) != 0 && step_combines(step, buffer)) ||
		    ((which & SPANS_OUT) != 0 && step_writes(step, buffer)))
			span_add(spans, step->to_offset, step->bytes);
	}
	spans_merge(spans);
	return 0;
}

/* Places what is used of a buffer; returns the end. */
static uint64_t spans_place(struct spans *used)
{
	uint64_t end = 0;

	for (uint32_t i = 0; i < used->count; i++) {
		struct qoi_span *span = &used->list[i];
		uint64_t place = span->offset % LINE_BYTES;

		end += (place - end) % LINE_BYTES;
		span->at = end;
		end += span->bytes;
	}
	return end;
}

/* Where a used byte of a buffer lies in the staged one. */
static uint64_t span_at(const struct spans *used, uint64_t offset)
{
	uint32_t low = 0;
	uint32_t high = used->count;

	/* The last one that begins at or before it: bounded, by halves. */
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (used->list[middle].offset <= offset)
			low = middle;
		else
			high = middle;
	}
	return used->list[low].at + (offset - used->list[low].offset);
}

static void steps_move(const struct qoi_schedule *schedule, uint32_t buffer,
		       const struct spans *used, struct qoi_step *steps)
{
	for (uint32_t i = 0; i < schedule->step_count; i++) {
		const struct qoi_step *step = &schedule->steps[i];

		if (step_reads(step, buffer))
			steps[i].from_offset =
				step->bytes == 0
					? 0
					: span_at(used, step->from_offset);
		if (step_writes(step, buffer))
			steps[i].to_offset =
				step->bytes == 0
					? 0
					: span_at(used, step->to_offset);
	}
}

/* What is copied one way; the bytes of each span are used in one piece. */
static int copies_make(const struct qoi_schedule *schedule, uint32_t buffer,
		       uint32_t which, const struct spans *used,
		       struct qoi_span **list_out, uint32_t *count_out)
{
	struct spans spans;
	int error = spans_gather(schedule, buffer, which, &spans);

	if (error != 0)
		return error;
	for (uint32_t i = 0; i < spans.count; i++)
		spans.list[i].at = span_at(used, spans.list[i].offset);
	*list_out = spans.list;
	*count_out = spans.count;
	return 0;
}

/* Plans one staged buffer, from `at` of the staging memory on. */
static int buffer_plan(const struct qoi_schedule *schedule,
		       struct qoi_far_op *far, uint32_t buffer,
		       struct qoi_step *steps, uint64_t *bytes_out)
{
	struct spans used;
	int error = spans_gather(schedule, buffer, SPANS_IN | SPANS_OUT, &used);

	if (error != 0)
		return error;
	*bytes_out = spans_place(&used);
	steps_move(schedule, buffer, &used, steps);
	error = copies_make(schedule, buffer, SPANS_IN, &used, &far->in[buffer],
			    &far->in_count[buffer]);
	if (error == 0 && buffer == QOI_BUFFER_RECV)
		error = copies_make(schedule, buffer, SPANS_OUT, &used,
				    &far->out, &far->out_count);
	free(used.list);
	return error;
}

static int memory_make(struct qoi_far_op *far, uint64_t bytes)
{
	int error;

	bytes = (bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
	error = qoi_segment_create("qoffload-staging", bytes, &far->staging);
	if (error != 0)
		return error;
	error = qoi_link_region_add(far->link, far->staging.fd,
				    far->staging.base, bytes);
	qoi_segment_close_fd(&far->staging);
	return error;
}

/*
 * What the rank copies to itself never leaves it: for the daemon, and so for
 * the staging, these steps are empty.
 */
static int own_copies_take(const struct qoi_schedule *schedule,
			   struct qoi_step *steps,
			   struct qoi_schedule *staged_out)
{
	uint64_t bytes = schedule->step_count * sizeof(*steps);

	*staged_out = *schedule;
	staged_out->steps = malloc(bytes + 1);
	if (staged_out->steps == NULL)
		return qoi_fail(-ENOMEM, "no memory to stage %u steps",
				schedule->step_count);
	for (uint32_t i = 0; i < schedule->step_count; i++) {
		if (schedule->steps[i].kind == QOI_STEP_COPY)
			steps[i].bytes = 0;
		staged_out->steps[i] = schedule->steps[i];
		staged_out->steps[i].bytes = steps[i].bytes;
	}
	return 0;
}

/* Plans what is staged of all buffers; *end_out: the bytes of it. */
static int buffers_plan(const struct qoi_schedule *schedule,
			struct qoi_far_op *far, struct qoi_step *steps,
			struct qoi_layout_attach_op *ask, uint64_t *end_out)
{
	uint64_t end = 0;
	int error = 0;

	for (uint32_t i = 0; i < QOI_FAR_BUFFERS && error == 0; i++) {
		if (far->path[i] != QOI_CONFIG_MEMORY_STAGE)
			continue;
		far->staged[i] = end;
		error = buffer_plan(schedule, far, i, steps,
				    &ask->buffer_bytes[i]);
		end += ask->buffer_bytes[i];
		end = (end + LINE_BYTES - 1) & ~(LINE_BYTES - 1);
	}
	*end_out = end;
	return error;
}

int qoi_far_stage_open(struct qo_op *op, struct qoi_far_op *far,
		       struct qoi_step *steps, struct qoi_layout_attach_op *ask)
{
	struct qoi_schedule staged;
	uint64_t end;
	int error;

	if (far->own_here) {
		error = own_copies_take(op->schedule, steps, &staged);
		if (error != 0)
			return error;
		error = buffers_plan(&staged, far, steps, ask, &end);
		free(staged.steps);
	} else {
		error = buffers_plan(op->schedule, far, steps, ask, &end);
	}
	if (error == 0 && end != 0)
		error = memory_make(far, end);
	for (uint32_t i = 0; i < QOI_FAR_BUFFERS && error == 0; i++) {
		if (far->path[i] != QOI_CONFIG_MEMORY_STAGE ||
		    ask->buffer_bytes[i] == 0)
			continue;
		ask->buffer_kind[i] = QOI_BUFFER_REGION;
		/* It was added just now. */
		qoi_link_region_find(far->link,
				     far->staging.base + far->staged[i],
				     ask->buffer_bytes[i],
				     &ask->buffer_region[i],
				     &ask->buffer_offset[i]);
	}
	return error;
}

void qoi_far_stage_close(struct qoi_far_op *far)
{
	if (far->staging.base != NULL) {
		qoi_link_region_drop(far->link, far->staging.base);
		qoi_segment_detach(&far->staging);
	}
	for (uint32_t i = 0; i < QOI_FAR_BUFFERS; i++)
		free(far->in[i]);
	free(far->out);
}

void qoi_far_copy_in(struct qo_op *op)
{
	const struct qoi_far_op *far = op->far;

	for (uint32_t i = 0; i < QOI_FAR_BUFFERS; i++) {
		uint8_t *to = far->staging.base + far->staged[i];
		const uint8_t *from = op->exec.buffers[i];

		for (uint32_t j = 0; j < far->in_count[i]; j++)
			memcpy(to + far->in[i][j].at,
			       from + far->in[i][j].offset, far->in[i][j].bytes);
	}
}

void qoi_far_copy_out(struct qo_op *op)
{
	const struct qoi_far_op *far = op->far;
	const uint8_t *from = far->staging.base + far->staged[QOI_BUFFER_RECV];
	uint8_t *to = op->exec.buffers[QOI_BUFFER_RECV];

	for (uint32_t i = 0; i < far->out_count; i++)
		memcpy(to + far->out[i].offset, from + far->out[i].at,
		       far->out[i].bytes);
}
