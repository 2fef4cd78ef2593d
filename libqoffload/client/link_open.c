/* SPDX-License-Identifier: BSD-3-Clause */
/* Attaching to a daemon: which one, the greeting, and what it showed. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "libqoffload/attach/address.h"
#include "libqoffload/base/clock.h"
#include "libqoffload/base/error.h"
#include "libqoffload/base/fail_point.h"
#include "libqoffload/base/log.h"
#include "libqoffload/client/launch.h"
#include "libqoffload/client/link.h"
#include "libqoffload/client/link_wire.h"

/* Slots of a command lane: posts that the daemon has not taken yet. */
#define LANE_SLOTS 256
/* Between two tries to attach. */
#define NAP_NS 1000000
/* A private daemon may be leaving as we come; then another one is started. */
#define LAUNCHES_MAX 4
#define LAUNCH_EVERY_NS (UINT64_C(1000) * 1000000)

/* Not an error yet: it may go well the next time. */
#define TRY_AGAIN 1

/* An attempt to attach that goes on until the deadline. */
struct search {
	const struct qoi_link_params *params;
	int64_t deadline_ns;
	char shared[QOI_ATTACH_NAME_BYTES];  /* name of the user's daemon */
	char private[QOI_ATTACH_NAME_BYTES]; /* of the job's own, or the same */
	uint32_t launches;
	int64_t launched_ns;
};

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void fork_child(void)
{
	qoi_set_own32(&qoi_link_forks, qoi_link_forks + 1);
}

static void fork_watch(void)
{
	/* Without it a child would speak for its parent: it can't be let be. */
	if (pthread_atfork(NULL, NULL, fork_child) != 0)
		qoi_log_warn("pthread_atfork: don't use a context after fork");
}

static void offer_fill(const struct qoi_link_params *params,
		       struct qoi_layout_attach_offer *offer)
{
	char job[QOI_CONFIG_JOB_BYTES];

	qoi_config_job(params->config, job);
	memset(offer, 0, sizeof(*offer));
	offer->lane_count = (uint32_t)params->config->agent_lanes;
	offer->lane_slots = LANE_SLOTS;
	offer->completion_count = (uint32_t)params->config->request_count;
	if (params->bell_fd >= 0) {
		offer->bell_bytes = params->bell_bytes;
		offer->bell_offset = (uint32_t)params->bell_offset;
	}
	memcpy(offer->job, job, strnlen(job, sizeof(offer->job) - 1));
}

static int lanes_make(struct qoi_link *link)
{
	uint64_t bytes = link->offer.lane_count * sizeof(struct qoi_lane);

	link->lanes = aligned_alloc(128, (bytes + 127) & ~UINT64_C(127));
	if (link->lanes == NULL)
		return qoi_fail(-ENOMEM, "no memory for command lanes");
	memset(link->lanes, 0, bytes);
	for (uint32_t i = 0; i < link->offer.lane_count; i++)
		qoi_producer_init(&link->lanes[i].producer,
				  &link->places.lane_shape,
				  qoi_attach_lane_slots(&link->places,
							link->segment.base, i),
				  qoi_attach_lane_credit(&link->places,
							 link->segment.base, i),
				  0);
	return 0;
}

/* Not before there is a daemon: it costs pages. */
static int segment_make(struct qoi_link *link)
{
	int error = 0;

	if (link->segment.base != NULL)
		return 0;
	error = qoi_segment_create("qoffload-agent", link->places.bytes,
				   &link->segment);
	if (error != 0)
		return error;
	qoi_attach_format(&link->places, &link->offer, link->segment.base);
	return lanes_make(link);
}

static int link_alloc(const struct qoi_link_params *params,
		      struct qoi_link **link_out)
{
	struct qoi_link *link =
		aligned_alloc(128, (sizeof(*link) + 127) & ~(size_t)127);
	int error = 0;

	if (link == NULL)
		return qoi_fail(-ENOMEM, "no memory for a link to the agent");
	memset(link, 0, sizeof(*link));
	link->config = params->config;
	link->fd = link->pid_fd = link->wake_fd = link->epoll = -1;
	link->segment.fd = -1;
	link->owner_pid = getpid();
	link->forks = qoi_own32(&qoi_link_forks);
	link->refs = 1;
	if (getrandom(link->cookie, 16, 0) != 16)
		error = qoi_fail(-EIO, "getrandom: %m");
	offer_fill(params, &link->offer);
	if (error == 0)
		error = qoi_attach_places(&link->offer, &link->places);
	if (error != 0) {
		free(link);
		return error;
	}
	pthread_mutex_init(&link->call_lock, NULL);
	pthread_mutex_init(&link->region_lock, NULL);
	*link_out = link;
	return 0;
}

