/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tests/unit/fake_agent.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* How long a test may wait for a command. */
#define TAKE_LIMIT_NS INT64_C(5000000000)

void fake_agent_init(struct fake_agent *fake)
{
	static int count;

	memset(fake, 0, sizeof(*fake));
	fake->door.fd = fake->fd = fake->stop_fd = fake->wake_fd = -1;
	fake->reach = QOI_REACH_READ | QOI_REACH_WRITE;
	fake->writes_cookie = 1;
	snprintf(fake->name, sizeof(fake->name), "@qo-fake.%d.%d", getpid(),
		 count++);
	memset(fake->id, 0x5a, sizeof(fake->id));
	pthread_mutex_init(&fake->lock, NULL);
}

void fake_agent_refuse(struct fake_agent *fake, uint16_t kind, uint16_t error)
{
	pthread_mutex_lock(&fake->lock);
	fake->errors[kind] = error;
	pthread_mutex_unlock(&fake->lock);
}

void fake_agent_silence(struct fake_agent *fake, int silent)
{
	pthread_mutex_lock(&fake->lock);
	fake->is_silent = silent;
	pthread_mutex_unlock(&fake->lock);
}

static void lanes_open(struct fake_agent *fake)
{
	const struct qoi_layout_attach_offer *offer =
		&fake->hello.body.hello.offer;

	for (uint32_t i = 0; i < offer->lane_count; i++)
		qoi_consumer_init(&fake->lanes[i], &fake->places.lane_shape,
				  qoi_attach_lane_slots(&fake->places,
							fake->segment.base, i),
				  qoi_attach_lane_credit(&fake->places,
							 fake->segment.base, i),
				  0, 1);
}

static int bell_open(struct fake_agent *fake)
{
	int error;

	if (fake->hello.fds[1] < 0)
		return 0;
	error = qoi_segment_attach(fake->hello.fds[1],
				   fake->hello.body.hello.offer.bell_bytes,
				   &fake->page);
	if (error == 0)
		fake->hello.fds[1] = -1;
	return error;
}

static int greet(struct fake_agent *fake)
{
	struct qoi_attach_message welcome;
	const struct qoi_layout_hello *hello = &fake->hello.body.hello.hello;

	if (fake->greeting == FAKE_SILENT)
		return 0;
	if (fake->greeting == FAKE_REFUSES) {
		qoi_attach_message_init(&welcome, QOI_ATTACH_ANSWER, 0);
		welcome.header.error = EAGAIN;
		strcpy((char *)welcome.body.answer.text, "no room for you");
		return qoi_attach_send(fake->fd, &welcome);
	}
	if (qoi_attach_places(&fake->hello.body.hello.offer, &fake->places) != 0 ||
	    qoi_segment_attach(fake->hello.fds[0], fake->places.bytes,
			       &fake->segment) != 0)
		return -EBADMSG;
	fake->hello.fds[0] = -1;
	if (bell_open(fake) != 0)
		return -EBADMSG;
	lanes_open(fake);
	qoi_attach_message_init(&welcome, QOI_ATTACH_WELCOME, 0);
	qoi_attach_hello_fill(&welcome.body.welcome.hello);
	memcpy(welcome.body.welcome.hello.endpoint_id, fake->id, 16);
	if (fake->greeting == FAKE_OTHER_VERSION)
		welcome.body.welcome.hello.layout_hash++;
	/* The client is this process. */
	if (fake->writes_cookie)
		memcpy((uint8_t *)(uintptr_t)hello->probe_address + 16,
		       hello->probe_cookie, 16);
	welcome.body.welcome.welcome.session = 7;
	welcome.body.welcome.welcome.reach = fake->reach;
	welcome.fds[0] = fake->wake_fd;
	return qoi_attach_send(fake->fd, &welcome);
}

