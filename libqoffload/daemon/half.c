/* SPDX-License-Identifier: BSD-3-Clause */
/* One rank's part of an operation: from its description to its end. */
#include "libqoffload/daemon/half.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libqoffload/base/error.h"
#include "libqoffload/base/fail_point.h"
#include "libqoffload/daemon/group.h"
#include "libqoffload/shm/room.h"

/* Slots of the table of halves, at first. */
#define HALVES_ROOM 16

static int slot_find(struct qoi_session *session, uint32_t *slot_out)
{
	uint32_t room = session->half_room;
	struct qoi_half **halves;

	for (uint32_t i = 0; i < room; i++) {
		/* Near the last one taken, to find one soon. */
		uint32_t slot = (session->half_next + i) % room;

		if (session->halves[slot] != NULL)
			continue;
		session->half_next = slot + 1;
		*slot_out = slot;
		return 0;
	}
	if (room >= QOI_HALVES_MAX)
		return qoi_fail(-EAGAIN, "%u operations are open: destroy some",
				room);
	room = room == 0 ? HALVES_ROOM : 2 * room;
	halves = realloc(session->halves, room * sizeof(struct qoi_half *));
	if (halves == NULL)
		return qoi_fail(-ENOMEM, "no memory for %u operations", room);
	memset(halves + session->half_room, 0,
	       (room - session->half_room) * sizeof(struct qoi_half *));
	*slot_out = session->half_room;
	session->halves = halves;
	session->half_next = session->half_room + 1;
	session->half_room = room;
	return 0;
}

static int ask_check(const struct qoi_session *session,
		     const struct qoi_layout_attach_op *ask)
{
	if (ask->count == 0 || ask->count > QOI_RANKS_MAX ||
	    ask->rank >= ask->count)
		return qoi_fail(-EINVAL, "rank %u of %u ranks", ask->rank,
				ask->count);
	if (ask->completion >= session->offer.completion_count)
		return qoi_fail(-EINVAL, "completion slot %u of %u",
				ask->completion,
				session->offer.completion_count);
	if (ask->scratch_bytes > QOI_SCRATCH_MAX)
		return qoi_fail(-EINVAL, "%llu bytes of scratch, at most %llu",
				(unsigned long long)ask->scratch_bytes,
				(unsigned long long)QOI_SCRATCH_MAX);
	return 0;
}

static int buffer_region(struct qoi_half *half,
			 const struct qoi_layout_attach_op *ask, uint32_t buffer)
{
	struct qoi_session *session = half->session;
	uint8_t *base = qoi_region_at(session, ask->buffer_region[buffer],
				      ask->buffer_offset[buffer],
				      ask->buffer_bytes[buffer]);

	if (base == NULL)
		return qoi_fail(-EINVAL,
				"a buffer of %llu bytes at %llu is not inside "
				"region %u",
				(unsigned long long)ask->buffer_bytes[buffer],
				(unsigned long long)ask->buffer_offset[buffer],
				ask->buffer_region[buffer]);
	half->regions[buffer] =
		qoi_region_get(session, ask->buffer_region[buffer]);
	half->exec.buffers[buffer] = base;
	return 0;
}

static int buffer_address(struct qoi_half *half,
			  const struct qoi_layout_attach_op *ask,
			  uint32_t buffer)
{
	struct qoi_session *session = half->session;
	uint32_t needed = QOI_REACH_READ;
	uint64_t end;

	if (buffer == QOI_BUFFER_RECV)
		needed |= QOI_REACH_WRITE;
	if ((session->reach & needed) != needed)
		return qoi_fail(-EPERM,
				"the memory of process %d can't be "
				"reached from here",
				(int)session->far.pid);
	if (__builtin_add_overflow(ask->buffer_offset[buffer],
				   ask->buffer_bytes[buffer], &end))
		return qoi_fail(-EINVAL, "a buffer beyond 64 bits");
	half->exec.reach[buffer].far = &session->far;
	half->exec.reach[buffer].address = ask->buffer_offset[buffer];
	return 0;
}

/* After qoi_exec_init(), which clears it. */
static int buffers_set(struct qoi_half *half,
		       const struct qoi_layout_attach_op *ask)
{
	int error = 0;

	half->exec.spare = half->session->daemon->bounce;
	for (uint32_t i = QOI_BUFFER_SEND; error == 0 && i <= QOI_BUFFER_RECV;
	     i++) {
		switch (ask->buffer_kind[i]) {
		case QOI_BUFFER_NONE:
			if (ask->buffer_bytes[i] != 0)
				error = qoi_fail(-EINVAL,
						 "bytes without a buffer");
			break;
		case QOI_BUFFER_REGION:
			error = buffer_region(half, ask, i);
			break;
		case QOI_BUFFER_ADDRESS:
			error = buffer_address(half, ask, i);
			break;
		default:
			error = qoi_fail(-EINVAL, "unknown kind of buffer %u",
					 ask->buffer_kind[i]);
			break;
		}
	}
	return error;
}