/* One that never came to be attached. */
static void link_free(struct qoi_link *link)
{
	int fds[] = { link->epoll, link->pid_fd, link->wake_fd, link->fd };

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
	free(link->lanes);
	qoi_segment_detach(&link->segment);
	qoi_link_put(link);
}

static int hello_send(struct qoi_link *link,
		      const struct qoi_link_params *params, int64_t deadline_ns)
{
	struct qoi_attach_message message;
	struct qoi_layout_hello *hello = &message.body.hello.hello;
	const struct qoi_config *config = params->config;

	qoi_attach_message_init(&message, QOI_ATTACH_HELLO, 0);
	qoi_attach_hello_fill(hello);
	if (getrandom(hello->endpoint_id, sizeof(hello->endpoint_id), 0) !=
	    sizeof(hello->endpoint_id))
		return qoi_fail(-EIO, "getrandom: %m");
	hello->window_bytes = link->segment.bytes;
	hello->probe_address = (uintptr_t)link->cookie;
	memcpy(hello->probe_cookie, link->cookie, sizeof(hello->probe_cookie));
	if (config->shm_get != QOI_CONFIG_SWITCH_OFF &&
	    config->agent_memory != QOI_CONFIG_MEMORY_MAP &&
	    config->agent_memory != QOI_CONFIG_MEMORY_STAGE)
		hello->flags = QOI_HELLO_MAY_GET;
	message.body.hello.offer = link->offer;
	message.fds[0] = link->segment.fd;
	message.fds[1] = params->bell_fd;
	return qoi_wire_send(link->fd, &message, deadline_ns);
}

/* What the daemon says it may do is believed only as far as it showed it. */
static uint32_t reach_check(const struct qoi_link *link, uint32_t reach)
{
	reach &= QOI_REACH_READ | QOI_REACH_WRITE;
	if (memcmp(link->cookie, link->cookie + 16, 16) != 0)
		reach &= ~(uint32_t)QOI_REACH_WRITE;
	return reach;
}

static int welcome_take(struct qoi_link *link,
			struct qoi_attach_message *message)
{
	const struct qoi_layout_hello *hello = &message->body.welcome.hello;
	int error = qoi_attach_hello_check(hello);

	if (error != 0)
		return error;
	if (message->fds[0] < 0)
		return qoi_fail(message->fds_lost ? -ENOMEM : -EBADMSG,
				"agent process %d: its welcome came without a "
				"descriptor%s",
				link->daemon_pid,
				message->fds_lost ? ": raise `ulimit -n`" : "");
	link->wake_fd = message->fds[0];
	message->fds[0] = -1;
	link->session = message->body.welcome.welcome.session;
	link->reach = reach_check(link, message->body.welcome.welcome.reach);
	memcpy(link->daemon_id, hello->endpoint_id, sizeof(link->daemon_id));
	/*
	 * One that was given its socket by another process has that one's pid
	 * there; then the socket alone says when it ends.
	 */
	if (hello->pid == (uint32_t)link->daemon_pid)
		link->pid_fd = (int)syscall(SYS_pidfd_open, link->daemon_pid, 0);
	return 0;
}

static int greeting_take(struct qoi_link *link,
			 struct qoi_attach_message *message)
{
	const struct qoi_layout_attach_answer *answer = &message->body.answer;

	if (message->header.kind == QOI_ATTACH_WELCOME)
		return welcome_take(link, message);
	if (message->header.kind != QOI_ATTACH_ANSWER ||
	    message->header.error == 0)
		return qoi_fail(-EPROTONOSUPPORT,
				"agent process %d answers a hello with %u",
				link->daemon_pid, message->header.kind);
	return qoi_fail(qoi_error_from_errno(message->header.error),
			"agent process %d refuses: %.*s", link->daemon_pid,
			(int)sizeof(answer->text), (const char *)answer->text);
}

/* Returns 0, TRY_AGAIN (it was leaving), or a told error. */
static int greet(struct qoi_link *link, const struct search *search)
{
	struct qoi_attach_message message;
	int error = hello_send(link, search->params, search->deadline_ns);

	QOI_FAIL_POINT("attach_hello_sent");
	if (error == 0)
		error = qoi_wire_recv(link->fd, &message, search->deadline_ns);
	if (error == -ECONNRESET)
		return TRY_AGAIN;
	if (error != 0)
		return qoi_fail(error, "agent process %d does not greet: %s",
				link->daemon_pid, qo_error_string(error));
	error = greeting_take(link, &message);
	qoi_attach_message_close(&message);
	return error;
}

