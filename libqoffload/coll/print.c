/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "libqoffload/coll/build.h"

/* Text that may be cut, but whose full length is counted. */
struct text {
	char *bytes;
	size_t capacity;
	size_t used;
};

static void text_add(struct text *text, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void text_add(struct text *text, const char *fmt, ...)
{
	bool full = text->used >= text->capacity;
	va_list args;
	int length;

	va_start(args, fmt);
	length = vsnprintf(full ? NULL : text->bytes + text->used,
			   full ? 0 : text->capacity - text->used, fmt, args);
	va_end(args);
	if (length > 0)
		text->used += (size_t)length;
}

static const char *step_buffer_name(uint8_t buffer)
{
	static const char *const names[QOI_BUFFER_COUNT] = { "send", "recv",
							     "scratch" };

	return buffer < QOI_BUFFER_COUNT ? names[buffer] : "?";
}

static void print_step(const struct qoi_step *step, struct text *text)
{
	const char *from = step_buffer_name(step->from);
	const char *to = step_buffer_name(step->to);

	text_add(text, "  stage %" PRIu32 " ", step->stage);
	switch (step->kind) {
	case QOI_STEP_PUT:
		text_add(text, "put to rank %" PRIu32 " from %s+%" PRIu64,
			 step->peer, from, step->from_offset);
		break;
	case QOI_STEP_GET:
	case QOI_STEP_REDUCE:
		text_add(text, "%s from rank %" PRIu32 " to %s+%" PRIu64,
			 step->kind == QOI_STEP_GET ? "get" : "reduce",
			 step->peer, to, step->to_offset);
		break;
	case QOI_STEP_COPY:
	case QOI_STEP_FOLD:
		text_add(text, "%s from %s+%" PRIu64 " to %s+%" PRIu64,
			 step->kind == QOI_STEP_COPY ? "copy" : "fold", from,
			 step->from_offset, to, step->to_offset);
		break;
	default:
		text_add(text, "unknown step %u", step->kind);
	}
	text_add(text, " bytes %" PRIu64 "\n", step->bytes);
}

size_t qoi_schedule_print(const struct qoi_schedule *schedule, char *text,
			  size_t text_bytes)
{
	struct text out = { text, text_bytes, 0 };

	text_add(&out,
		 "%s rank %" PRIu32 " of %" PRIu32 " stages %" PRIu32
		 " steps %" PRIu32 " scratch %" PRIu64,
		 schedule->algorithm, schedule->rank, schedule->count,
		 schedule->stage_count, schedule->step_count,
		 schedule->scratch_bytes);
	if (schedule->reduce != 0)
		text_add(&out, " %s of %s", qoi_reduce_name(schedule->reduce),
			 qoi_type_name(schedule->type));
	text_add(&out, "\n");
	for (uint32_t i = 0; i < schedule->step_count; i++)
		print_step(&schedule->steps[i], &out);
	return out.used;
}
