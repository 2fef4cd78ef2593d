/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/conformance/suite.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int qoc_join(struct qot_rank *rank, const char *const *extra,
	     qo_context_t *context_out, qo_team_t *team_out)
{
	const struct qoc_env *env = qoc_env(rank);
	const char *settings[2 * QOC_SETTINGS_MAX + 1];
	uint32_t count = 0;
	int error;

	for (uint32_t i = 0; env->settings[i] != NULL; i++)
		settings[count++] = env->settings[i];
	/* The last one for a name counts. */
	for (uint32_t i = 0; extra != NULL && extra[i] != NULL; i++)
		settings[count++] = extra[i];
	settings[count] = NULL;
	error = qot_join(rank, settings, context_out, team_out);
	if (error != 0)
		fprintf(stderr, "rank %u: join: %s (%s)\n", rank->rank,
			qo_error_string(error), qo_error_detail());
	return error;
}

int qoc_leave(struct qot_rank *rank, qo_context_t context, qo_team_t team)
{
	int error = qo_team_destroy(team);

	if (error == 0)
		error = qo_fini(context);
	if (error != 0)
		fprintf(stderr, "rank %u: leave: %s (%s)\n", rank->rank,
			qo_error_string(error), qo_error_detail());
	return error != 0;
}

const char *qoc_setting(const struct qot_rank *rank, const char *name)
{
	const char *const *settings = qoc_env(rank)->settings;
	size_t length = strlen(name);

	for (; *settings != NULL; settings++) {
		if (strncmp(*settings, name, length) == 0 &&
		    (*settings)[length] == '=')
			return *settings + length + 1;
	}
	return NULL;
}

int qoc_room_take(struct qot_rank *rank, qo_context_t context, size_t bytes,
		  struct qoc_room *room)
{
	size_t rounded = (bytes + 63) & ~(size_t)63;

	room->mem = NULL;
	if (qoc_env(rank)->alloc) {
		QOT_CHECK(rank, qo_mem_alloc(context, bytes, &room->address,
					     &room->mem) == 0);
		return 0;
	}
	room->address = aligned_alloc(64, rounded);
	QOT_CHECK(rank, room->address != NULL);
	memset(room->address, 0, rounded);
	return 0;
}

void qoc_room_free(struct qoc_room *room)
{
	if (room->mem != NULL)
		qo_mem_release(room->mem);
	else
		free(room->address);
	room->address = NULL;
}

int64_t qoc_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int64_t qoc_in_ms(int64_t ms)
{
	return qoc_now() + ms * 1000000;
}

void qoc_sleep_ms(int64_t ms)
{
	int64_t until = qoc_in_ms(ms);
	struct timespec deadline = { until / 1000000000, until % 1000000000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline,
			       NULL) == EINTR)
		;
}

int qoc_wait_done(qo_request_t request, int64_t deadline_ns)
{
	struct qo_status status = { 0 };
	char text[128] = "";
	int error = qo_wait(request, deadline_ns, &status);

	if (error == 0 && status.state == QO_DONE && status.error == 0)
		return 0;
	if (error == 0)
		qo_status_describe(&status, text, sizeof(text));
	fprintf(stderr, "wait: %s %s\n", qo_error_string(error), text);
	return 1;
}

int qoc_mesh_destroy(struct qot_rank *rank, qo_context_t context, qo_mesh_t mesh)
{
	int64_t deadline = qoc_in_ms(15000);
	int error;

	while ((error = qo_mesh_destroy(mesh)) == -EBUSY) {
		QOT_CHECK(rank, qoc_now() < deadline);
		qo_progress(context);
		sched_yield();
	}
	QOT_CHECK(rank, error == 0);
	return 0;
}