static int connect_to(struct qoi_link *link, const struct search *search,
		      const char *name)
{
	pid_t pid;
	int error = qoi_attach_connect(name, &link->fd, &pid);

	if (error != 0) {
		link->fd = -1;
		/* Too many are at its door. */
		return error == -EAGAIN ? TRY_AGAIN : error;
	}
	QOI_FAIL_POINT("attach_connected");
	link->daemon_pid = pid;
	error = segment_make(link);
	if (error == 0)
		error = greet(link, search);
	if (error != 0) {
		close(link->fd);
		link->fd = -1;
	}
	return error;
}

/* Starts a daemon for the job, unless one is just on its way. */
static int launch(struct search *search)
{
	int64_t now = qoi_clock_ns();

	if (search->launches != 0 &&
	    (search->launches == LAUNCHES_MAX ||
	     now - search->launched_ns < (int64_t)LAUNCH_EVERY_NS))
		return 0;
	search->launches++;
	search->launched_ns = now;
	return qoi_launch_agent(search->params->config, search->private);
}

/* Returns 0, TRY_AGAIN, -ENOENT (none there), or a told error. */
static int try_once(struct qoi_link *link, struct search *search)
{
	int automatic = search->params->config->agent == QOI_CONFIG_AGENT_AUTO;
	int error = connect_to(link, search, search->shared);

	if (error != -ENOENT || automatic)
		return error;
	if (strcmp(search->shared, search->private) != 0)
		error = connect_to(link, search, search->private);
	if (error != -ENOENT)
		return error;
	error = launch(search);
	return error == 0 ? TRY_AGAIN : error;
}

static int attach(struct qoi_link *link, struct search *search)
{
	const struct timespec nap = { 0, NAP_NS };
	int error = try_once(link, search);

	while (error == TRY_AGAIN && qoi_clock_ns() < search->deadline_ns) {
		nanosleep(&nap, NULL);
		error = try_once(link, search);
	}
	if (error == TRY_AGAIN)
		return qoi_fail(-ETIMEDOUT,
				"no agent at %s took us in QO_AGENT_TIMEOUT%s",
				search->private,
				search->launches == 0
					? ""
					: ", though one was started: see what "
					  "it says when you start it yourself");
	return error;
}

static int watch(struct qoi_link *link, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events };

	if (fd < 0 || epoll_ctl(link->epoll, EPOLL_CTL_ADD, fd, &event) == 0)
		return 0;
	return qoi_fail(-ENOMEM, "epoll_ctl: %m");
}

/* Answers are for who asked: only the end is looked for. */
static int watch_end(struct qoi_link *link)
{
	int error;

	link->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (link->epoll < 0)
		return qoi_fail(-ENOMEM, "epoll_create1: %m; see `ulimit -n`");
	error = watch(link, link->fd, EPOLLRDHUP);
	if (error == 0)
		error = watch(link, link->pid_fd, EPOLLIN);
	return error;
}

static int search_init(struct search *search,
		       const struct qoi_link_params *params)
{
	const struct qoi_config *config = params->config;
	char job[QOI_CONFIG_JOB_BYTES];
	int error;

	memset(search, 0, sizeof(*search));
	search->params = params;
	search->deadline_ns =
		qoi_clock_after(qoi_clock_ns(), config->agent_timeout);
	qoi_config_job(config, job);
	error = qoi_attach_name(config->agent_socket, NULL, search->shared);
	if (error == 0)
		error = qoi_attach_name(config->agent_socket, job,
					search->private);
	return error;
}

static int link_make(struct search *search, struct qoi_link **link_out)
{
	struct qoi_link *link;
	int error = link_alloc(search->params, &link);

	if (error != 0)
		return error;
	error = attach(link, search);
	if (error == 0)
		error = watch_end(link);
	if (error != 0) {
		link_free(link);
		return error;
	}
	/* The daemon has it mapped; nobody else is to be given it. */
	qoi_segment_close_fd(&link->segment);
	QOI_FAIL_POINT("attach_welcomed");
	qoi_log_info("agent: process %d, session %u, may%s%s%s",
		     link->daemon_pid, link->session,
		     link->reach == 0 ? " not reach our memory" : "",
		     (link->reach & QOI_REACH_READ) != 0 ? " read" : "",
		     (link->reach & QOI_REACH_WRITE) != 0 ? " write" : "");
	*link_out = link;
	return 0;
}

int qoi_link_open(const struct qoi_link_params *params,
		  struct qoi_link **link_out)
{
	int automatic = params->config->agent == QOI_CONFIG_AGENT_AUTO;
	struct search search;
	int error = search_init(&search, params);

	if (error != 0)
		return error;
	pthread_once(&fork_once, fork_watch);
	error = link_make(&search, link_out);
	if (error == 0 || !automatic)
		return error;
	*link_out = NULL;
	if (error != -ENOENT)
		qoi_log_warn("the agent at %s can't be used: a thread of this "
			     "process takes its place",
			     search.shared);
	return 0;
}