/* Takes the steps over in any case. */
static int schedule_make(struct qoi_half *half,
			 const struct qoi_layout_attach_op *ask,
			 struct qoi_step *steps)
{
	struct qoi_schedule *schedule = calloc(1, sizeof(*schedule));

	if (schedule == NULL) {
		free(steps);
		return qoi_fail(-ENOMEM, "no memory for a schedule");
	}
	half->schedule = schedule;
	schedule->rank = ask->rank;
	schedule->count = ask->count;
	schedule->type = (int32_t)ask->type;
	schedule->reduce = (int32_t)ask->reduce;
	schedule->stage_count = ask->stage_count;
	schedule->step_count = ask->step_count;
	schedule->scratch_bytes = ask->scratch_bytes;
	schedule->buffer_bytes[QOI_BUFFER_SEND] = ask->buffer_bytes[0];
	schedule->buffer_bytes[QOI_BUFFER_RECV] = ask->buffer_bytes[1];
	schedule->buffer_bytes[QOI_BUFFER_SCRATCH] = ask->scratch_bytes;
	schedule->algorithm = "client";
	schedule->steps = steps;
	for (uint32_t i = 0; i < ask->step_count; i++)
		half->bulk |= steps[i].bytes >= QOI_EAGER_BYTES;
	return qoi_schedule_validate(schedule);
}

static void half_free(struct qoi_half *half)
{
	for (uint32_t i = 0; i < QOI_BUFFER_COUNT; i++) {
		if (half->regions[i] != NULL)
			qoi_region_put(half->session->daemon, half->regions[i]);
	}
	for (uint32_t rank = 0;
	     half->channels != NULL && rank < half->schedule->count; rank++) {
		if (half->channels[rank] == NULL)
			continue;
		qoi_channel_fini(half->channels[rank]);
		free(half->channels[rank]);
	}
	qoi_exec_fini(&half->exec);
	qoi_schedule_destroy(half->schedule);
	half->session->half_bytes -= half->memory_bytes;
	half->session->daemon->half_bytes -= half->memory_bytes;
	free(half->channels);
	free(half);
}

/*
 * What an operation may take of the daemon's memory: told by its description,
 * whether it is touched or not.
 */
static uint64_t memory_needed(const struct qoi_layout_attach_op *ask,
			      const struct qoi_step *steps)
{
	uint64_t bytes =
		sizeof(struct qoi_half) + ask->scratch_bytes +
		QOI_BOUNCE_BYTES + ask->count * (uint64_t)sizeof(void *) +
		ask->step_count * (uint64_t)(sizeof(struct qoi_step) +
					     sizeof(struct qoi_step_state));

	for (uint32_t i = 0; i < ask->step_count; i++) {
		if (steps[i].kind > QOI_STEP_REDUCE)
			continue;
		bytes += sizeof(struct qoi_channel) + QOI_CREDIT_BYTES;
		if (steps[i].bytes < QOI_EAGER_BYTES)
			bytes += QOI_RING_SLOTS *
				 (steps[i].bytes + QOI_SLOT_HEADER_BYTES + 63);
	}
	return bytes;
}

/* Half of what is free now is for what may come; the rest is the clients'. */
static void memory_look(struct qoi_daemon *daemon)
{
	struct qoi_room room;

	qoi_room_find("/proc", "/sys/fs/cgroup", &room);
	daemon->half_bytes_max = daemon->half_bytes + room.available_bytes / 2;
}

static int memory_fits(const struct qoi_session *session, uint64_t bytes)
{
	const struct qoi_daemon *daemon = session->daemon;
	uint64_t limit = daemon->half_bytes_max;

	return bytes <= limit && daemon->half_bytes <= limit - bytes &&
	       session->half_bytes + bytes <= limit / 2;
}

