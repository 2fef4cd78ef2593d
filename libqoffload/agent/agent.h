/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The agent of a context: what makes progress, inline or as a thread.  It
 * owns the duty cycle, the list of works it moves on, and the endpoints.
 */
#ifndef QOI_AGENT_H
#define QOI_AGENT_H

#include <pthread.h>
#include <stdint.h>

#include "libqoffload/agent/request.h"
#include "libqoffload/agent/work.h"
#include "libqoffload/base/config.h"
#include "libqoffload/base/topology.h"
#include "libqoffload/shm/queue.h"
#include "providers/registry.h"

/* Works and commands that one duty cycle takes, so that it is bounded. */
#define QOI_CYCLE_WORKS 64
#define QOI_CYCLE_COMMANDS 64
#define QOI_POLL_BUDGET 64
/* Cycles between two looks at the endpoints while there is other work. */
#define QOI_CYCLES_PER_POLL 256

/* Written by whoever runs the duty cycle; read by anyone, relaxed. */
struct qoi_agent_fields {
	uint64_t cycles;
	uint64_t work_count;
	uint64_t sleeps;
	uint64_t wakes;
	uint64_t listed;
	uint8_t pad[88];
};

struct qoi_agent {
	const struct qoi_config *config; /* owner: the context */
	struct qoi_topology *topology;	 /* owner: the context */
	struct qo_endpoint *endpoints[QOI_ENDPOINTS_MAX]; /* owner: context */
	uint32_t endpoint_count;
	uint32_t context_number; /* of the request table */
	int threaded;
	uint32_t crowded;      /* 1: a team here has more ranks than cores */
	uint32_t far_crowded;  /* 1: one has, with the daemon that it uses */
	struct qoi_bell *bell; /* the one that peers ring; never NULL */
	struct qoi_bell private_bell; /* for a context that no peer can ring */

	/*
	 * Something else that may happen, or watch_fd -1: a readable descriptor
	 * wakes the agent, and watch() looks.  1: losses must be told.
	 */
	int watch_fd; /* owner: who set it, before the thread starts */
	int (*watch)(void *arg);
	void *watch_arg;

	/* Held during a duty cycle, and by an inline waiter that sleeps. */
	pthread_mutex_t cycle_lock;
	struct qoi_work **works; /* what it moves on; owner: agent; cycle lock */
	uint32_t listed;	 /* of them; cycle lock */
	uint32_t cursor;	 /* where the next cycle starts; cycle lock */
	uint32_t unlent;	 /* of the last cycle: works without a lender */

	/* Guards which request slots are taken, against the look for losses. */
	pthread_mutex_t table_lock;

	/* Commands: any client thread to the agent. */
	uint32_t command_lock; /* spin: a few stores long */
	struct qoi_producer commands_in;
	struct qoi_consumer commands_out;
	void *command_slots; /* owner: the agent */
	uint64_t command_credit[QOI_CREDIT_BYTES / 8];

	pthread_t thread;
	int32_t thread_id;
	uint32_t stop;	    /* published by the owner, observed by the thread */
	uint32_t tid_known; /* publishes thread_id */
	int wake_fd;	    /* own clients wake the agent by it */
	uint32_t look;	    /* cycles until the next look at the endpoints */
	struct qoi_placement placement;
	uint64_t failed_requests; /* counted by whoever finishes one */
	uint64_t late_requests;
	struct qoi_agent_fields fields;
};

/* Endpoints, config, topology and the request table are set by the caller. */
int qoi_agent_open(struct qoi_agent *agent, uint64_t command_count);
void qoi_agent_close(struct qoi_agent *agent);

/* Starts and stops the thread; stop waits for it. */
int qoi_agent_thread_start(struct qoi_agent *agent);
void qoi_agent_thread_stop(struct qoi_agent *agent);

/* Hands a work over: the agent moves it on until it needs it no more. */
void qoi_agent_submit(struct qoi_agent *agent, struct qoi_request *request,
		      struct qoi_work *work);

/* Takes a work away from the agent, wherever it is; waits for the cycle. */
void qoi_agent_forget(struct qoi_agent *agent, struct qoi_work *work);

/* One duty cycle if nobody runs one now; returns how much was done, or -1. */
int qoi_agent_try_cycle(struct qoi_agent *agent);

/* Wakes the agent if it sleeps with nothing to do. */
void qoi_agent_wake(struct qoi_agent *agent);
/* Wakes threads of this context that sleep in a wait. */
void qoi_agent_wake_waiters(struct qoi_agent *agent);
/*
 * After a client ended a request: wakes who waits for it, also one that
 * sleeps as the inline agent.
 */
void qoi_agent_tell_waiters(struct qoi_agent *agent);

/* 1 when nothing is listed and no endpoint holds anything back. */
int qoi_agent_quiet(struct qoi_agent *agent);

/*
 * Sleeps until something may have happened or the deadline passed: announces
 * itself, runs one more cycle, and blocks only if that did nothing and
 * `ready`, when not NULL, still says 0.  Holds the cycle lock meanwhile.
 */
void qoi_agent_block(struct qoi_agent *agent, int64_t deadline_ns,
		     int (*ready)(void *arg), void *arg);

/* One duty cycle; the caller holds the cycle lock. */
int qoi_agent_cycle(struct qoi_agent *agent);
/* One before sleeping: over all works, however many, and all endpoints. */
int qoi_agent_last_look(struct qoi_agent *agent);

#endif
