/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tests/fuzz/victim.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libqoffload/attach/address.h"
#include "tests/fuzz/fuzz.h"

/* More than a fuzzer ever has open. */
#define DESCRIPTORS_MAX 1024

static uint8_t memory[1 << 18];
static uint8_t probe[32] = "what a trial read must find";
static int ends[2] = { -1, -1 };
static pid_t victim;

/* Connects whenever it is told a name, and hands the socket over. */
static void serve(int end)
{
	char name[64];

	while (recv(end, name, sizeof(name), 0) == (ssize_t)sizeof(name)) {
		struct qoi_packet packet;
		uint8_t rc = 0;
		pid_t pid;

		qoi_packet_init(&packet, &rc, 1);
		if (qoi_attach_connect(name, &packet.fds[0], &pid) == 0)
			packet.fd_count = 1;
		qoi_packet_send(end, &packet);
		qoi_packet_close(&packet);
		/* From here on nobody but the fuzzer holds the socket. */
		send(end, "", 1, MSG_NOSIGNAL);
	}
	_exit(0);
}

/* Copies of what the fuzzer had open would keep its sessions alive. */
static void keep_only(int end)
{
	for (int fd = 3; fd < DESCRIPTORS_MAX; fd++) {
		if (fd != end)
			close(fd);
	}
}

void victim_start(void)
{
	char byte;

	FUZZ_CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
			      ends) == 0);
	victim = fork();
	FUZZ_CHECK(victim >= 0);
	if (victim == 0) {
		/* It may die in any way, and must not look like a finding. */
		for (int i = 1; i < 32; i++)
			signal(i, SIG_DFL);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_DUMPABLE, 1);
		keep_only(ends[1]);
		/* What it closes must be closed when it says so. */
		qoi_packet_set_closer(NULL);
		send(ends[1], "", 1, MSG_NOSIGNAL);
		serve(ends[1]);
	}
	close(ends[1]);
	FUZZ_CHECK(recv(ends[0], &byte, 1, 0) == 1);
}

/* Waits until nothing of it is left: it may hold sockets until then. */
static void victim_renew(void)
{
	kill(victim, SIGKILL);
	waitpid(victim, NULL, 0);
	close(ends[0]);
	victim_start();
}

/* Its own end of the socket, once it has let go of it; or -1. */
static int ask_for_socket(const char *name)
{
	struct qoi_packet packet;
	char text[64] = { 0 };
	uint8_t byte;
	size_t bytes;

	strncpy(text, name, sizeof(text) - 1);
	qoi_packet_init(&packet, &byte, 1);
	/* A look first, since taking a packet never waits. */
	if (send(ends[0], text, sizeof(text), MSG_NOSIGNAL) < 0 ||
	    recv(ends[0], &byte, 1, MSG_PEEK) != 1 ||
	    qoi_packet_recv(ends[0], &packet, &bytes) != 0)
		return -1;
	if (recv(ends[0], &byte, 1, 0) == 1 && packet.fd_count == 1)
		return packet.fds[0];
	qoi_packet_close(&packet);
	return -1;
}

int victim_dial(const char *name, struct raw_client *client)
{
	int fd = ask_for_socket(name);

	if (fd < 0) {
		victim_renew();
		return -1;
	}
	raw_adopt(client, fd);
	memcpy(client->hello.probe_cookie, probe, 16);
	client->hello.probe_address = (uintptr_t)probe;
	return 0;
}

uint64_t victim_address(void)
{
	return (uintptr_t)memory;
}
