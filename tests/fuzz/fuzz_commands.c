/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clients that were let in and then go wild: commands of every kind, bytes
 * thrown into lanes, credits and completions, operations that fit together and
 * such as don't, and departures in the middle of it all.
 */
#define _GNU_SOURCE
#include <qoffload/qoffload.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libqoffload/coll/schedule.h"
#include "libqoffload/daemon/session.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/victim.h"

#define CLIENTS 3
#define ACTIONS_MAX 200
#define REGION_BYTES UINT64_C(262144)
/* Where the buffers of an operation begin in its region. */
#define RECV_OFFSET UINT64_C(131072)
#define BUFFER_BYTES UINT64_C(65536)

static struct raw_client clients[CLIENTS];
/* By the number of its process: their memory may be copied to and fro. */
static int is_far[CLIENTS];
static uint8_t *regions[CLIENTS]; /* region 0 of each, as the client has it */
static int region_fds[CLIENTS];
static uint32_t sequence;

static int reattach(uint32_t number, int far)
{
	struct raw_client *client = &clients[number];

	is_far[number] = far && victim_dial(fuzz_name, client) == 0;
	if (!is_far[number] && raw_dial(client, fuzz_name) != 0)
		return -1;
	return 0;
}

/* Only a victim's memory may be written: in ours it would be a real loss. */
static void attach(uint32_t number, int far)
{
	const struct qoi_layout_attach_region region = { .bytes = REGION_BYTES };
	struct raw_client *client = &clients[number];
	struct qoi_attach_message answer;

	if (client->fd >= 0 || reattach(number, far) != 0)
		return;
	client->hello.flags = is_far[number] ? QOI_HELLO_MAY_GET : 0;
	raw_hello(client, -1);
	fuzz_settle();
	if (raw_welcomed(client, &answer) != 0) {
		raw_hang_up(client);
		return;
	}
	raw_ask(client, QOI_ATTACH_REGION_ADD, &region, sizeof(region),
		fcntl(region_fds[number], F_DUPFD_CLOEXEC, 0));
}

static void setup(void)
{
	fuzz_open();
	for (uint32_t i = 0; i < CLIENTS; i++) {
		FUZZ_CHECK(raw_open(&clients[i], fuzz_name, "fuzz") == 0);
		raw_hang_up(&clients[i]);
		region_fds[i] = raw_memory(REGION_BYTES, 1, 1);
		regions[i] = mmap(NULL, REGION_BYTES, PROT_READ | PROT_WRITE,
				  MAP_SHARED, region_fds[i], 0);
		FUZZ_CHECK(regions[i] != MAP_FAILED);
	}
	victim_start();
	fuzz_settle();
}

/* Some collective of some size, the same for all ranks that ask alike. */
static struct qoi_schedule *compile(uint8_t what, uint32_t rank, uint32_t count)
{
	static const uint64_t elements[] = { 0, 1, 100, 600, 2000, 5000 };
	struct qoi_coll coll = {
		.kind = what % QOI_COLL_KIND_COUNT,
		.rank = rank,
		.count = count,
		.type = what % 2 == 0 ? QO_INT32 : QO_UINT64,
		.elements = elements[what / 16 % 6],
	};
	struct qoi_schedule *schedule = NULL;

	if (coll.kind == QOI_ALLTOALLV || coll.kind == QOI_ALLGATHERV)
		coll.kind = QOI_ALLREDUCE;
	if (coll.kind == QOI_ALLREDUCE)
		coll.reduce = QO_SUM;
	if (qoi_schedule_compile(&coll, NULL, NULL, &schedule) != 0)
		return NULL;
	return schedule;
}

static void ask_fill(const struct qoi_schedule *schedule, uint32_t number,
		     struct qoi_layout_attach_op *ask)
{
	const uint32_t kind =
		is_far[number] ? QOI_BUFFER_ADDRESS : QOI_BUFFER_REGION;
	const uint64_t base = is_far[number] ? victim_address() : 0;

	memset(ask, 0, sizeof(*ask));
	ask->team = 7;
	ask->sequence = sequence;
	ask->rank = schedule->rank;
	ask->count = schedule->count;
	ask->completion = sequence % RAW_COMPLETIONS;
	ask->type = (uint32_t)schedule->type;
	ask->reduce = (uint32_t)schedule->reduce;
	ask->stage_count = schedule->stage_count;
	ask->step_count = schedule->step_count;
	ask->scratch_bytes = schedule->scratch_bytes;
	for (uint32_t i = 0; i < 2; i++) {
		ask->buffer_bytes[i] = schedule->buffer_bytes[i];
		if (ask->buffer_bytes[i] == 0)
			continue;
		ask->buffer_kind[i] = kind;
		ask->buffer_offset[i] = base + i * RECV_OFFSET;
	}
}

/* wild: what is asked for, and its steps, are overwritten here and there. */
static void op_add(uint32_t number, uint32_t count, uint8_t what,
		   struct fuzz_input *wild)
{
	struct qoi_schedule *schedule = compile(what, number % count, count);
	struct qoi_layout_attach_op ask;

	if (schedule == NULL)
		return;
	ask_fill(schedule, number, &ask);
	if (wild != NULL) {
		fuzz_mutate(wild, &ask, sizeof(ask));
		fuzz_mutate(wild, schedule->steps,
			    schedule->step_count * sizeof(*schedule->steps));
	}
	raw_ask(&clients[number], QOI_ATTACH_OP_ADD, &ask, sizeof(ask),
		raw_steps(schedule->steps, schedule->step_count));
	qoi_schedule_destroy(schedule);
}

