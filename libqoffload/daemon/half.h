/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An operation as the daemon has it: a group of halves, one for each rank.
 * What crosses between two ranks goes through memory of the daemon's own;
 * long messages go straight from buffer to buffer.
 */
#ifndef QOI_HALF_H
#define QOI_HALF_H

#include <uthash.h>

#include "libqoffload/agent/exec.h"
#include "libqoffload/daemon/session.h"

/* Messages below this size are kept until their receiver posts. */
#define QOI_EAGER_BYTES UINT64_C(4096)
/* Slots of a ring between two halves. */
#define QOI_RING_SLOTS 8
/* What one operation may ask for. */
#define QOI_STEPS_MAX (UINT32_C(1) << 14)
#define QOI_RANKS_MAX QOI_SESSIONS_MAX
#define QOI_SCRATCH_MAX (UINT64_C(1) << 32)
#define QOI_HALVES_MAX (UINT32_C(1) << 20)

struct qoi_group_key {
	uint64_t team;
	uint32_t sequence;
	uint32_t uid;
};

struct qoi_group {
	UT_hash_handle hh; /* in daemon->groups */
	struct qoi_group_key key;
	struct qoi_daemon *daemon;
	uint32_t count;		  /* ranks */
	uint32_t present;	  /* halves that are here */
	uint32_t tied;		  /* 1: every rank came, channels are made */
	uint32_t losses;	  /* halves that have left */
	uint32_t listed;	  /* 1: in daemon->groups */
	struct qoi_half **halves; /* by rank, NULL: not here */
	uint8_t **windows; /* by rank: what its peers write.  Owner: the group */
	struct qo_conn *conns;		/* by rank: its fate */
	struct qo_conn **conn_pointers; /* the same, for execs */
	struct qo_remote *remotes;	/* by rank: its window, for others */
};

struct qoi_half {
	struct qoi_exec exec;
	struct qoi_schedule *schedule; /* owner: the half */
	struct qoi_channel **channels; /* by rank, or NULL.  Owner: the half */
	struct qoi_session *session;   /* owner: the daemon */
	struct qoi_group *group;       /* owner: its halves together */
	struct qoi_region *regions[QOI_BUFFER_COUNT]; /* held, or NULL */
	struct qoi_half *next; /* in the ring of active ones of its session */
	struct qoi_half *previous;
	uint64_t memory_bytes; /* of the daemon's, at the most */
	uint32_t rank;
	uint32_t slot;	     /* in session->halves */
	uint32_t completion; /* slot of the completion table */
	uint32_t generation; /* of the request under way */
	uint32_t pending;    /* 1: a request is under way */
	uint32_t active;     /* 1: in the ring: something may move */
	uint32_t bulk;	     /* 1: it has long messages */
	uint32_t local;	     /* copies within the rank that a waiter may do */
};

/*
 * Makes a half from what a client asks for.  steps: a private copy, checked
 * here; taken over in any case.  Returns 0 and its slot; -EINVAL, -EBADMSG,
 * -EPERM, -ENOMEM, -EAGAIN (too many); all told.
 */
int qoi_half_add(struct qoi_session *session,
		 const struct qoi_layout_attach_op *ask, struct qoi_step *steps,
		 uint64_t *slot_out);
/* Returns 0 or -EBADF.  A request under way ends; peers see -EPIPE. */
int qoi_half_drop(struct qoi_session *session, uint32_t slot);
/* All of a client that ends; returns how many requests were under way. */
uint32_t qoi_halves_drop_all(struct qoi_session *session, int fate);

/* Starts the request that a command asks for, or ends it at once. */
void qoi_half_start(struct qoi_half *half, uint32_t generation);
/* Moves it on as far as its share of this cycle goes.  Returns 1 if it did. */
int qoi_half_move(struct qoi_half *half);
/* Out of the ring of active ones. */
void qoi_half_rest(struct qoi_half *half);
/* A rank has left: fails what can't end any more, now. */
void qoi_half_peer_gone(struct qoi_half *half);

/*
 * A turn of a session: takes a few commands of its lanes, moves a few of its
 * halves.  Returns how much was done.
 */
int qoi_session_turn(struct qoi_session *session);
/* Starts what is posted now: no more than its lanes hold. */
void qoi_session_start_posted(struct qoi_session *session);

#endif
