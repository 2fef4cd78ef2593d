/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "libqoffload/base/error.h"
#include "libqoffload/coll/build.h"

#define STEPS_FIRST 16u
/* 64 bytes each: an operation that needs more has no business here. */
#define STEPS_MAX (UINT32_C(1) << 26)

static int build_grow(struct qoi_build *build)
{
	uint32_t capacity =
		build->capacity == 0 ? STEPS_FIRST : 2 * build->capacity;
	struct qoi_step *steps;

	if (capacity > STEPS_MAX)
		return qoi_fail(-EOVERFLOW,
				"%s: more than %u steps for %u ranks",
				build->schedule->algorithm, STEPS_MAX,
				build->coll->count);
	steps = realloc(build->schedule->steps, capacity * sizeof(*steps));
	if (steps == NULL)
		return qoi_fail(-ENOMEM, "no memory for %u steps", capacity);
	build->schedule->steps = steps;
	build->capacity = capacity;
	return 0;
}

static void build_append(struct qoi_build *build, const struct qoi_step *step)
{
	struct qoi_schedule *schedule = build->schedule;

	if (build->error == 0 && schedule->step_count == build->capacity)
		build->error = build_grow(build);
	if (build->error != 0)
		return;
	schedule->steps[schedule->step_count] = *step;
	schedule->steps[schedule->step_count].stage = build->stage;
	schedule->step_count++;
	schedule->stage_count = build->stage + 1;
}

static void build_send(struct qoi_build *build, uint32_t peer,
		       struct qoi_part from)
{
	struct qoi_step step = { .kind = QOI_STEP_PUT,
				 .from = from.buffer,
				 .peer = peer,
				 .from_offset = from.offset,
				 .bytes = from.bytes };

	build_append(build, &step);
}

static void build_arrival(struct qoi_build *build, uint8_t kind, uint32_t peer,
			  struct qoi_part to)
{
	struct qoi_step step = { .kind = kind,
				 .to = to.buffer,
				 .peer = peer,
				 .to_offset = to.offset,
				 .bytes = to.bytes };

	build_append(build, &step);
}

static void build_local(struct qoi_build *build, uint8_t kind,
			struct qoi_part from, struct qoi_part to)
{
	struct qoi_step step = { .kind = kind,
				 .from = from.buffer,
				 .to = to.buffer,
				 .peer = build->coll->rank,
				 .from_offset = from.offset,
				 .to_offset = to.offset,
				 .bytes = to.bytes };

	if (to.bytes != 0)
		build_append(build, &step);
}

void qoi_build_put(struct qoi_build *build, uint32_t peer, struct qoi_part from)
{
	if (from.bytes != 0)
		build_send(build, peer, from);
}

void qoi_build_get(struct qoi_build *build, uint32_t peer, struct qoi_part to)
{
	if (to.bytes != 0)
		build_arrival(build, QOI_STEP_GET, peer, to);
}

void qoi_build_reduce(struct qoi_build *build, uint32_t peer, struct qoi_part to)
{
	if (to.bytes != 0)
		build_arrival(build, QOI_STEP_REDUCE, peer, to);
}

void qoi_build_copy(struct qoi_build *build, struct qoi_part from,
		    struct qoi_part to)
{
	build_local(build, QOI_STEP_COPY, from, to);
}

void qoi_build_fold(struct qoi_build *build, struct qoi_part from,
		    struct qoi_part to)
{
	build_local(build, QOI_STEP_FOLD, from, to);
}

void qoi_build_notify(struct qoi_build *build, uint32_t peer)
{
	build_send(build, peer, (struct qoi_part){ QOI_BUFFER_SCRATCH, 0, 0 });
}

void qoi_build_await(struct qoi_build *build, uint32_t peer)
{
	build_arrival(build, QOI_STEP_GET, peer,
		      (struct qoi_part){ QOI_BUFFER_SCRATCH, 0, 0 });
}

void qoi_build_next_stage(struct qoi_build *build)
{
	build->stage = build->schedule->stage_count;
}

struct qoi_part qoi_build_scratch(struct qoi_build *build, uint64_t count,
				  uint64_t bytes)
{
	struct qoi_schedule *schedule = build->schedule;
	struct qoi_part part = { QOI_BUFFER_SCRATCH, schedule->scratch_bytes,
				 0 };
	uint64_t end;

	if (build->error != 0)
		return part;
	if (__builtin_mul_overflow(count, bytes, &part.bytes) ||
	    __builtin_add_overflow(part.offset, part.bytes, &end)) {
		build->error =
			qoi_fail(-EOVERFLOW, "%s: scratch exceeds 64 bits",
				 schedule->algorithm);
		part.bytes = 0;
		return part;
	}
	schedule->scratch_bytes = end;
	schedule->buffer_bytes[QOI_BUFFER_SCRATCH] = end;
	return part;
}

struct qoi_part qoi_part_piece(struct qoi_part part, uint64_t index,
			       uint64_t bytes)
{
	return qoi_part_slice(part, index * bytes, bytes);
}

struct qoi_part qoi_part_slice(struct qoi_part part, uint64_t offset,
			       uint64_t bytes)
{
	part.offset += offset;
	part.bytes = bytes;
	return part;
}
