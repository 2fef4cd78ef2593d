/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tests/support/raw_client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "libqoffload/attach/address.h"

void raw_name(char name[64])
{
	static unsigned int count;

	snprintf(name, 64, "@qo-test-daemon.%d.%u", (int)getpid(), count++);
}

static int dial(const char *name, int *fd_out)
{
	pid_t pid;

	return qoi_attach_connect(name, fd_out, &pid) == 0 ? 0 : -1;
}

static void fill_hello(struct raw_client *client)
{
	struct qoi_layout_hello *hello = &client->hello;

	qoi_attach_hello_fill(hello);
	if (getrandom(client->probe, 16, 0) != 16)
		memset(client->probe, 7, 16);
	memcpy(hello->probe_cookie, client->probe, 16);
	hello->probe_address = (uintptr_t)client->probe;
	hello->flags = QOI_HELLO_MAY_GET;
	hello->window_bytes = client->segment.bytes;
}

void raw_adopt(struct raw_client *client, int fd)
{
	uint8_t *base = client->segment.base;

	client->fd = fd;
	client->wake_fd = -1;
	client->token = 0;
	qoi_attach_format(&client->places, &client->offer, base);
	for (uint32_t i = 0; i < RAW_LANES; i++)
		qoi_producer_init(
			&client->lanes[i], &client->places.lane_shape,
			qoi_attach_lane_slots(&client->places, base, i),
			qoi_attach_lane_credit(&client->places, base, i), 0);
	fill_hello(client);
}

int raw_dial(struct raw_client *client, const char *name)
{
	int fd;

	if (dial(name, &fd) != 0)
		return -1;
	raw_adopt(client, fd);
	return 0;
}

int raw_open(struct raw_client *client, const char *name, const char *job)
{
	memset(client, 0, sizeof(*client));
	client->fd = -1;
	client->segment.fd = -1;
	client->offer.lane_count = RAW_LANES;
	client->offer.lane_slots = RAW_LANE_SLOTS;
	client->offer.completion_count = RAW_COMPLETIONS;
	memcpy(client->offer.job, job, strnlen(job, sizeof(client->offer.job)));
	if (qoi_attach_places(&client->offer, &client->places) != 0 ||
	    qoi_segment_create("qo-raw", client->places.bytes,
			       &client->segment) != 0)
		return -1;
	if (raw_dial(client, name) == 0)
		return 0;
	qoi_segment_detach(&client->segment);
	return -1;
}

int raw_open_observer(struct raw_client *client, const char *name)
{
	memset(client, 0, sizeof(*client));
	client->wake_fd = -1;
	client->segment.fd = -1;
	if (dial(name, &client->fd) != 0)
		return -1;
	fill_hello(client);
	client->hello.flags = QOI_HELLO_OBSERVER;
	return 0;
}

void raw_hang_up(struct raw_client *client)
{
	if (client->fd >= 0)
		close(client->fd);
	client->fd = -1;
	if (client->wake_fd >= 0)
		close(client->wake_fd);
	client->wake_fd = -1;
}

void raw_close(struct raw_client *client)
{
	raw_hang_up(client);
	qoi_segment_detach(&client->segment);
}

int raw_hello(struct raw_client *client, int bell_page)
{
	struct qoi_attach_message message;

	qoi_attach_message_init(&message, QOI_ATTACH_HELLO, ++client->token);
	message.body.hello.hello = client->hello;
	message.body.hello.offer = client->offer;
	message.fds[0] = client->segment.fd;
	message.fds[1] = bell_page;
	return qoi_attach_send(client->fd, &message);
}

int raw_welcomed(struct raw_client *client, struct qoi_attach_message *answer)
{
	int rc = raw_answer(client, answer);

	if (rc != 0)
		return rc;
	if (answer->header.kind != QOI_ATTACH_WELCOME)
		return -EBADMSG;
	client->daemon = answer->body.welcome.hello;
	client->welcome = answer->body.welcome.welcome;
	client->wake_fd = answer->fds[0];
	answer->fds[0] = -1;
	return 0;
}

int raw_ask(struct raw_client *client, uint16_t kind, const void *body,
	    size_t bytes, int fd)
{
	struct qoi_attach_message message;
	int rc;

	qoi_attach_message_init(&message, kind, ++client->token);
	if (bytes != 0)
		memcpy(message.body.bytes, body, bytes);
	message.fds[0] = fd;
	rc = qoi_attach_send(client->fd, &message);
	qoi_attach_message_close(&message);
	return rc;
}

int raw_answer(struct raw_client *client, struct qoi_attach_message *answer)
{
	int rc = qoi_attach_recv(client->fd, answer);

	if (rc != 0)
		return rc;
	if (answer->header.token != client->token)
		return -EPROTO;
	return -(int)answer->header.error;
}

int raw_post(struct raw_client *client, uint32_t lane, uint32_t op,
	     uint32_t generation)
{
	const struct qoi_layout_attach_page *page =
		(const void *)client->segment.base;
	const struct qoi_command command = { .op_slot = op,
					     .generation = generation };
	const uint64_t one = 1;
	int rc = qoi_producer_send(&client->lanes[lane], &command,
				   sizeof(command), QOI_COMMAND_POST, 0);

	if (rc != 0)
		return rc;
	qoi_store_load_barrier();
	if (qoi_own32(&page->asleep) != 0 &&
	    write(client->wake_fd, &one, sizeof(one)) < 0)
		return -errno;
	return 0;
}

int raw_memory(uint64_t bytes, int sealed, int reserved)
{
	int fd = memfd_create("qo-raw", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -1;
	if (ftruncate(fd, (off_t)bytes) == 0 &&
	    (!reserved || bytes == 0 || fallocate(fd, 0, 0, (off_t)bytes) == 0) &&
	    (!sealed || fcntl(fd, F_ADD_SEALS, RAW_SEALS) == 0))
		return fd;
	close(fd);
	return -1;
}

int raw_steps(const void *steps, uint32_t count)
{
	size_t bytes = (size_t)count * QOI_LAYOUT_SCHEDULE_STEP_BYTES;
	int fd = raw_memory((bytes + 4095) & ~(size_t)4095, 1, 0);

	if (fd < 0 || pwrite(fd, steps, bytes, 0) == (ssize_t)bytes)
		return fd;
	close(fd);
	return -1;
}