static int op_add(struct fake_agent *fake, struct qoi_attach_message *message)
{
	uint64_t bytes = message->body.op.step_count * sizeof(struct qoi_step);

	fake->op = message->body.op;
	if (message->body.op.step_count > FAKE_STEPS)
		return -EMSGSIZE;
	if (pread(message->fds[0], fake->steps, bytes, 0) != (ssize_t)bytes)
		return -EIO;
	return 0;
}

static int region_add(struct fake_agent *fake,
		      struct qoi_attach_message *message)
{
	uint32_t number = message->body.region.region % FAKE_REGIONS;
	int error;

	if (message->body.region.region >= 65536 ||
	    fake->regions[number].segment.base != NULL)
		return -EBADMSG;
	error = qoi_segment_attach(message->fds[0], message->body.region.bytes,
				   &fake->regions[number].segment);
	if (error == 0)
		message->fds[0] = -1;
	return error;
}

static int region_drop(struct fake_agent *fake,
		       const struct qoi_attach_message *message)
{
	uint32_t number = message->body.region.region % FAKE_REGIONS;

	if (fake->regions[number].segment.base == NULL)
		return -EBADF;
	qoi_segment_detach(&fake->regions[number].segment);
	return 0;
}

static int carry_out(struct fake_agent *fake, struct qoi_attach_message *message)
{
	if (fake->errors[message->header.kind] != 0)
		return -fake->errors[message->header.kind];
	switch (message->header.kind) {
	case QOI_ATTACH_REGION_ADD:
		return region_add(fake, message);
	case QOI_ATTACH_REGION_DROP:
		return region_drop(fake, message);
	case QOI_ATTACH_OP_ADD:
		return op_add(fake, message);
	default:
		return 0;
	}
}

static void call_answer(struct fake_agent *fake,
			struct qoi_attach_message *message)
{
	struct qoi_attach_message answer;
	int error = carry_out(fake, message);

	qoi_attach_message_close(message);
	if (fake->is_silent)
		return;
	qoi_attach_message_init(&answer, QOI_ATTACH_ANSWER,
				message->header.token);
	answer.header.error = (uint16_t)-error;
	if (message->header.kind != QOI_ATTACH_BYE)
		answer.body.answer.value = 3;
	if (error != 0)
		strcpy((char *)answer.body.answer.text, "not with me");
	qoi_attach_send(fake->fd, &answer);
}

static void client_drop(struct fake_agent *fake)
{
	close(fake->fd);
	fake->fd = -1;
}

/* Something is at the client's socket. */
static void client_hear(struct fake_agent *fake)
{
	struct qoi_attach_message message;
	int error = qoi_attach_recv(fake->fd, &message);

	if (error == -EAGAIN)
		return;
	if (error != 0) {
		client_drop(fake);
		return;
	}
	pthread_mutex_lock(&fake->lock);
	fake->heard[message.header.kind]++;
	if (message.header.kind != QOI_ATTACH_HELLO) {
		call_answer(fake, &message);
	} else if (fake->hang_ups != 0) {
		fake->hang_ups--;
		qoi_attach_message_close(&message);
		client_drop(fake);
	} else {
		fake->hello = message;
		if (greet(fake) != 0)
			client_drop(fake);
		qoi_attach_message_close(&fake->hello);
	}
	pthread_mutex_unlock(&fake->lock);
}

static void *run(void *arg)
{
	struct fake_agent *fake = arg;

	for (;;) {
		struct pollfd at[3] = { { fake->stop_fd, POLLIN, 0 },
					{ fake->door.fd, POLLIN, 0 },
					{ fake->fd, POLLIN, 0 } };

		/* One client at a time: the others wait at the door. */
		if (fake->fd >= 0)
			at[1].fd = -1;
		if (poll(at, 3, -1) < 0)
			continue;
		if (at[0].revents != 0)
			return NULL;
		if (at[2].revents != 0)
			client_hear(fake);
		if (at[1].revents != 0)
			fake->fd = accept4(fake->door.fd, NULL, NULL,
					   SOCK_NONBLOCK | SOCK_CLOEXEC);
	}
}

