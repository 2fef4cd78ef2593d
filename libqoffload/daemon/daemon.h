/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The agent as a process of its own: one thread that serves every client of
 * its user on this node.  It never waits for a client: sockets don't block,
 * no lock is shared, and what a client says is copied, then checked.
 */
#ifndef QOI_DAEMON_H
#define QOI_DAEMON_H

#include <stdint.h>
#include <sys/epoll.h>

#include "libqoffload/attach/address.h"
#include "libqoffload/base/topology.h"
#include "libqoffload/daemon/errors.h"

/* Clients, regions and operations: what one daemon takes. */
#define QOI_SESSIONS_MAX 1024
/* Each is a mapping, of which a process has 65530 (vm.max_map_count). */
#define QOI_REGIONS_MAX 49152
/* Of one client: a few of them can't use up the daemon's. */
#define QOI_SESSION_REGIONS_MAX 8192
/* Connections that are no clients: the oldest makes room for the next one. */
#define QOI_GUESTS_MAX 64
/* Events that one look at the sockets takes. */
#define QOI_EVENTS_MAX 64
/* What one cycle may move of long messages. */
#define QOI_CYCLE_BULK_BYTES (UINT64_C(128) << 10)

struct qoi_session;
struct qoi_group;
struct qoi_region;

struct qoi_daemon_params {
	const char *name;  /* where to listen: see attach/address.h */
	int listen_fd;	   /* inherited, or -1: listen at `name` */
	const char *cpu;   /* as QO_AGENT_CPU */
	int idle;	   /* enum qoi_config_idle */
	uint64_t spin_ns;  /* of an adaptive idle agent */
	uint64_t yield_ns; /* after the spin */
	uint32_t jobs_max; /* different job names at once; 0: any */
	int no_cross;	   /* 1: never enters a client's memory, see reach.h */
	int private;	   /* 1: leaves with its last client */
	uint64_t grace_ns; /* private: how long it waits for the first one */
	uint64_t drain_ns; /* how long requests may take after a stop */
};

struct qoi_daemon_counts {
	uint64_t clients_ever;
	uint64_t clients_lost;
	uint64_t clients_refused;
	uint64_t cycles;
	uint64_t wakes;
	uint64_t sleeps;
	uint64_t posts;
	uint64_t completions;
	uint64_t failures;
	uint64_t bytes_moved;
	uint64_t commands_bad;
};

struct qoi_daemon {
	struct qoi_daemon_params params;
	struct qoi_attach_door door;  /* fd -1 once it takes nobody more */
	int epoll;		      /* owner: the daemon */
	struct qoi_session *sessions; /* list.  Owner: the daemon */
	struct qoi_session *turn;     /* where the next cycle begins, or NULL */
	uint32_t session_count;	      /* all in the list */
	uint32_t client_count;	      /* of them, those that are attached */
	uint32_t session_next;	      /* number of the next one */
	uint32_t job_count;	      /* different names among the clients */
	struct qoi_group *groups;     /* hash by key.  Owner: the daemon */
	uint32_t group_count;
	struct qoi_region *untouched; /* list: not paged in yet */
	struct qoi_region *forsaken;  /* list: to be unmapped.  Owner: daemon */
	uint64_t forsaken_bytes;      /* of those */
	uint32_t region_count;
	uint64_t region_bytes;
	uint64_t half_bytes;	 /* memory that operations may take */
	uint64_t half_bytes_max; /* what it promises to all of them */
	uint32_t busy_clients;	 /* that posted of late */
	uint64_t pending;	 /* requests under way */
	uint8_t id[16];		 /* random: its identity */
	uint8_t *bounce;	 /* 2 * QOI_BOUNCE_BYTES.  Owner: the daemon */
	uint64_t bulk_left; /* bytes that this cycle may still move in bulk */
	uint64_t look_left; /* work until the next look at the sockets */
	int spare_fd; /* given up to turn somebody away when there is no other */
	int stop_fd;  /* of qoi_daemon_run(), or -1.  Owner: its caller */
	struct epoll_event events[QOI_EVENTS_MAX]; /* of the look under way */
	int event_count;
	int64_t started_ns;
	int64_t empty_since_ns; /* private: since when without clients */
	int64_t stop_ns;	/* 0, or when the drain gives up */
	struct qoi_topology *topology;
	struct qoi_placement placement;
	struct qoi_daemon_counts counts;
	struct qoi_error_log errors;
};

/*
 * Listens, and binds the calling thread to its core.
 * Returns 0 or what qoi_attach_listen(), the topology or memory say (told).
 */
int qoi_daemon_open(const struct qoi_daemon_params *params,
		    struct qoi_daemon **daemon_out);
/* Ends all sessions: their clients see that the agent is lost. */
void qoi_daemon_close(struct qoi_daemon *daemon);

/* Wakes it when a descriptor is readable; what: QOI_EVENT_*.  0 or -ENOMEM. */
int qoi_daemon_watch(struct qoi_daemon *daemon, int fd, uint64_t what);

/*
 * One duty cycle: sockets now and then, a turn of every session.  Returns how
 * much was done.  Never blocks.
 */
int qoi_daemon_cycle(struct qoi_daemon *daemon);
/* Looks at sockets now: accepts, answers, learns who died.  Never blocks. */
int qoi_daemon_look(struct qoi_daemon *daemon);
/*
 * Announces its sleep to every client, runs one more cycle, and blocks only
 * if that did nothing.  timeout_ns: -1 for ever.
 */
void qoi_daemon_block(struct qoi_daemon *daemon, int64_t timeout_ns);

/* Takes no new clients and no new posts; is over when nothing is under way. */
void qoi_daemon_stop(struct qoi_daemon *daemon);
/* 1 when the loop should end: drained, or private and alone. */
int qoi_daemon_over(struct qoi_daemon *daemon);

/*
 * Runs until it is over.  stop_fd: readable when it shall stop (a signalfd),
 * or -1.
 */
void qoi_daemon_run(struct qoi_daemon *daemon, int stop_fd);

#endif
