/* SPDX-License-Identifier: BSD-3-Clause */
/* A daemon in the test's own thread, and what its tests look at. */
#ifndef DAEMON_FIXTURE_H
#define DAEMON_FIXTURE_H

#include "libqoffload/daemon/daemon.h"
#include "libqoffload/daemon/session.h"
#include "tests/support/raw_client.h"

extern struct qoi_daemon *target;
extern char target_name[64];
/* What the next one is opened with; the setup fills in the rest. */
extern struct qoi_daemon_params target_params;

/* cmocka setup and teardown: the latter fails if a descriptor stays open. */
int target_open(void **state);
int target_close(void **state);
/* Lets it look at its sockets until there is nothing more. */
void target_settle(void);
/* Cycles until nothing is done any more. */
void target_run(void);

/* Attaches one client that must be welcome. */
void client_attach(struct raw_client *client, const char *job);
/* Asks, lets the daemon look, and gives what raw_answer() gives. */
int client_ask(struct raw_client *client, uint16_t kind, const void *body,
	       size_t bytes, int fd, struct qoi_attach_message *answer);
/* The same where only the error counts; its text is in answer_text. */
int client_told(struct raw_client *client, uint16_t kind, const void *body,
		size_t bytes, int fd);
extern char answer_text[256];
/* Adds a region of that size and of this number: what client_told() gives. */
#define CLIENT_REGION_BYTES (UINT64_C(1) << 20)
int client_region_add(struct raw_client *client, uint32_t number);
/* Says good-bye, sees the answer, closes. */
void client_leave(struct raw_client *client);
/* 1 when the daemon has closed this end. */
int is_hung_up(int fd);

int open_descriptors(void);
/* 1 as soon as so many are open: some are closed by a thread. */
int descriptors_come_to(int expected);
/* Mappings of memory files, the clients' own ones included. */
int shared_mappings(void);

#endif
