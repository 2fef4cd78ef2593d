/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections to the daemon: hellos and other messages, whole, cut, mutated,
 * with descriptors of all sorts, from several clients at once.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

#define CLIENTS 4
#define ACTIONS_MAX 64
/* An address where nothing ever lies. */
#define NOWHERE 8

static struct raw_client clients[CLIENTS];

static void client_open(struct raw_client *client, struct fuzz_input *input)
{
	static const char *const jobs[] = { "", "a", "b", "\xff\n" };

	if (client->fd >= 0)
		return;
	if (raw_open(client, fuzz_name, jobs[fuzz_u8(input) % 4]) != 0)
		client->fd = -1;
}

/* A trial copy must never meet memory of ours by chance. */
static void probe_tame(struct raw_client *client, struct qoi_layout_hello *hello)
{
	if (hello->probe_address != (uintptr_t)client->probe)
		hello->probe_address = NOWHERE;
}

static void hello_send(struct raw_client *client, struct fuzz_input *input)
{
	struct qoi_attach_message message;
	uint8_t how = fuzz_u8(input);

	qoi_attach_message_init(&message, QOI_ATTACH_HELLO, fuzz_u8(input));
	message.body.hello.hello = client->hello;
	message.body.hello.offer = client->offer;
	message.fds[0] = -1;
	if ((how & 1) != 0)
		fuzz_mutate(input, &message.body.hello.hello,
			    sizeof(message.body.hello.hello));
	if ((how & 2) != 0)
		fuzz_mutate(input, &message.body.hello.offer,
			    sizeof(message.body.hello.offer));
	probe_tame(client, &message.body.hello.hello);
	if ((how & 4) != 0)
		message.fds[0] = fuzz_descriptor(input, client->places.bytes);
	else
		message.fds[0] = dup(client->segment.fd);
	if ((how & 8) != 0)
		message.fds[1] = fuzz_descriptor(
			input, message.body.hello.offer.bell_bytes);
	qoi_attach_send(client->fd, &message);
	qoi_attach_message_close(&message);
}

/* A message that is one, of a kind of the contract or not. */
static void message_send(struct raw_client *client, struct fuzz_input *input)
{
	struct qoi_attach_message message;
	uint16_t kind = fuzz_u8(input) % 12;
	uint32_t bytes = qoi_attach_body_bytes(kind);

	if (bytes == UINT32_MAX)
		bytes = fuzz_u8(input);
	qoi_attach_message_init(&message, QOI_ATTACH_BYE, fuzz_u8(input));
	message.header.kind = kind;
	message.header.bytes = (uint32_t)sizeof(message.header) + bytes;
	for (int i = 0; i < 4; i++)
		fuzz_mutate(input, message.body.bytes, bytes);
	if (kind == QOI_ATTACH_HELLO)
		probe_tame(client, &message.body.hello.hello);
	/* Of the other kinds this is what most often is a size. */
	message.fds[0] = fuzz_descriptor(input, message.body.region.bytes);
	message.fds[1] = fuzz_descriptor(input, 4096);
	qoi_attach_send(client->fd, &message);
	qoi_attach_message_close(&message);
}

static void bytes_send(struct raw_client *client, struct fuzz_input *input)
{
	struct qoi_attach_message message;
	size_t bytes = fuzz_u32(input) % sizeof(message);

	qoi_attach_message_init(&message, QOI_ATTACH_HELLO, 1);
	message.body.hello.hello = client->hello;
	message.header.bytes = (uint32_t)bytes;
	fuzz_mutate(input, &message, sizeof(message));
	probe_tame(client, &message.body.hello.hello);
	send(client->fd, &message, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void act(struct fuzz_input *input)
{
	uint8_t what = fuzz_u8(input);
	struct raw_client *client = &clients[what / 16 % CLIENTS];

	client_open(client, input);
	if (client->fd < 0)
		return;
	switch (what % 16) {
	case 0:
	case 1:
	case 2:
		hello_send(client, input);
		break;
	case 3:
	case 4:
	case 5:
	case 6:
		message_send(client, input);
		break;
	case 7:
		bytes_send(client, input);
		break;
	case 8:
		raw_close(client);
		break;
	case 9:
		shutdown(client->fd, fuzz_u8(input) % 3);
		break;
	case 10:
		fuzz_drain(client->fd);
		break;
	case 11:
		qoi_daemon_block(fuzz_daemon, 0);
		break;
	case 12:
		/* A hello that is right, so that the rest is reached. */
		raw_hello(client, -1);
		break;
	case 13:
		qoi_daemon_cycle(fuzz_daemon);
		break;
	default:
		qoi_daemon_look(fuzz_daemon);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct fuzz_input input = { data, bytes };

	if (fuzz_daemon == NULL) {
		fuzz_open();
		for (int i = 0; i < CLIENTS; i++)
			clients[i].fd = -1;
	}
	fuzz_begin();
	for (int i = 0; i < ACTIONS_MAX && input.left != 0; i++)
		act(&input);
	for (int i = 0; i < CLIENTS; i++) {
		if (clients[i].fd >= 0)
			raw_close(&clients[i]);
	}
	fuzz_check_empty();
	return 0;
}
