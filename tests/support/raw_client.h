/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client of the daemon that says what a test wants it to say, true or not.
 * It never waits by itself: between a question and its answer the caller lets
 * the daemon look, or the daemon is another process.
 */
#ifndef RAW_CLIENT_H
#define RAW_CLIENT_H

#include "libqoffload/attach/message.h"
#include "libqoffload/attach/segment.h"
#include "libqoffload/shm/queue.h"
#include "libqoffload/shm/segment.h"

#define RAW_LANES 2
#define RAW_LANE_SLOTS 16
#define RAW_COMPLETIONS 64
#define RAW_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

struct raw_client {
	int fd;
	int wake_fd; /* from the welcome, or -1 */
	uint32_t token;
	struct qoi_layout_attach_offer offer;
	struct qoi_attach_places places;
	struct qoi_segment segment;
	struct qoi_producer lanes[RAW_LANES];
	struct qoi_layout_hello hello; /* what it will say */
	struct qoi_layout_hello daemon;
	struct qoi_layout_attach_welcome welcome;
	uint8_t probe[32]; /* cookie, and where the daemon writes it */
};

/* An abstract name that no other test has. */
void raw_name(char name[64]);

/* Connects, and prepares a segment and a good hello.  0 or -1. */
int raw_open(struct raw_client *client, const char *name, const char *job);
/* Likewise without a segment, as an observer. */
int raw_open_observer(struct raw_client *client, const char *name);
void raw_close(struct raw_client *client);

/* Ends the session, but keeps the segment for another one. */
void raw_hang_up(struct raw_client *client);
/* Connects anew: the segment and the hello are as those of raw_open(). */
int raw_dial(struct raw_client *client, const char *name);
/* The same with a socket that is connected already. */
void raw_adopt(struct raw_client *client, int fd);

/* Sends the hello with the segment and, if not -1, a page for the bell. */
int raw_hello(struct raw_client *client, int bell_page);
/* Reads the answer to the hello: 0 welcome, else the negative errno in it. */
int raw_welcomed(struct raw_client *client, struct qoi_attach_message *answer);

/* A question without descriptors; fd: -1, or one that is sent and closed. */
int raw_ask(struct raw_client *client, uint16_t kind, const void *body,
	    size_t bytes, int fd);
/*
 * Reads one answer: 0 or the negative errno in it; -EAGAIN: none is there,
 * -ECONNRESET: the daemon hung up.
 */
int raw_answer(struct raw_client *client, struct qoi_attach_message *answer);

/* Puts a command into a lane: 0 or -EAGAIN.  Wakes the daemon if it sleeps. */
int raw_post(struct raw_client *client, uint32_t lane, uint32_t op,
	     uint32_t generation);

/* A memory file: sealed and reserved as asked. */
int raw_memory(uint64_t bytes, int sealed, int reserved);
/* One with steps in it, as OP_ADD wants it. */
int raw_steps(const void *steps, uint32_t count);

#endif
