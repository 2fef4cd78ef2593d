/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A context's link to the daemon: its session, its command lanes, and the news
 * that the daemon is gone.  With a link, the agent's thread of this process
 * moves nothing that the daemon has; it sleeps on sockets, and tells losses.
 */
#ifndef QOI_LINK_H
#define QOI_LINK_H

#include <pthread.h>

#include "libqoffload/agent/agent.h"
#include "libqoffload/attach/message.h"
#include "libqoffload/attach/segment.h"
#include "libqoffload/shm/segment.h"

struct qoi_lane {
	uint32_t lock; /* spin: a few stores; among threads of this process */
	uint32_t pad[31];
	struct qoi_producer producer;
};

/* Memory of this process that the daemon maps. */
struct qoi_link_region {
	struct qoi_link_region *next;
	uint8_t *address;
	uint64_t bytes;
	uint32_t number;
};

struct qoi_link {
	const struct qoi_config *config; /* owner: the context */
	int fd;		    /* owner: the link, as all descriptors here */
	int pid_fd;	    /* of the daemon, or -1 */
	int wake_fd;	    /* written to wake the daemon */
	int epoll;	    /* fd's hang-up and pid_fd, for the agent */
	int32_t daemon_pid; /* as the kernel says */
	int32_t owner_pid;  /* a forked child must not use it */
	uint32_t forks;	    /* qoi_link_forks when it was opened */
	uint32_t refs;	    /* the context, and each qo_mem; atomic */
	uint32_t reach;	    /* QOI_REACH_*: found with this very pair */
	uint32_t session;   /* its number there */
	uint8_t daemon_id[16];
	uint32_t lost;	    /* 1: the daemon is gone.  Published */
	uint32_t told;	    /* 1: qoi_link_look() has said so; agent's thread */
	uint8_t cookie[32]; /* what the daemon tries to read, then to write */

	struct qoi_segment segment;
	struct qoi_attach_places places;
	struct qoi_layout_attach_offer offer;
	struct qoi_lane *lanes; /* owner: the link */

	pthread_mutex_t call_lock; /* one question at a time */
	uint32_t token;		   /* of the last question */
	pthread_mutex_t region_lock;
	struct qoi_link_region *regions; /* owner: the link */
	uint32_t region_next;		 /* number to try first */
	uint32_t region_count;
};

/* How often this process was forked, counted in the children. */
extern uint32_t qoi_link_forks;

struct qoi_link_params {
	const struct qoi_config *config;
	/*
	 * The page of the bell that peers ring, or -1: then the bell of the
	 * segment is to be used, see qoi_link_bell().
	 */
	int bell_fd; /* stays the caller's */
	uint64_t bell_bytes;
	uint64_t bell_offset;
};

/*
 * Attaches, as the configuration says: QO_AGENT=auto takes a daemon that is
 * there, process starts a private one else.
 * Returns 0 with *link_out, which is NULL when there is none that can be used
 * under `auto`; -ENOENT, -ETIMEDOUT, -EPERM, -EPROTONOSUPPORT, -ENOSPC,
 * -ENOMEM, -EAGAIN: told.
 */
int qoi_link_open(const struct qoi_link_params *params,
		  struct qoi_link **link_out);
/*
 * Says good-bye (but not in a forked child) and waits for the answer, after
 * which the daemon touches none of our memory.  Others may still hold it.
 */
void qoi_link_close(struct qoi_link *link);
void qoi_link_hold(struct qoi_link *link);
void qoi_link_put(struct qoi_link *link);
struct qoi_bell *qoi_link_bell(struct qoi_link *link);

/*
 * Asks and waits for the answer, at most QO_AGENT_TIMEOUT.  Descriptors of the
 * question stay the caller's.  Any thread.
 * Returns 0 with the answer's value; what the daemon refused with (told with
 * its text); -ECONNABORTED agent lost; -ETIMEDOUT; -EPERM in a forked child.
 */
int qoi_link_call(struct qoi_link *link, struct qoi_attach_message *question,
		  uint64_t *value_out);

/*
 * Takes room for one command in this thread's lane, or in another one.  The
 * lane is locked until qoi_link_commit(), so little may happen in between.
 * NULL: all lanes are full.
 */
struct qoi_lane *qoi_link_claim(struct qoi_link *link,
				struct qoi_command **command_out);
/* Sends the claimed command, and wakes the daemon if it sleeps. */
void qoi_link_commit(struct qoi_link *link, struct qoi_lane *lane);

static inline int qoi_link_is_lost(const struct qoi_link *link)
{
	return qoi_observe32(&link->lost) != 0;
}

/* 1 in a child of the process that opened it. */
static inline int qoi_link_is_forked(const struct qoi_link *link)
{
	return link->forks != qoi_own32(&qoi_link_forks);
}

/* For the agent's thread: 1 when the daemon was found to be gone just now. */
int qoi_link_look(struct qoi_link *link);

/* Regions.  The descriptor stays the caller's.  Returns as qoi_link_call(). */
int qoi_link_region_add(struct qoi_link *link, int fd, void *address,
			uint64_t bytes);
/* Does nothing for memory that is no region. */
void qoi_link_region_drop(struct qoi_link *link, const void *address);
/* The region that holds all of [address, address + bytes): 1 found, 0 not. */
int qoi_link_region_find(struct qoi_link *link, const void *address,
			 uint64_t bytes, uint32_t *number_out,
			 uint64_t *offset_out);

#endif