int fake_agent_start(struct fake_agent *fake)
{
	int error = qoi_attach_listen(fake->name, &fake->door);

	if (error != 0)
		return error;
	fake->stop_fd = eventfd(0, EFD_CLOEXEC);
	fake->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return pthread_create(&fake->thread, NULL, run, fake);
}

void fake_agent_stop(struct fake_agent *fake)
{
	if (fake->stop_fd < 0)
		return;
	eventfd_write(fake->stop_fd, 1);
	pthread_join(fake->thread, NULL);
	if (fake->fd >= 0)
		client_drop(fake);
	qoi_attach_door_close(&fake->door);
	close(fake->stop_fd);
	close(fake->wake_fd);
	fake->stop_fd = -1;
	for (uint32_t i = 0; i < FAKE_REGIONS; i++) {
		if (fake->regions[i].segment.base != NULL)
			qoi_segment_detach(&fake->regions[i].segment);
	}
	if (fake->segment.base != NULL)
		qoi_segment_detach(&fake->segment);
	if (fake->page.base != NULL)
		qoi_segment_detach(&fake->page);
}

uint32_t fake_agent_heard(struct fake_agent *fake, uint16_t kind)
{
	uint32_t heard;

	pthread_mutex_lock(&fake->lock);
	heard = fake->heard[kind];
	pthread_mutex_unlock(&fake->lock);
	return heard;
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static int take_once(struct fake_agent *fake, struct qoi_command *command)
{
	uint32_t lanes = fake->hello.body.hello.offer.lane_count;

	for (uint32_t i = 0; i < lanes; i++) {
		struct qoi_message message;

		if (qoi_consumer_peek(&fake->lanes[i], &message) != 0)
			continue;
		memcpy(command, message.payload, sizeof(*command));
		qoi_consumer_release(&fake->lanes[i]);
		return message.bytes == sizeof(*command) &&
		       message.kind == QOI_COMMAND_POST;
	}
	return 0;
}

int fake_agent_take(struct fake_agent *fake, struct qoi_command *command)
{
	int64_t limit = now_ns() + TAKE_LIMIT_NS;

	while (!take_once(fake, command)) {
		if (now_ns() > limit)
			return 0;
	}
	return 1;
}

void fake_agent_complete(struct fake_agent *fake, uint32_t generation,
			 uint64_t word)
{
	qoi_attach_complete(qoi_attach_completion(&fake->places,
						  fake->segment.base,
						  fake->op.completion),
			    word, generation);
}

struct qoi_bell *fake_agent_bell(struct fake_agent *fake)
{
	if (fake->page.base == NULL)
		return (void *)(fake->segment.base + fake->places.bell);
	return (void *)(fake->page.base +
			fake->hello.body.hello.offer.bell_offset);
}

uint8_t *fake_agent_buffer(struct fake_agent *fake, uint32_t buffer)
{
	const struct qoi_layout_attach_op *op = &fake->op;

	if (op->buffer_kind[buffer] == QOI_BUFFER_ADDRESS)
		return (uint8_t *)(uintptr_t)op->buffer_offset[buffer];
	if (op->buffer_kind[buffer] == QOI_BUFFER_NONE)
		return NULL;
	return fake->regions[op->buffer_region[buffer] % FAKE_REGIONS].segment.base +
	       op->buffer_offset[buffer];
}

void fake_agent_copy(struct fake_agent *fake)
{
	for (uint32_t i = 0; i < fake->op.step_count; i++) {
		const struct qoi_step *step = &fake->steps[i];

		if (step->kind == QOI_STEP_COPY)
			memcpy(fake_agent_buffer(fake, step->to) +
				       step->to_offset,
			       fake_agent_buffer(fake, step->from) +
				       step->from_offset,
			       step->bytes);
	}
}
