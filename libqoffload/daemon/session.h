/* SPDX-License-Identifier: BSD-3-Clause */
/* One client of the daemon: its socket, segment, regions and operations. */
#ifndef QOI_SESSION_H
#define QOI_SESSION_H

#include "libqoffload/agent/reach.h"
#include "libqoffload/attach/message.h"
#include "libqoffload/attach/segment.h"
#include "libqoffload/daemon/daemon.h"
#include "libqoffload/shm/segment.h"

struct qoi_half;

/*
 * What an event of the daemon's epoll is about: a session, and which of its
 * descriptors; they are aligned, so the low bits are free.
 */
#define QOI_EVENT_SOCKET UINT64_C(0)
#define QOI_EVENT_PROCESS UINT64_C(1)
#define QOI_EVENT_WAKE UINT64_C(2)
#define QOI_EVENT_TAGS UINT64_C(3)
/* Or none: nobody any more, the door, the order to stop. */
#define QOI_EVENT_NONE UINT64_C(0)
#define QOI_EVENT_DOOR UINT64_C(1)
#define QOI_EVENT_STOP UINT64_C(2)

enum qoi_session_state {
	QOI_SESSION_GREETING, /* connected; no hello yet */
	QOI_SESSION_OBSERVER, /* asks for the status, nothing else */
	QOI_SESSION_LIVE
};

/* Memory of a client that is mapped here. */
struct qoi_region {
	struct qoi_segment segment; /* its descriptor is closed */
	struct qoi_region *next;    /* in daemon->untouched, while in it */
	struct qoi_region *previous;
	uint64_t touched; /* bytes from the start that are paged in */
	uint32_t refs;	  /* the session, and each half that uses it */
};

struct qoi_session_counts {
	uint64_t posts;
	uint64_t completions;
	uint64_t failures;
	uint64_t bytes_moved;
	uint64_t commands_bad;
};

struct qoi_session {
	struct qoi_daemon *daemon;
	struct qoi_session *next;
	struct qoi_session *previous;
	enum qoi_session_state state;
	uint32_t number;
	int fd;	     /* owner: the session, as all descriptors here */
	int wake_fd; /* eventfd that the client writes to wake us; never read */
	struct qoi_far far; /* its process, as the kernel says */
	uint32_t uid;
	uint32_t reach; /* QOI_REACH_* */
	char job[33];
	int64_t attached_ns;

	struct qoi_segment segment;
	struct qoi_attach_places places;
	struct qoi_layout_attach_offer offer; /* checked copy */
	struct qoi_segment bell_page;	      /* empty: bell in the segment */
	struct qoi_bell *bell;
	struct qoi_consumer lanes[QOI_LANES_MAX];
	uint64_t busy_cycle; /* in which it posted last */
	uint32_t lane_next;  /* where the next turn looks first */

	struct qoi_region **regions; /* by the client's number.  Owner */
	uint32_t region_room;
	uint32_t region_count;
	uint64_t region_bytes;

	struct qoi_half **halves; /* by slot, NULL: free.  Owner */
	uint32_t half_room;
	uint32_t half_count;
	uint32_t half_next;	 /* where a free slot may be */
	uint64_t half_bytes;	 /* memory of the daemon that they may take */
	struct qoi_half *active; /* ring of those under way; half.c */
	uint64_t pending;
	struct qoi_session_counts counts;
};

/* session.c */

/* Takes the connection over (fd in any case).  Returns 0 or a told error. */
int qoi_session_create(struct qoi_daemon *daemon, int fd);
/*
 * fate: -EPIPE it said good-bye, -ECONNRESET it is lost, -ECONNABORTED the
 * daemon ends.  Others that need it are told; all that it had goes.
 */
void qoi_session_destroy(struct qoi_session *session, int fate);
/*
 * Something is at its socket: reads and answers up to `budget` messages, or one
 * that takes longer.
 * Returns 0, or why the session must end (-EPIPE, -ECONNRESET).
 */
int qoi_session_read(struct qoi_session *session, uint32_t budget);
/* 1 when its process has ended, whoever else may still hold its socket. */
int qoi_session_is_dead(const struct qoi_session *session);

/*
 * Its socket hung up or its process ended: reads what it said before.
 * Returns -EPIPE if it was a good-bye, else -ECONNRESET.
 */
int qoi_session_last_words(struct qoi_session *session);

/* 1 when another client has the same job name. */
int qoi_session_has_job_mate(const struct qoi_session *session);

/*
 * greeting.c: the first message, a hello.  Makes the session a client or an
 * observer, and the answer a welcome.  Returns 0 or a told error.
 */
int qoi_session_greet(struct qoi_session *session,
		      struct qoi_attach_message *message,
		      struct qoi_attach_message *answer);
/* Unmaps and closes what a greeting gave it, attached or not. */
void qoi_session_forget(struct qoi_session *session);

/*
 * request.c: any other message; fills the answer.  Returns 0 or a told error.
 * Descriptors that it keeps are taken out of the message.
 */
int qoi_session_request(struct qoi_session *session,
			struct qoi_attach_message *message,
			struct qoi_attach_message *answer);

/* region.c */

/*
 * Whether a descriptor is a sealed memory file of this size that has all of
 * its pages: then a touch takes no memory that may not be there.  Returns as
 * qoi_segment_check().
 */
int qoi_region_check(int fd, uint64_t bytes);
/*
 * Maps a region; its descriptor is taken over.  Returns 0, -EINVAL, -EBUSY (the
 * number is in use), -EBADMSG, -EPERM (no sealed memory file), -ENOMEM; told.
 */
int qoi_region_add(struct qoi_session *session,
		   const struct qoi_layout_attach_region *ask, int *fd);
/* Halves that use it keep it until they end.  Returns 0 or -EBADF (told). */
int qoi_region_drop(struct qoi_session *session, uint32_t number);
void qoi_regions_drop_all(struct qoi_session *session);
/* [offset, offset + bytes) of a region: its address here, or NULL. */
uint8_t *qoi_region_at(struct qoi_session *session, uint32_t number,
		       uint64_t offset, uint64_t bytes);
/* NULL: none of that number. */
struct qoi_region *qoi_region_get(struct qoi_session *session, uint32_t number);
void qoi_region_put(struct qoi_daemon *daemon, struct qoi_region *region);
/* Pages in one bounded piece of a region; 1: there is more to do. */
int qoi_region_touch(struct qoi_region *region);
/* Unmaps one bounded piece of what nobody uses any more; 0: there is none. */
int qoi_region_forget(struct qoi_daemon *daemon);

/* status.c: what observers ask for. */
void qoi_status_answer(struct qoi_daemon *daemon,
		       const struct qoi_layout_attach_status_ask *ask,
		       struct qoi_attach_message *answer);

#endif
