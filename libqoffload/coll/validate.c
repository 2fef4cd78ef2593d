/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An agent carries out what another process wrote: nothing here trusts the
 * schedule beyond step_count steps being readable.
 */
#include <errno.h>
#include <stdlib.h>

#include "libqoffload/base/error.h"
#include "libqoffload/coll/build.h"

static bool step_sends(const struct qoi_step *step)
{
	return step->kind == QOI_STEP_PUT;
}

static bool step_arrives(const struct qoi_step *step)
{
	return step->kind == QOI_STEP_GET || step->kind == QOI_STEP_REDUCE;
}

static bool step_reads(const struct qoi_step *step)
{
	return !step_arrives(step);
}

static bool step_combines(const struct qoi_step *step)
{
	return step->kind == QOI_STEP_REDUCE || step->kind == QOI_STEP_FOLD;
}

static bool range_fits(const struct qoi_schedule *schedule, uint8_t buffer,
		       uint64_t offset, uint64_t bytes)
{
	uint64_t end;

	return buffer < QOI_BUFFER_COUNT &&
	       !__builtin_add_overflow(offset, bytes, &end) &&
	       end <= schedule->buffer_bytes[buffer];
}

/* Both ranges fit, so the sums are in range. */
static bool step_overlaps_itself(const struct qoi_step *step)
{
	return step->from == step->to && step->bytes != 0 &&
	       step->from_offset < step->to_offset + step->bytes &&
	       step->to_offset < step->from_offset + step->bytes;
}

static const char *peer_fault(const struct qoi_schedule *schedule,
			      const struct qoi_step *step)
{
	bool remote = step_sends(step) || step_arrives(step);

	if (remote && step->peer >= schedule->count)
		return "peer outside the team";
	if (remote && step->peer == schedule->rank)
		return "message to oneself";
	if (!remote && step->peer != schedule->rank)
		return "local step with a peer";
	return NULL;
}

static const char *range_fault(const struct qoi_schedule *schedule,
			       const struct qoi_step *step)
{
	if (step_reads(step) &&
	    !range_fits(schedule, step->from, step->from_offset, step->bytes))
		return "source outside its buffer";
	if (step_sends(step))
		return NULL;
	if (step->to == QOI_BUFFER_SEND)
		return "the send buffer is read only";
	if (!range_fits(schedule, step->to, step->to_offset, step->bytes))
		return "destination outside its buffer";
	if (step_reads(step) && step_overlaps_itself(step))
		return "source and destination overlap";
	return NULL;
}

static const char *element_fault(const struct qoi_schedule *schedule,
				 const struct qoi_step *step)
{
	const uint64_t unit = qoi_type_bytes(schedule->type);

	if (!step_combines(step))
		return NULL;
	if (!qoi_reduce_fits(schedule->type, schedule->reduce))
		return "type and reduction do not fit";
	if (step->bytes % unit != 0 || step->to_offset % unit != 0 ||
	    (step_reads(step) && step->from_offset % unit != 0))
		return "cuts through an element";
	return NULL;
}

static const char *step_fault(const struct qoi_schedule *schedule,
			      uint32_t index)
{
	const struct qoi_step *step = &schedule->steps[index];
	const uint64_t previous =
		index == 0 ? 0 : schedule->steps[index - 1].stage;
	const char *fault;

	if (step->kind > QOI_STEP_FOLD)
		return "unknown kind of step";
	if (step->stage >= schedule->stage_count)
		return "stage beyond the last";
	if (step->stage < previous)
		return "stage before the one of the step before";
	if (step->stage > (index == 0 ? 0 : previous + 1))
		return "stage without steps";
	fault = peer_fault(schedule, step);
	if (fault == NULL)
		fault = range_fault(schedule, step);
	if (fault == NULL)
		fault = element_fault(schedule, step);
	return fault;
}

static int key_compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The steps [first, end) are one stage; keys has room for them. */
static int validate_stage(const struct qoi_schedule *schedule, uint32_t first,
			  uint32_t end, uint64_t *keys)
{
	size_t count = 0;

	for (uint32_t i = first; i < end; i++) {
		const struct qoi_step *step = &schedule->steps[i];

		if (step_sends(step) || step_arrives(step))
			keys[count++] =
				2 * (uint64_t)step->peer + step_arrives(step);
	}
	qsort(keys, count, sizeof(*keys), key_compare);
	for (size_t i = 1; i < count; i++)
		if (keys[i] == keys[i - 1])
			return qoi_fail(-EINVAL,
					"schedule: two messages %s rank %u in "
					"stage %u",
					keys[i] % 2 != 0 ? "from" : "to",
					(uint32_t)(keys[i] / 2),
					schedule->steps[first].stage);
	return 0;
}

static int validate_messages(const struct qoi_schedule *schedule)
{
	const uint32_t count = schedule->step_count;
	uint64_t *keys = calloc(count, sizeof(*keys));
	uint32_t first = 0;
	int error = 0;

	if (keys == NULL)
		return qoi_fail(-ENOMEM, "no memory to check %u steps", count);
	while (error == 0 && first < count) {
		uint32_t end = first + 1;

		while (end < count && schedule->steps[end].stage ==
					      schedule->steps[first].stage)
			end++;
		error = validate_stage(schedule, first, end, keys);
		first = end;
	}
	free(keys);
	return error;
}

static const char *head_fault(const struct qoi_schedule *schedule)
{
	const uint32_t steps = schedule->step_count;

	if (schedule->count == 0 || schedule->rank >= schedule->count)
		return "rank outside the team";
	if (schedule->buffer_bytes[QOI_BUFFER_SCRATCH] != schedule->scratch_bytes)
		return "two sizes for the scratch buffer";
	if (steps == 0)
		return schedule->stage_count == 0 ? NULL
						  : "stages without steps";
	if (schedule->steps == NULL)
		return "no steps";
	if (schedule->steps[steps - 1].stage + UINT64_C(1) !=
	    schedule->stage_count)
		return "stage count is not that of the steps";
	return NULL;
}

int qoi_schedule_validate(const struct qoi_schedule *schedule)
{
	const char *fault = head_fault(schedule);

	if (fault != NULL)
		return qoi_fail(-EINVAL, "schedule: %s", fault);
	for (uint32_t i = 0; i < schedule->step_count; i++) {
		fault = step_fault(schedule, i);
		if (fault != NULL)
			return qoi_fail(-EINVAL, "schedule: step %u: %s", i,
					fault);
	}
	if (schedule->step_count == 0)
		return 0;
	return validate_messages(schedule);
}
