/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An endpoint: a page with its bell, an eventfd by which its agent is woken,
 * and a socket at which peers arrive.  Nothing of it has a name in a file
 * system.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include "libqoffload/base/error.h"
#include "libqoffload/base/node.h"
#include "libqoffload/shm/atomic.h"
#include "providers/deadline.h"
#include "providers/put.h"
#include "providers/shm/shm.h"

#define EVENTS_MAX 16

static int fill_address(struct qo_shm_endpoint *shm)
{
	struct qo_shm_address *address = &shm->address;

	address->magic = QO_SHM_MAGIC_ADDRESS;
	address->layout_version = QOI_LAYOUT_VERSION;
	address->layout_hash = QOI_LAYOUT_HASH;
	address->uid = geteuid();
	if (qoi_node_id(address->node_id) != 0)
		return -ENODEV;
	if (getrandom(address->endpoint_id, QO_SHM_ID_BYTES, 0) !=
		    QO_SHM_ID_BYTES ||
	    getrandom(shm->cookie, sizeof(shm->cookie), 0) !=
		    (ssize_t)sizeof(shm->cookie))
		return qoi_fail(-ENODEV, "shm: getrandom: %m");
	return 0;
}

static int watch(int epoll, int fd, void *who)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = who };

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0)
		return qoi_fail(-ENOMEM, "shm: epoll_ctl: %m");
	return 0;
}

