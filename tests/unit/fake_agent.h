/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a client takes for a daemon: a thread that speaks the messages, behaves
 * well or badly as a test wants, and shows what the client said.  It moves
 * nothing by itself; the test takes commands and ends requests.
 */
#ifndef FAKE_AGENT_H
#define FAKE_AGENT_H

#include <pthread.h>

#include "libqoffload/attach/address.h"
#include "libqoffload/attach/message.h"
#include "libqoffload/attach/segment.h"
#include "libqoffload/coll/schedule.h"
#include "libqoffload/shm/segment.h"

#define FAKE_REGIONS 8
#define FAKE_KINDS 16
#define FAKE_STEPS 64

enum fake_greeting {
	FAKE_WELCOME,
	FAKE_REFUSES,	    /* -EAGAIN, "no room for you" */
	FAKE_OTHER_VERSION, /* a welcome of another layout */
	FAKE_SILENT	    /* says nothing */
};

struct fake_region {		    /* by number, modulo their count */
	struct qoi_segment segment; /* empty: free */
};

struct fake_agent {
	/* Set before the start. */
	enum fake_greeting greeting;
	uint32_t hang_ups; /* so many clients are dropped at their hello */
	uint32_t reach;	   /* what it says */
	int writes_cookie; /* 1: it shows that it may write */

	char name[QOI_ATTACH_NAME_BYTES];
	struct qoi_attach_door door;
	pthread_t thread;
	int stop_fd;
	int fd; /* of the one client; -1 */
	int wake_fd;
	uint8_t id[16];

	/* What it saw; `lock` is for what the thread may still change. */
	pthread_mutex_t lock;
	uint16_t errors[FAKE_KINDS]; /* by kind: refuses with that */
	int is_silent;		     /* 1: it answers no call */
	struct qoi_attach_message hello;
	uint32_t heard[FAKE_KINDS];	/* messages by kind */
	struct qoi_layout_attach_op op; /* the last one that was added */
	struct qoi_step steps[FAKE_STEPS];
	struct qoi_segment segment; /* the client's */
	struct qoi_segment page;    /* of its bell; empty: in the segment */
	struct qoi_attach_places places;
	struct qoi_consumer lanes[QOI_LANES_MAX];
	struct fake_region regions[FAKE_REGIONS];
};

/* Zeroes it; a fresh name in the abstract space. */
void fake_agent_init(struct fake_agent *fake);
/* Returns 0 when it listens. */
int fake_agent_start(struct fake_agent *fake);
/* As if it were killed: sockets close, and the thread ends. */
void fake_agent_stop(struct fake_agent *fake);

/* From now on it refuses a kind of call with an errno, or 0: does not. */
void fake_agent_refuse(struct fake_agent *fake, uint16_t kind, uint16_t error);
/* From now on it answers no calls, or does. */
void fake_agent_silence(struct fake_agent *fake, int silent);
/* How often it was told something of a kind. */
uint32_t fake_agent_heard(struct fake_agent *fake, uint16_t kind);
/* Takes a command from any lane, waiting a while: 1, or 0 none came. */
int fake_agent_take(struct fake_agent *fake, struct qoi_command *command);
/* Ends a request of the last operation. */
void fake_agent_complete(struct fake_agent *fake, uint32_t generation,
			 uint64_t word);
/* The bell that wakes who waits in the client. */
struct qoi_bell *fake_agent_bell(struct fake_agent *fake);
/* The memory of a buffer of the last operation: mapped, or by address. */
uint8_t *fake_agent_buffer(struct fake_agent *fake, uint32_t buffer);
/* Carries out its COPY steps. */
void fake_agent_copy(struct fake_agent *fake);

#endif
