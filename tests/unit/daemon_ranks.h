/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks of a daemon without sockets: sessions whose commands go through real
 * lanes and whose buffers lie in regions or at addresses of this process.
 */
#ifndef DAEMON_RANKS_H
#define DAEMON_RANKS_H

#include "libqoffload/daemon/half.h"

#define RANKS 4
#define REGION_BYTES (UINT64_C(4) << 20)
/* Where the receive buffer lies behind the send buffer. */
#define RECV_AT (UINT64_C(2) << 20)

struct client {
	struct qoi_session session;
	struct qoi_producer lane;
	struct qoi_region region;
	struct qoi_region *regions[1];
	uint8_t *memory; /* of the region, or at its address */
	uint64_t op;
	uint32_t generation;
};

extern struct qoi_daemon the_daemon;
extern struct client clients[RANKS];

int ranks_setup(void **state);
int ranks_teardown(void **state);

/* A request for the half of a schedule, and the steps that go with it. */
void ask_fill(struct qoi_layout_attach_op *ask,
	      const struct qoi_schedule *schedule, const struct client *client,
	      uint32_t sequence, int mapped);
struct qoi_step *steps_copy(const struct qoi_schedule *schedule);
/* mapped: bit i: the buffers of rank i lie in its region. */
void ops_add(struct qoi_coll coll, const char *algorithm, uint32_t count,
	     uint32_t sequence, uint32_t mapped);
struct qoi_layout_completion_slot *slot_of(uint32_t rank);
void post(uint32_t rank);
/* Turns of all until nothing moves any more. */
void turn_all(void);
/* 1 when this request has ended; its word. */
int ended(uint32_t rank, uint64_t *word);
void expect_done(uint32_t count);
void expect_failed(uint32_t rank, int error, uint32_t blamed);
/* Elements of the memory of a rank, from a byte offset on. */
uint64_t *words(uint32_t rank, uint64_t at);
uint64_t value(uint32_t from, uint32_t to, uint64_t index, uint32_t round);

#endif