static void close_fds(struct qo_shm_endpoint *shm)
{
	int fds[] = { shm->event_fd, shm->listen_fd, shm->spare_fd,
		      shm->setup_epoll, shm->epoll };

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static int open_fds(struct qo_shm_endpoint *shm)
{
	int rc;

	shm->listen_fd = -1;
	shm->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	shm->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	shm->setup_epoll = epoll_create1(EPOLL_CLOEXEC);
	shm->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (shm->event_fd < 0 || shm->spare_fd < 0 || shm->setup_epoll < 0 ||
	    shm->epoll < 0) {
		rc = qoi_fail(-ENOMEM, "shm: descriptors of an endpoint: %m");
		goto err_close;
	}
	rc = qo_shm_socket_listen(shm->address.endpoint_id, &shm->listen_fd);
	if (rc != 0) {
		qoi_fail(rc, "shm: listening socket: %m");
		goto err_close;
	}
	rc = watch(shm->setup_epoll, shm->listen_fd, &shm->listen_fd);
	if (rc == 0)
		rc = watch(shm->epoll, shm->event_fd, &shm->event_fd);
	if (rc == 0)
		rc = watch(shm->epoll, shm->setup_epoll, &shm->setup_epoll);
	if (rc != 0)
		goto err_close;
	return 0;

err_close:
	close_fds(shm);
	return rc;
}

static int shm_open_endpoint(const struct qo_provider *provider,
			     const struct qoi_config *config,
			     struct qo_endpoint **endpoint_out)
{
	struct qo_shm_endpoint *shm = calloc(1, sizeof(*shm));
	struct qo_shm_window_id id = { .index = 0 };
	int rc;

	if (shm == NULL)
		return qoi_fail(-ENOMEM, "shm: no memory for an endpoint");
	shm->public.provider = provider;
	shm->get_switch = config->shm_get;
	shm->owner = getpid();
	rc = fill_address(shm);
	if (rc != 0)
		goto err_free;
	memcpy(id.endpoint, shm->address.endpoint_id, sizeof(id.endpoint));
	rc = qo_shm_mapping_create(&id, "qoffload-bell",
				   sizeof(struct qo_shm_page), &shm->page);
	if (rc != 0)
		goto err_free;
	shm->public.bell =
		&((struct qo_shm_page *)(void *)shm->page->segment.base)->bell;
	rc = qoi_deadline_condition_init(&shm->changed);
	if (rc != 0)
		goto err_page;
	rc = open_fds(shm);
	if (rc != 0)
		goto err_condition;
	pthread_mutex_init(&shm->mutex, NULL);
	*endpoint_out = &shm->public;
	return 0;

err_condition:
	pthread_cond_destroy(&shm->changed);
err_page:
	qo_shm_mapping_retire(shm->page);
err_free:
	free(shm);
	return rc;
}

static void shm_close_endpoint(struct qo_endpoint *endpoint)
{
	struct qo_shm_endpoint *shm = qo_shm_of(endpoint);
	struct qo_shm_page *page = (void *)shm->page->segment.base;

	/* Seen by whoever then sees the sockets hang up. */
	if (shm->owner == getpid())
		qoi_publish32(&page->farewell, 1);
	qo_shm_attempt_destroy_all(shm);
	qo_shm_conn_destroy_all(shm);
	close_fds(shm);
	qo_shm_mapping_retire(shm->page);
	pthread_cond_destroy(&shm->changed);
	pthread_mutex_destroy(&shm->mutex);
	free(shm);
}

static int shm_address(struct qo_endpoint *endpoint, void *address_out,
		       size_t *bytes_out)
{
	static_assert(sizeof(struct qo_shm_address) <= QO_ADDRESS_BYTES_MAX,
		      "address");
	memcpy(address_out, &qo_shm_of(endpoint)->address,
	       sizeof(struct qo_shm_address));
	*bytes_out = sizeof(struct qo_shm_address);
	return 0;
}

static int shm_reachable(struct qo_endpoint *endpoint, const void *address,
			 size_t bytes)
{
	const struct qo_shm_address *own = &qo_shm_of(endpoint)->address;
	struct qo_shm_address peer;

	if (bytes != sizeof(peer))
		return -EPROTONOSUPPORT;
	memcpy(&peer, address, sizeof(peer));
	if (peer.magic != own->magic)
		return -EPROTONOSUPPORT;
	if (memcmp(peer.node_id, own->node_id, sizeof(own->node_id)) != 0)
		return -ENETUNREACH;
	if (peer.layout_version != own->layout_version ||
	    peer.layout_hash != own->layout_hash)
		return -EPROTONOSUPPORT;
	/* To oneself is self's affair. */
	if (memcmp(peer.endpoint_id, own->endpoint_id, QO_SHM_ID_BYTES) == 0)
		return -ENETUNREACH;
	return 0;
}

static int shm_poll(struct qo_endpoint *endpoint, uint32_t budget,
		    uint32_t *work_out)
{
	struct qo_shm_endpoint *shm = qo_shm_of(endpoint);
	struct epoll_event events[EVENTS_MAX];
	uint32_t work = 0;
	int setup = 0;
	int count;

	*work_out = 0;
	if (budget == 0)
		return 0;
	/* Somebody connects; the descriptor stays readable for next time. */
	if (pthread_mutex_trylock(&shm->mutex) != 0)
		return 0;
	count = epoll_wait(shm->epoll, events,
			   budget < EVENTS_MAX ? (int)budget : EVENTS_MAX, 0);
	for (int i = 0; i < count; i++) {
		void *who = events[i].data.ptr;

		if (who == &shm->event_fd)
			continue; /* wake_clear() is for that */
		if (who == &shm->setup_epoll) {
			setup = !shm->driving;
			continue;
		}
		qo_shm_conn_hung_up(who);
		work++;
	}
	/* Last: it may free connections that other events name. */
	if (setup) {
		work += qo_shm_attempt_step(shm);
		pthread_cond_broadcast(&shm->changed);
	}
	pthread_mutex_unlock(&shm->mutex);
	*work_out = work;
	return 0;
}

static int shm_fd(struct qo_endpoint *endpoint)
{
	return qo_shm_of(endpoint)->epoll;
}

static void shm_wake(struct qo_conn *conn)
{
	uint32_t wanted = qoi_bell_wanted(conn->peer_bell, QOI_BELL_AGENT_DATA);

	if ((wanted & QOI_BELL_WAKE_WAITERS) != 0)
		qoi_bell_ring_waiters(conn->peer_bell);
	/* A full count means that it is woken already. */
	if ((wanted & QOI_BELL_WAKE_AGENT) != 0)
		eventfd_write(((struct qo_shm_conn *)conn)->peer_event_fd, 1);
}

static void shm_wake_clear(struct qo_endpoint *endpoint)
{
	eventfd_t count;

	eventfd_read(qo_shm_of(endpoint)->event_fd, &count);
}

static int shm_bell_page(struct qo_endpoint *endpoint, int *fd_out,
			 uint64_t *bytes_out, uint64_t *offset_out)
{
	const struct qoi_segment *segment = &qo_shm_of(endpoint)->page->segment;

	*fd_out = segment->fd;
	*bytes_out = segment->bytes;
	*offset_out = offsetof(struct qo_shm_page, bell);
	return 0;
}

/* Whoever sleeps over there is woken by what was just published. */
static int shm_put(struct qo_remote *remote, const struct qo_put *put)
{
	int error = qoi_put_mapped(remote, put);

	if (error == 0)
		shm_wake(remote->conn);
	return error;
}

static const struct qo_provider_ops shm_ops = {
	.size = sizeof(struct qo_provider_ops),
	.open = shm_open_endpoint,
	.close = shm_close_endpoint,
	.address = shm_address,
	.reachable = shm_reachable,
	.connect = qo_shm_connect,
	.disconnect = qo_shm_disconnect,
	.control_send = qo_shm_control_send,
	.control_recv = qo_shm_control_recv,
	.window_create = qo_shm_window_create,
	.window_offered = qo_shm_window_offered,
	.window_destroy = qo_shm_window_destroy,
	.remote_release = qo_shm_remote_release,
	.put = shm_put,
	.get = qo_shm_get,
	.poll = shm_poll,
	.fd = shm_fd,
	.wake = shm_wake,
	.wake_clear = shm_wake_clear,
	.bell_page = shm_bell_page,
};

extern const struct qo_provider qo_shm_provider;
const struct qo_provider qo_shm_provider = {
	.abi = QO_PROVIDER_ABI,
	.caps = QO_CAP_MAP | QO_CAP_PUT | QO_CAP_GET | QO_CAP_FD,
	.name = "shm",
	.doc = "ranks of one node, through shared memory",
	.ops = &shm_ops,
};