/* No client may take all, and all together not more than there is. */
static int memory_take(struct qoi_half *half,
		       const struct qoi_layout_attach_op *ask,
		       const struct qoi_step *steps)
{
	struct qoi_session *session = half->session;
	struct qoi_daemon *daemon = session->daemon;
	uint64_t bytes = memory_needed(ask, steps);
	uint64_t limit;

	if (!memory_fits(session, bytes))
		memory_look(daemon);
	limit = daemon->half_bytes_max;
	if (!memory_fits(session, bytes))
		return qoi_fail(
			-ENOMEM,
			"operations of this client would take %llu MiB "
			"of the daemon, which has %llu MiB for one and "
			"%llu MiB for all: destroy some",
			(unsigned long long)(session->half_bytes + bytes) >> 20,
			(unsigned long long)(limit / 2) >> 20,
			(unsigned long long)limit >> 20);
	half->memory_bytes = bytes;
	session->half_bytes += bytes;
	daemon->half_bytes += bytes;
	return 0;
}

/* All that this rank's part needs, but its place among the others. */
static int half_make(struct qoi_half *half,
		     const struct qoi_layout_attach_op *ask,
		     struct qoi_step *steps)
{
	int error = memory_take(half, ask, steps);

	if (error != 0) {
		free(steps);
		return error;
	}
	error = schedule_make(half, ask, steps);
	if (error != 0)
		return error;
	half->channels = calloc(ask->count, sizeof(struct qoi_channel *));
	if (half->channels == NULL)
		return qoi_fail(-ENOMEM, "no memory for %u channels",
				ask->count);
	error = qoi_exec_init(&half->exec, half->schedule, half->channels, NULL);
	if (error != 0)
		return error;
	error = buffers_set(half, ask);
	if (error == 0)
		error = qoi_group_join(half, ask);
	if (error != 0)
		return error;
	half->exec.conns = half->group->conn_pointers;
	half->local = qoi_schedule_own_copies(half->schedule, NULL);
	return 0;
}

int qoi_half_add(struct qoi_session *session,
		 const struct qoi_layout_attach_op *ask, struct qoi_step *steps,
		 uint64_t *slot_out)
{
	struct qoi_half *half;
	int error = ask_check(session, ask);

	if (error != 0)
		goto err_free_steps;
	half = aligned_alloc(128, (sizeof(*half) + 127) & ~(size_t)127);
	if (half == NULL) {
		error = qoi_fail(-ENOMEM, "no memory for an operation");
		goto err_free_steps;
	}
	memset(half, 0, sizeof(*half));
	half->session = session;
	half->rank = ask->rank;
	half->completion = ask->completion;
	error = half_make(half, ask, steps);
	if (error == 0)
		error = qoi_group_tie(half->group);
	if (error == 0)
		error = slot_find(session, &half->slot);
	if (error != 0) {
		qoi_group_leave(half, -EPIPE);
		half_free(half);
		return error;
	}
	session->halves[half->slot] = half;
	session->half_count++;
	*slot_out = half->slot;
	QOI_FAIL_POINT("half_added");
	return 0;

err_free_steps:
	free(steps);
	return error;
}

/* What is under way of it ends here; peers are told. */
static void half_end(struct qoi_half *half, int fate)
{
	struct qoi_session *session = half->session;
	struct qoi_group *group = half->group;
	uint32_t count = group->count;

	if (half->pending) {
		half->exec.error_rank = half->rank;
		qoi_exec_give_up(&half->exec, fate);
		half->pending = 0;
		session->pending--;
		session->daemon->pending--;
		/* Nobody is told any more, but the counts must agree. */
		session->counts.failures++;
		session->daemon->counts.failures++;
	}
	qoi_half_rest(half);
	session->halves[half->slot] = NULL;
	session->half_count--;
	/* One more, so that the last to leave does not free it under us. */
	group->present++;
	qoi_group_leave(half, fate);
	for (uint32_t rank = 0; rank < count; rank++) {
		if (group->halves[rank] != NULL)
			qoi_half_peer_gone(group->halves[rank]);
	}
	if (--group->present == 0)
		qoi_group_free(group);
	half_free(half);
}

int qoi_half_drop(struct qoi_session *session, uint32_t slot)
{
	if (slot >= session->half_room || session->halves[slot] == NULL)
		return qoi_fail(-EBADF, "no operation in slot %u", slot);
	half_end(session->halves[slot], -EPIPE);
	return 0;
}

uint32_t qoi_halves_drop_all(struct qoi_session *session, int fate)
{
	uint32_t left = (uint32_t)session->pending;

	for (uint32_t slot = 0; slot < session->half_room; slot++) {
		if (session->halves[slot] != NULL)
			half_end(session->halves[slot], fate);
	}
	free(session->halves);
	session->halves = NULL;
	session->half_room = 0;
	return left;
}
