/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "coll_sim.h"

struct sim_total sim_total;

uint64_t sim_random(uint64_t *state)
{
	/* splitmix64 */
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static const char *name_or(const char *name, const char *other)
{
	return name != NULL ? name : other;
}

void sim_fail(const struct sim *sim, const char *fmt, ...)
{
	const struct sim_case *is = &sim->is;
	char text[300];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	print_error("%s %s ranks %u root %u type %s reduce %s in_place %d "
		    "elements %ju %s: %s\n",
		    qoi_coll_kind_name(is->kind), name_or(is->algorithm, "auto"),
		    is->count, is->root, name_or(qoi_type_name(is->type), "-"),
		    name_or(qoi_reduce_name(is->reduce), "-"), is->in_place,
		    (uintmax_t)is->elements,
		    sim->synchronous ? "synchronous" : "buffered", text);
	fail();
	abort();
}

static bool step_is_local(const struct qoi_step *step)
{
	return step->kind == QOI_STEP_COPY || step->kind == QOI_STEP_FOLD;
}

static bool step_arrives(const struct qoi_step *step)
{
	return step->kind == QOI_STEP_GET || step->kind == QOI_STEP_REDUCE;
}

static bool overlap(uint8_t buffer_a, uint64_t offset_a, uint64_t bytes_a,
		    uint8_t buffer_b, uint64_t offset_b, uint64_t bytes_b)
{
	return buffer_a == buffer_b && bytes_a != 0 && bytes_b != 0 &&
	       offset_a < offset_b + bytes_b && offset_b < offset_a + bytes_a;
}

/* Does `writer` write what `other` reads or writes? */
static bool collide(const struct qoi_step *writer, const struct qoi_step *other)
{
	if (writer->kind == QOI_STEP_PUT)
		return false;
	if (!step_arrives(other) &&
	    overlap(writer->to, writer->to_offset, writer->bytes, other->from,
		    other->from_offset, other->bytes))
		return true;
	return other->kind != QOI_STEP_PUT &&
	       overlap(writer->to, writer->to_offset, writer->bytes, other->to,
		       other->to_offset, other->bytes);
}

static void check_hazards(const struct sim *sim,
			  const struct qoi_schedule *schedule)
{
	for (uint32_t i = 0; i < schedule->step_count; i++)
		for (uint32_t j = i + 1; j < schedule->step_count; j++) {
			const struct qoi_step *a = &schedule->steps[i];
			const struct qoi_step *b = &schedule->steps[j];

			if (a->stage != b->stage)
				break;
			if (collide(a, b) || collide(b, a))
				sim_fail(sim, "rank %u steps %u and %u collide",
					 schedule->rank, i, j);
		}
}

/* The next step at or after *index that sends to, or hears from, peer. */
static const struct qoi_step *next_message(const struct qoi_schedule *schedule,
					   uint32_t *index, uint32_t peer,
					   bool arrives)
{
	while (*index < schedule->step_count) {
		const struct qoi_step *step = &schedule->steps[(*index)++];

		if (!step_is_local(step) && step->peer == peer &&
		    step_arrives(step) == arrives)
			return step;
	}
	return NULL;
}

static void check_pair(const struct sim *sim, uint32_t from, uint32_t to)
{
	const struct qoi_schedule *sender = sim->ranks[from].schedule;
	const struct qoi_schedule *receiver = sim->ranks[to].schedule;
	uint32_t i = 0, j = 0;
	const struct qoi_step *put, *arrival;

	do {
		put = next_message(sender, &i, to, false);
		arrival = next_message(receiver, &j, from, true);
		if ((put == NULL) != (arrival == NULL))
			sim_fail(sim, "%u to %u: unequal messages", from, to);
		if (put != NULL && put->bytes != arrival->bytes)
			sim_fail(sim, "%u to %u: sends %ju, expects %ju", from,
				 to, (uintmax_t)put->bytes,
				 (uintmax_t)arrival->bytes);
	} while (put != NULL);
}

void sim_check(const struct sim *sim)
{
	for (uint32_t i = 0; i < sim->is.count; i++) {
		const struct qoi_schedule *schedule = sim->ranks[i].schedule;

		if (qoi_schedule_validate(schedule) != 0)
			sim_fail(sim, "rank %u is not valid", i);
		check_hazards(sim, schedule);
		for (uint32_t j = 0; j < sim->is.count; j++)
			if (i != j)
				check_pair(sim, i, j);
		sim_total.steps += schedule->step_count;
	}
}

/* Takes up the next stage, if there is one. */
static void rank_next_stage(struct sim *sim, struct sim_rank *rank)
{
	const struct qoi_schedule *schedule = rank->schedule;

	rank->pending_count = 0;
	while (rank->next < schedule->step_count &&
	       (rank->pending_count == 0 ||
		schedule->steps[rank->next].stage ==
			schedule->steps[rank->pending[0]].stage)) {
		if (rank->pending_count == SIM_STEPS_MAX)
			sim_fail(sim, "SIM_STEPS_MAX is too small");
		rank->pending[rank->pending_count++] = rank->next++;
	}
	if (rank->pending_count != 0)
		return;
	for (uint32_t i = 0; i < sim->is.count; i++)
		if (!sim->ranks[i].started)
			sim->left_early = true;
}

static void rank_complete(struct sim *sim, struct sim_rank *rank,
			  uint32_t pending)
{
	rank->pending[pending] = rank->pending[--rank->pending_count];
	if (rank->pending_count == 0)
		rank_next_stage(sim, rank);
}

static void send_message(struct sim *sim, const struct sim_rank *rank,
			 const struct qoi_step *step)
{
	struct sim_message **end = &sim->first[rank->coll.rank][step->peer];
	struct sim_message *message = malloc(sizeof(*message) + step->bytes);

	assert_non_null(message);
	while (*end != NULL)
		end = &(*end)->next;
	message->next = NULL;
	message->bytes = step->bytes;
	if (step->bytes != 0)
		memcpy(message->data,
		       rank->buffers[step->from] + step->from_offset,
		       step->bytes);
	*end = message;
}

static void step_combine(const struct qoi_schedule *schedule, uint8_t *to,
			 const uint8_t *from, const struct qoi_step *step)
{
	if (step->bytes == 0)
		return;
	if (step->kind == QOI_STEP_GET || step->kind == QOI_STEP_COPY)
		memcpy(to, from, step->bytes);
	else
		qoi_reduce_apply(schedule->type, schedule->reduce, to, from,
				 step->bytes / qoi_type_bytes(schedule->type));
}

/* Takes the peer's put straight out of its buffer, if it is at that step. */
static bool take_synchronous(struct sim *sim, struct sim_rank *rank,
			     const struct qoi_step *step)
{
	struct sim_rank *peer = &sim->ranks[step->peer];

	for (uint32_t i = 0; i < peer->pending_count; i++) {
		const struct qoi_step *put =
			&peer->schedule->steps[peer->pending[i]];

		if (put->kind != QOI_STEP_PUT || put->peer != rank->coll.rank)
			continue;
		step_combine(rank->schedule,
			     rank->buffers[step->to] + step->to_offset,
			     peer->buffers[put->from] + put->from_offset, step);
		rank_complete(sim, peer, i);
		return true;
	}
	return false;
}

static bool take_buffered(struct sim *sim, struct sim_rank *rank,
			  const struct qoi_step *step)
{
	struct sim_message **first = &sim->first[step->peer][rank->coll.rank];
	struct sim_message *message = *first;

	if (message == NULL)
		return false;
	step_combine(rank->schedule, rank->buffers[step->to] + step->to_offset,
		     message->data, step);
	*first = message->next;
	free(message);
	return true;
}

static bool step_try(struct sim *sim, struct sim_rank *rank,
		     const struct qoi_step *step)
{
	if (step_is_local(step)) {
		step_combine(rank->schedule,
			     rank->buffers[step->to] + step->to_offset,
			     rank->buffers[step->from] + step->from_offset,
			     step);
		return true;
	}
	if (step_arrives(step))
		return sim->synchronous ? take_synchronous(sim, rank, step)
					: take_buffered(sim, rank, step);
	if (sim->synchronous)
		return false; /* the receiver takes it */
	send_message(sim, rank, step);
	return true;
}

/* One step of the rank, any that can be done, or its start. */
static bool rank_advance(struct sim *sim, struct sim_rank *rank)
{
	const uint32_t count = rank->pending_count;
	uint32_t first;

	if (!rank->started) {
		rank->started = true;
		rank_next_stage(sim, rank);
		return true;
	}
	if (count == 0)
		return false;
	first = (uint32_t)(sim_random(&sim->random) % count);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t pending = (first + i) % count;
		const struct qoi_step *step =
			&rank->schedule->steps[rank->pending[pending]];

		if (step_try(sim, rank, step)) {
			rank_complete(sim, rank, pending);
			return true;
		}
	}
	return false;
}

static bool sim_ended(const struct sim *sim)
{
	for (uint32_t i = 0; i < sim->is.count; i++)
		if (!sim->ranks[i].started || sim->ranks[i].pending_count != 0)
			return false;
	return true;
}

void sim_run(struct sim *sim)
{
	const uint32_t count = sim->is.count;
	uint32_t current = 0;

	for (;;) {
		bool moved = false;

		/* Mostly the same rank again, so that some run far ahead. */
		if (sim_random(&sim->random) % 8 == 0)
			current = (uint32_t)(sim_random(&sim->random) % count);
		for (uint32_t i = 0; i < count && !moved; i++) {
			moved = rank_advance(sim, &sim->ranks[current]);
			if (!moved)
				current = (current + 1) % count;
		}
		if (!moved)
			break;
	}
	if (!sim_ended(sim))
		sim_fail(sim, "deadlock");
}