static void ops_add_all(struct fuzz_input *input)
{
	uint8_t what = fuzz_u8(input);
	uint32_t count = what % 4 == 0 ? 2 : CLIENTS;

	sequence++;
	for (uint32_t i = 0; i < count; i++) {
		if (clients[i].fd >= 0)
			op_add(i, count, what, NULL);
	}
	fuzz_settle();
}

static void post_all(struct fuzz_input *input)
{
	uint32_t op = fuzz_u8(input) % 4;
	uint32_t generation = fuzz_u8(input);

	for (uint32_t i = 0; i < CLIENTS; i++) {
		if (clients[i].fd >= 0)
			raw_post(&clients[i], op % RAW_LANES, op, generation);
	}
}

static void command_send(struct raw_client *client, struct fuzz_input *input)
{
	struct qoi_producer *lane = &client->lanes[fuzz_u8(input) % RAW_LANES];
	uint8_t how = fuzz_u8(input);
	struct qoi_command command = { .op_slot = how % 8,
				       .generation = fuzz_u8(input) };
	void *payload;

	if (qoi_producer_claim(lane, &payload) != 0)
		return;
	if ((how & 64) != 0)
		fuzz_mutate(input, &command, sizeof(command));
	memcpy(payload, &command, sizeof(command));
	qoi_producer_commit(lane, (how & 128) != 0 ? 13 : sizeof(command),
			    (how & 32) != 0 ? fuzz_u8(input) : QOI_COMMAND_POST,
			    0);
}

static void lane_scribble(struct raw_client *client, struct fuzz_input *input)
{
	const struct qoi_attach_places *places = &client->places;

	fuzz_mutate(input, client->segment.base + places->lanes,
		    places->completions - places->lanes);
}

static void region_change(struct raw_client *client, struct fuzz_input *input)
{
	struct qoi_layout_attach_region region = {
		.region = fuzz_u8(input) % 6,
		.bytes = UINT64_C(4096) * (fuzz_u8(input) % 80),
	};
	uint8_t how = fuzz_u8(input);

	if (how % 4 == 0)
		fuzz_mutate(input, &region, sizeof(region));
	if (how % 3 == 0)
		raw_ask(client, QOI_ATTACH_REGION_DROP, &region, sizeof(region),
			-1);
	else
		raw_ask(client, QOI_ATTACH_REGION_ADD, &region, sizeof(region),
			fuzz_descriptor(input, region.bytes));
}

static void op_drop(struct raw_client *client, struct fuzz_input *input)
{
	const struct qoi_layout_attach_op_end end = {
		.op = fuzz_u8(input) % 8,
	};

	raw_ask(client, QOI_ATTACH_OP_DROP, &end, sizeof(end), -1);
}

static void leave(struct raw_client *client, int says_good_bye)
{
	if (says_good_bye)
		raw_ask(client, QOI_ATTACH_BYE, NULL, 0, -1);
	raw_hang_up(client);
}

static void client_act(struct fuzz_input *input, uint8_t what, uint32_t number)
{
	struct raw_client *client = &clients[number];

	switch (what % 16) {
	case 0:
	case 1:
		command_send(client, input);
		break;
	case 2:
		lane_scribble(client, input);
		break;
	case 3:
		fuzz_mutate(input, client->segment.base, client->places.bytes);
		break;
	case 4:
		fuzz_mutate(input, regions[number], REGION_BYTES);
		break;
	case 5:
		sequence += fuzz_u8(input) % 2;
		op_add(number, CLIENTS, fuzz_u8(input), input);
		break;
	case 6:
		op_drop(client, input);
		break;
	case 7:
		region_change(client, input);
		break;
	case 8:
		leave(client, fuzz_u8(input) % 2);
		break;
	case 9:
		fuzz_drain(client->fd);
		break;
	default:
		break;
	}
}

static void act(struct fuzz_input *input)
{
	uint8_t what = fuzz_u8(input);
	uint32_t number = what / 16 % CLIENTS;

	switch (what % 16) {
	case 10:
		ops_add_all(input);
		break;
	case 11:
	case 12:
		post_all(input);
		break;
	case 13:
		qoi_daemon_cycle(fuzz_daemon);
		break;
	case 14:
		fuzz_settle();
		break;
	case 15:
		qoi_daemon_block(fuzz_daemon, 0);
		break;
	default:
		if (clients[number].fd >= 0)
			client_act(input, what, number);
		else
			attach(number, fuzz_u8(input) % 4 == 0);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct fuzz_input input = { data, bytes };
	uint8_t far;

	if (fuzz_daemon == NULL)
		setup();
	fuzz_begin();
	sequence = 0;
	far = fuzz_u8(&input);
	for (uint32_t i = 0; i < CLIENTS; i++)
		attach(i, far < 16 << i);
	ops_add_all(&input);
	for (int i = 0; i < ACTIONS_MAX && input.left != 0; i++)
		act(&input);
	for (uint32_t i = 0; i < CLIENTS; i++) {
		if (clients[i].fd >= 0)
			leave(&clients[i], i % 2 == 0);
	}
	fuzz_check_empty();
	return 0;
}
