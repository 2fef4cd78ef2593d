/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "libqoffload/base/error.h"
#include "libqoffload/coll/build.h"

/* A team of one: its own data, from where they are to where they belong. */
static void schedule_build_alone(struct qoi_build *build)
{
	const struct qoi_coll *coll = build->coll;

	if (coll->in_place == 0 && coll->kind != QOI_BCAST &&
	    coll->kind != QOI_BARRIER)
		qoi_build_copy(build, qoi_coll_outgoing(coll, 0),
			       qoi_coll_incoming(coll, 0));
}

int qoi_schedule_compile(const struct qoi_coll *coll, const char *algorithm,
			 const struct qoi_coll_limits *limits,
			 struct qoi_schedule **schedule_out)
{
	uint64_t buffer_bytes[QOI_BUFFER_COUNT];
	struct qoi_build build = { .coll = coll };
	int error = qoi_coll_check(coll, buffer_bytes);

	if (error != 0)
		return error;
	algorithm = qoi_coll_choose(coll, algorithm, limits);
	if (algorithm == NULL)
		return -EINVAL;
	build.schedule = calloc(1, sizeof(*build.schedule));
	if (build.schedule == NULL)
		return qoi_fail(-ENOMEM, "no memory for a schedule");
	build.schedule->rank = coll->rank;
	build.schedule->count = coll->count;
	build.schedule->type = coll->type;
	build.schedule->reduce = coll->kind == QOI_ALLREDUCE ? coll->reduce : 0;
	build.schedule->algorithm = algorithm;
	for (int i = 0; i < QOI_BUFFER_COUNT; i++)
		build.schedule->buffer_bytes[i] = buffer_bytes[i];
	if (coll->count == 1)
		schedule_build_alone(&build);
	else
		qoi_coll_build(&build, algorithm);
	if (build.error != 0) {
		qoi_schedule_destroy(build.schedule);
		return build.error;
	}
	*schedule_out = build.schedule;
	return 0;
}

void qoi_schedule_destroy(struct qoi_schedule *schedule)
{
	if (schedule == NULL)
		return;
	free(schedule->steps);
	free(schedule);
}

static int is_within_rank(const struct qoi_step *step)
{
	return step->kind == QOI_STEP_COPY || step->kind == QOI_STEP_FOLD;
}

uint32_t qoi_schedule_own_copies(const struct qoi_schedule *schedule,
				 uint64_t *bytes_out)
{
	uint64_t bytes = 0;
	uint32_t count = 0;

	for (uint32_t i = 0; i < schedule->step_count; i++) {
		const struct qoi_step *step = &schedule->steps[i];

		if (!is_within_rank(step))
			continue;
		if (schedule->stage_count != 1 || step->kind == QOI_STEP_FOLD ||
		    step->from != QOI_BUFFER_SEND ||
		    step->to != QOI_BUFFER_RECV) {
			bytes = 0;
			count = 0;
			break;
		}
		bytes += step->bytes;
		count++;
	}
	if (bytes_out != NULL)
		*bytes_out = bytes;
	return count;
}
