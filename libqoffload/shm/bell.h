/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef QOI_BELL_H
#define QOI_BELL_H

#include <stdint.h>

/*
 * The doorbell of an endpoint, in its own window, mapped by its peers: who
 * publishes something asks qoi_bell_wanted() and rings only when somebody
 * sleeps.  A wake-up cannot be lost: the sleeper announces itself, then looks
 * once more, then sleeps; the publisher publishes, then looks for sleepers;
 * both with a store-load barrier in between.
 * Layout: struct qoi_layout_bell in the contract (128 bytes): sequence,
 * waiters, agent.
 */
struct qoi_bell {
	uint32_t sequence; /* futex word: one more at each ring */
	uint32_t waiters;  /* threads in qoi_bell_sleep() */
	uint32_t agent;	   /* QOI_BELL_AGENT_*: how its agent sleeps */
	uint8_t reserved[116];
};

#define QOI_BELL_AGENT_AWAKE 0 /* it looks by itself */
#define QOI_BELL_AGENT_IDLE 1  /* asleep, only its own clients may need it */
#define QOI_BELL_AGENT_DATA 2  /* asleep, waits for what peers publish */

/*
 * After publishing: whether somebody must be woken.  `agent_level`: the
 * lowest QOI_BELL_AGENT_* for which the agent is woken too (peers: DATA;
 * own clients: IDLE).  Returns a mask of QOI_BELL_WAKE_*; includes the
 * store-load barrier.
 */
#define QOI_BELL_WAKE_WAITERS 1u
#define QOI_BELL_WAKE_AGENT 2u
uint32_t qoi_bell_wanted(struct qoi_bell *bell, uint32_t agent_level);

/* Wakes every waiter (a futex, shared between processes). */
void qoi_bell_ring_waiters(struct qoi_bell *bell);

/*
 * For a thread that waits: announce, then look again at what it waits for,
 * then sleep or cancel.
 */
uint32_t qoi_bell_announce(struct qoi_bell *bell);
/* Sleeps unless rung since `sequence`; returns 0 or -ETIMEDOUT; un-announces. */
int qoi_bell_sleep(struct qoi_bell *bell, uint32_t sequence,
		   int64_t deadline_ns);
void qoi_bell_cancel(struct qoi_bell *bell);

/*
 * For the agent: announces that it is about to block in poll(2), with a
 * store-load barrier; QOI_BELL_AGENT_AWAKE takes it back.
 */
void qoi_bell_agent_set(struct qoi_bell *bell, uint32_t level);

#endif
