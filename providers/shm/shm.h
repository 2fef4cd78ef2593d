/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects of the shm provider; each is explained in its own file. */
#ifndef QO_SHM_H
#define QO_SHM_H

#include <poll.h>
#include <pthread.h>
#include <sys/types.h>

#include "libqoffload/shm/packet.h"
#include "providers/mailbox.h"
#include "providers/provider.h"
#include "providers/shm/mapping.h"
#include "providers/shm/socket.h"
#include "providers/shm/wire.h"

/* Connections that are being made at once, of which strangers take a share. */
#define QO_SHM_ATTEMPTS_MAX 4096
#define QO_SHM_REASON_BYTES 200

/* Lock order: endpoint, then control. */
struct qo_shm_endpoint {
	struct qo_endpoint public;
	struct qo_shm_address address;
	struct qo_shm_mapping *page; /* own bell and farewell */
	uint8_t cookie[16];	     /* what peers try to read */
	int get_switch;		     /* enum qoi_config_switch */
	uint64_t window_count;	     /* counted by whoever creates one */
	pid_t owner;		     /* a forked child must not say good-bye */

	/* Descriptors.  Owner: the endpoint. */
	int event_fd; /* peers write it to wake the agent */
	int listen_fd;
	int spare_fd;	 /* given up to turn a peer away when none is left */
	int setup_epoll; /* listen_fd and attempts */
	int epoll;	 /* event_fd, setup_epoll, hang-ups */

	/* Connections: set-up only; the duty cycle only ever tries the lock. */
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	int driving; /* a thread in connect() looks after setup_epoll */
	struct qo_shm_conn *conns;	 /* owner: the endpoint */
	struct qo_shm_attempt *attempts; /* owner: the endpoint */
	uint32_t attempt_count;
};

struct qo_shm_conn {
	struct qo_conn public;
	struct qo_shm_conn *next;
	uint8_t peer_id[QO_SHM_ID_BYTES];
	pid_t pid;
	int local;		     /* the peer is in this process */
	int fd;			     /* owner: the connection; -1 once dead */
	int pid_fd;		     /* the peer's process, or -1.  As fd */
	int peer_event_fd;	     /* owner: the connection */
	struct qo_shm_mapping *page; /* the peer's.  Owner: the connection */
	uint32_t refs;		     /* endpoint->mutex */

	/* Control messages: one thread reads, others wait for it. */
	pthread_mutex_t control_mutex;
	pthread_cond_t arrived;
	int reading;
	int control_error; /* what ended it, once nothing more comes */
	struct qoi_mailbox mailbox;
};

enum qo_shm_role {
	QO_SHM_CONNECT, /* to a peer with a higher id */
	QO_SHM_KNOCK,	/* at a peer with a lower id: it connects, we watch */
	QO_SHM_ACCEPT,	/* somebody came */
};

enum qo_shm_state {
	QO_SHM_DIAL, /* too many at the peer's door */
	QO_SHM_WAIT_HELLO,
	QO_SHM_WAIT_RESULT,
	QO_SHM_HOLD, /* a knock, in or out: until it hangs up */
	QO_SHM_DONE,
};

/* A connection in the making. */
struct qo_shm_attempt {
	struct qo_shm_attempt *next;
	enum qo_shm_role role;
	enum qo_shm_state state;
	struct qo_shm_endpoint *endpoint;
	int fd; /* owner: the attempt; -1 */
	pid_t pid;
	uint8_t peer_id[QO_SHM_ID_BYTES];
	int has_id;	   /* of a guest: it has said it */
	int64_t expiry_ns; /* of a stranger's patience: ACCEPT only */
	uint32_t waiters;  /* threads in connect() */
	uint32_t flags;	   /* QO_CONN_* so far */
	int peer_event_fd; /* owner: the attempt */
	struct qo_shm_mapping *page;
	int error; /* how it ended, when DONE and not connected */
	char reason[QO_SHM_REASON_BYTES];
};

static inline struct qo_shm_endpoint *qo_shm_of(struct qo_endpoint *endpoint)
{
	return (struct qo_shm_endpoint *)endpoint;
}

/* attempt.c, under endpoint->mutex */

/* Starts towards a peer, or joins who did; counts the caller as a waiter. */
int qo_shm_attempt_join(struct qo_shm_endpoint *endpoint, const uint8_t *peer_id,
			struct qo_shm_attempt **attempt_out);
void qo_shm_attempt_leave(struct qo_shm_endpoint *endpoint,
			  struct qo_shm_attempt *attempt);
/* Does what can be done without waiting.  Returns how much that was. */
uint32_t qo_shm_attempt_step(struct qo_shm_endpoint *endpoint);
/* How long one may sleep on setup_epoll. */
int64_t qo_shm_attempt_deadline(const struct qo_shm_endpoint *endpoint);
void qo_shm_attempt_destroy_all(struct qo_shm_endpoint *endpoint);

/* handshake.c, under endpoint->mutex */

/* Ends an attempt with a code and what to tell the user. */
void qo_shm_attempt_fail(struct qo_shm_attempt *attempt, int error,
			 const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/*
 * Sends this side's hello; without page and eventfd to whom it refuses.
 * Returns 0, or the attempt has failed.
 */
int qo_shm_handshake_hello(struct qo_shm_endpoint *endpoint,
			   struct qo_shm_attempt *attempt, int with_fds);
/* One message has come: 1, or 0 when none had. */
int qo_shm_handshake_advance(struct qo_shm_endpoint *endpoint,
			     struct qo_shm_attempt *attempt);

/* conn.c */
int qo_shm_connect(struct qo_endpoint *endpoint, const void *address,
		   size_t bytes, int64_t deadline_ns, struct qo_conn **conn_out);
void qo_shm_disconnect(struct qo_conn *conn);
/* Both under endpoint->mutex. */
struct qo_shm_conn *qo_shm_conn_find(struct qo_shm_endpoint *endpoint,
				     const uint8_t *peer_id);
/* Takes fd, page and bell over.  Returns 0, -ENOMEM, -EPERM (is there). */
int qo_shm_conn_create(struct qo_shm_endpoint *endpoint,
		       struct qo_shm_attempt *attempt);
void qo_shm_conn_destroy_all(struct qo_shm_endpoint *endpoint);
/* The socket hung up: sets the fate.  Caller: poll(). */
void qo_shm_conn_hung_up(struct qo_shm_conn *conn);
/* Why a connection ended: -EPIPE or -ECONNRESET. */
int qo_shm_conn_end(const struct qo_shm_conn *conn);

/* control.c */
int qo_shm_control_send(struct qo_conn *conn, const struct qo_control_tag *tag,
			const void *data, size_t bytes,
			struct qo_window *window, int64_t deadline_ns);
int qo_shm_control_recv(struct qo_conn *conn, const struct qo_control_tag *tag,
			void *data_out, size_t capacity, size_t *bytes_out,
			struct qo_remote **remote_out, int64_t deadline_ns);

/* window.c */
struct qo_shm_window {
	struct qo_window public;
	struct qo_shm_mapping *mapping;
};

int qo_shm_window_create(struct qo_endpoint *endpoint, uint64_t bytes,
			 struct qo_window **window_out);
void qo_shm_window_offered(struct qo_window *window);
void qo_shm_window_destroy(struct qo_window *window);
/* Takes the message's descriptor. */
int qo_shm_remote_open(struct qo_shm_conn *conn, struct qoi_message *message,
		       struct qo_remote **remote_out);
void qo_shm_remote_release(struct qo_remote *remote);
int qo_shm_get(struct qo_conn *conn, uint64_t remote_address, void *local,
	       uint64_t bytes);

#endif
