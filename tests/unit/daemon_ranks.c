/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/daemon_ranks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "libqoffload/shm/completion.h"

struct qoi_daemon the_daemon;
struct client clients[RANKS];

static void client_open(struct client *client, uint32_t number)
{
	struct qoi_session *session = &client->session;
	struct qoi_layout_attach_offer offer = { .lane_count = 1,
						 .lane_slots = 16,
						 .completion_count = 64 };
	uint8_t *base;

	memset(client, 0, sizeof(*client));
	session->daemon = &the_daemon;
	session->state = QOI_SESSION_LIVE;
	session->number = number;
	session->far.pid = getpid();
	session->far.pid_fd = -1;
	session->far.socket = -1;
	session->reach = QOI_REACH_READ | QOI_REACH_WRITE;
	session->offer = offer;
	assert_int_equal(qoi_attach_places(&offer, &session->places), 0);
	base = aligned_alloc(4096, session->places.bytes);
	memset(base, 0, session->places.bytes);
	qoi_attach_format(&session->places, &offer, base);
	session->segment.base = base;
	session->bell = (struct qoi_bell *)(void *)(base + session->places.bell);
	qoi_consumer_init(&session->lanes[0], &session->places.lane_shape,
			  qoi_attach_lane_slots(&session->places, base, 0),
			  qoi_attach_lane_credit(&session->places, base, 0), 0,
			  4);
	qoi_producer_init(&client->lane, &session->places.lane_shape,
			  qoi_attach_lane_slots(&session->places, base, 0),
			  qoi_attach_lane_credit(&session->places, base, 0), 0);
	client->memory = calloc(1, REGION_BYTES);
	client->region.segment.base = client->memory;
	client->region.segment.bytes = REGION_BYTES;
	client->region.refs = 1;
	client->regions[0] = &client->region;
	session->regions = client->regions;
	session->region_room = 1;
	session->region_count = 1;
}

static void client_close(struct client *client)
{
	qoi_halves_drop_all(&client->session, -EPIPE);
	assert_int_equal(client->region.refs, 1);
	free(client->session.segment.base);
	free(client->memory);
}

int ranks_setup(void **state)
{
	(void)state;
	memset(&the_daemon, 0, sizeof(the_daemon));
	the_daemon.bounce = aligned_alloc(64, 2 * QOI_BOUNCE_BYTES);
	for (uint32_t i = 0; i < RANKS; i++)
		client_open(&clients[i], i);
	return 0;
}

int ranks_teardown(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < RANKS; i++)
		client_close(&clients[i]);
	assert_int_equal(the_daemon.group_count, 0);
	assert_int_equal(the_daemon.half_bytes, 0);
	assert_int_equal(the_daemon.pending, 0);
	free(the_daemon.bounce);
	return 0;
}

void ask_fill(struct qoi_layout_attach_op *ask,
	      const struct qoi_schedule *schedule, const struct client *client,
	      uint32_t sequence, int mapped)
{
	memset(ask, 0, sizeof(*ask));
	ask->team = 77;
	ask->sequence = sequence;
	ask->rank = schedule->rank;
	ask->count = schedule->count;
	ask->completion = 5 + schedule->rank;
	ask->type = (uint32_t)schedule->type;
	ask->reduce = (uint32_t)schedule->reduce;
	ask->stage_count = schedule->stage_count;
	ask->step_count = schedule->step_count;
	ask->scratch_bytes = schedule->scratch_bytes;
	for (uint32_t i = 0; i < 2; i++) {
		uint64_t at = i * RECV_AT;

		ask->buffer_bytes[i] = schedule->buffer_bytes[i];
		ask->buffer_kind[i] = QOI_BUFFER_NONE;
		if (schedule->buffer_bytes[i] == 0)
			continue;
		ask->buffer_kind[i] =
			mapped ? QOI_BUFFER_REGION : QOI_BUFFER_ADDRESS;
		ask->buffer_offset[i] =
			mapped ? at : (uint64_t)(uintptr_t)(client->memory + at);
	}
}

struct qoi_step *steps_copy(const struct qoi_schedule *schedule)
{
	size_t bytes = schedule->step_count * sizeof(struct qoi_step);
	struct qoi_step *steps = malloc(bytes + 1);

	if (bytes != 0)
		memcpy(steps, schedule->steps, bytes);
	return steps;
}

/* mapped: bit i: the buffers of rank i lie in its region. */
void ops_add(struct qoi_coll coll, const char *algorithm, uint32_t count,
	     uint32_t sequence, uint32_t mapped)
{
	coll.count = count;
	for (uint32_t rank = 0; rank < count; rank++) {
		struct qoi_schedule *schedule;
		struct qoi_layout_attach_op ask;

		coll.rank = rank;
		assert_int_equal(qoi_schedule_compile(&coll, algorithm, NULL,
						      &schedule),
				 0);
		ask_fill(&ask, schedule, &clients[rank], sequence,
			 (mapped >> rank & 1) != 0);
		assert_int_equal(qoi_half_add(&clients[rank].session, &ask,
					      steps_copy(schedule),
					      &clients[rank].op),
				 0);
		qoi_schedule_destroy(schedule);
	}
}

struct qoi_layout_completion_slot *slot_of(uint32_t rank)
{
	struct client *client = &clients[rank];

	return qoi_attach_completion(&client->session.places,
				     client->session.segment.base, 5 + rank);
}

void post(uint32_t rank)
{
	struct client *client = &clients[rank];
	struct qoi_command command = {
		.op_slot = (uint32_t)client->op,
		.generation = ++client->generation,
	};

	qoi_attach_local_reset(slot_of(rank), client->generation);
	assert_int_equal(qoi_producer_send(&client->lane, &command,
					   sizeof(command), QOI_COMMAND_POST, 0),
			 0);
}

/* Turns of all until nothing moves any more. */
void turn_all(void)
{
	int quiet = 0;

	for (uint32_t i = 0; i < 1000000 && quiet < 3; i++) {
		int done = 0;

		the_daemon.bulk_left = 128 << 10;
		for (uint32_t rank = 0; rank < RANKS; rank++)
			done += qoi_session_turn(&clients[rank].session);
		quiet = done == 0 ? quiet + 1 : 0;
	}
	assert_int_equal(quiet, 3);
}

/* 1 when this request has ended; its word. */
int ended(uint32_t rank, uint64_t *word)
{
	return qoi_attach_completed(slot_of(rank), clients[rank].generation,
				    word);
}

void expect_done(uint32_t count)
{
	for (uint32_t rank = 0; rank < count; rank++) {
		uint64_t word;

		assert_true(ended(rank, &word));
		assert_int_equal(qoi_completion_state(word),
				 QOI_COMPLETION_DONE);
	}
}

void expect_failed(uint32_t rank, int error, uint32_t blamed)
{
	uint64_t word;

	assert_true(ended(rank, &word));
	assert_int_equal(qoi_completion_state(word), QOI_COMPLETION_FAILED);
	assert_int_equal(qoi_completion_error(word), -error);
	assert_int_equal(qoi_completion_rank(word), blamed);
}

uint64_t *words(uint32_t rank, uint64_t at)
{
	return (uint64_t *)(void *)(clients[rank].memory + at);
}

uint64_t value(uint32_t from, uint32_t to, uint64_t index, uint32_t round)
{
	return from * UINT64_C(1000003) + to * UINT64_C(10007) + index * 31 +
	       round;
}
