/* SPDX-License-Identifier: BSD-3-Clause */
/* Wraps another provider and does to its puts what a network might. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "libqoffload/base/error.h"
#include "libqoffload/base/log.h"
#include "libqoffload/shm/atomic.h"
#include "providers/fault/internal.h"

#define NEEDED_CAPS (QO_CAP_PUT | QO_CAP_FD)

static int fault_open(const struct qo_provider *provider,
		      const struct qoi_config *config,
		      struct qo_endpoint **endpoint_out)
{
	const struct qo_provider *inner =
		((const struct qo_wrapper *)(const void *)provider)->inner;
	struct fault_endpoint *endpoint;
	int rc;

	if ((inner->caps & NEEDED_CAPS) != NEEDED_CAPS)
		return qoi_fail(-ENODEV, "fault: %s lacks put or fd",
				inner->name);
	endpoint = calloc(1, sizeof(*endpoint));
	if (endpoint == NULL)
		return qoi_fail(-ENOMEM, "fault: no memory for an endpoint");
	rc = qo_fault_queue_init(endpoint, config);
	if (rc != 0)
		goto err_free;
	rc = inner->ops->open(inner, config, &endpoint->inner);
	if (rc != 0)
		goto err_queue;
	qo_fault_plan_init(&endpoint->plan, config);
	pthread_mutex_init(&endpoint->mutex, NULL);
	endpoint->public.provider = provider;
	endpoint->public.bell = endpoint->inner->bell;
	endpoint->ops = inner->ops;
	endpoint->now = 1;
	*endpoint_out = &endpoint->public;
	return 0;

err_queue:
	qo_fault_queue_fini(endpoint);
err_free:
	free(endpoint);
	return rc;
}

static void fault_close(struct qo_endpoint *public)
{
	struct fault_endpoint *endpoint = fault_of(public);
	const struct qo_fault_stats *stats = &endpoint->stats;

	qoi_log_info("fault: %" PRIu64 " puts, delayed %" PRIu64
		     " reordered %" PRIu64 " duplicated %" PRIu64
		     " torn %" PRIu64 " dropped %" PRIu64 " refused %" PRIu64,
		     stats->accepted, stats->delayed, stats->reordered,
		     stats->duplicated, stats->torn, stats->dropped,
		     stats->refused);
	qo_fault_conns_destroy(endpoint);
	endpoint->ops->close(endpoint->inner);
	qo_fault_queue_fini(endpoint);
	pthread_mutex_destroy(&endpoint->mutex);
	free(endpoint);
}

static int fault_address(struct qo_endpoint *endpoint, void *address_out,
			 size_t *bytes_out)
{
	return fault_of(endpoint)->ops->address(fault_of(endpoint)->inner,
						address_out, bytes_out);
}

static int fault_reachable(struct qo_endpoint *endpoint, const void *address,
			   size_t bytes)
{
	return fault_of(endpoint)->ops->reachable(fault_of(endpoint)->inner,
						  address, bytes);
}

static int fault_control_send(struct qo_conn *conn,
			      const struct qo_control_tag *tag,
			      const void *data, size_t bytes,
			      struct qo_window *window, int64_t deadline_ns)
{
	struct fault_endpoint *endpoint = fault_of(conn->endpoint);
	struct qo_window *inner = NULL;

	if (qoi_observe32((const uint32_t *)&conn->fate) != 0)
		return qoi_fail(conn->fate, "fault: the connection is broken");
	if (window != NULL)
		inner = ((struct fault_window *)window)->inner;
	return endpoint->ops->control_send(((struct fault_conn *)conn)->inner,
					   tag, data, bytes, inner, deadline_ns);
}

static int fault_control_recv(struct qo_conn *conn,
			      const struct qo_control_tag *tag, void *data_out,
			      size_t capacity, size_t *bytes_out,
			      struct qo_remote **remote_out, int64_t deadline_ns)
{
	struct fault_endpoint *endpoint = fault_of(conn->endpoint);
	struct fault_remote *remote = NULL;
	struct qo_remote *inner = NULL;
	int rc;

	if (remote_out != NULL) {
		remote = calloc(1, sizeof(*remote));
		if (remote == NULL)
			return qoi_fail(-ENOMEM,
					"fault: no memory for a window");
	}
	rc = endpoint->ops->control_recv(((struct fault_conn *)conn)->inner,
					 tag, data_out, capacity, bytes_out,
					 remote_out != NULL ? &inner : NULL,
					 deadline_ns);
	if (rc != 0 || inner == NULL) {
		free(remote);
		if (rc == 0 && remote_out != NULL)
			*remote_out = NULL;
		return rc;
	}
	remote->public.conn = conn;
	remote->public.base = NULL;
	remote->public.bytes = inner->bytes;
	remote->inner = inner;
	remote->conn = (struct fault_conn *)conn;
	*remote_out = &remote->public;
	return 0;
}

static int fault_window_create(struct qo_endpoint *public, uint64_t bytes,
			       struct qo_window **window_out)
{
	struct fault_endpoint *endpoint = fault_of(public);
	struct fault_window *window = calloc(1, sizeof(*window));
	int rc;

	if (window == NULL)
		return qoi_fail(-ENOMEM, "fault: no memory for a window");
	rc = endpoint->ops->window_create(endpoint->inner, bytes,
					  &window->inner);
	if (rc != 0) {
		free(window);
		return rc;
	}
	window->public = *window->inner;
	window->public.endpoint = public;
	*window_out = &window->public;
	return 0;
}

static void fault_window_offered(struct qo_window *window)
{
	fault_of(window->endpoint)
		->ops->window_offered(((struct fault_window *)window)->inner);
}

static void fault_window_destroy(struct qo_window *window)
{
	fault_of(window->endpoint)
		->ops->window_destroy(((struct fault_window *)window)->inner);
	free(window);
}

static void fault_remote_release(struct qo_remote *public)
{
	struct fault_remote *remote = (struct fault_remote *)public;
	struct fault_endpoint *endpoint = fault_of(public->conn->endpoint);

	pthread_mutex_lock(&endpoint->mutex);
	qo_fault_queue_flush(endpoint, remote);
	qo_fault_busy_update(endpoint);
	pthread_mutex_unlock(&endpoint->mutex);
	endpoint->ops->remote_release(remote->inner);
	free(remote);
}

static int fault_poll(struct qo_endpoint *public, uint32_t budget,
		      uint32_t *work_out)
{
	struct fault_endpoint *endpoint = fault_of(public);
	int rc;

	*work_out = 0;
	/* Somebody connects. */
	if (pthread_mutex_trylock(&endpoint->mutex) != 0)
		return 0;
	rc = endpoint->ops->poll(endpoint->inner, budget, work_out);
	endpoint->now++;
	/* A fate that changed is work too: somebody may wait for that peer. */
	*work_out += qo_fault_conns_poll(endpoint);
	*work_out += qo_fault_queue_deliver(endpoint, budget);
	qo_fault_busy_update(endpoint);
	pthread_mutex_unlock(&endpoint->mutex);
	return rc;
}

static int fault_fd(struct qo_endpoint *endpoint)
{
	return fault_of(endpoint)->ops->fd(fault_of(endpoint)->inner);
}

static int fault_busy(struct qo_endpoint *endpoint)
{
	return qoi_observe32(&fault_of(endpoint)->busy) != 0 ||
	       fault_of(endpoint)->ops->busy(fault_of(endpoint)->inner);
}

static void fault_wake(struct qo_conn *conn)
{
	fault_of(conn->endpoint)->ops->wake(((struct fault_conn *)conn)->inner);
}

static void fault_wake_clear(struct qo_endpoint *endpoint)
{
	fault_of(endpoint)->ops->wake_clear(fault_of(endpoint)->inner);
}

static int fault_bell_page(struct qo_endpoint *endpoint, int *fd_out,
			   uint64_t *bytes_out, uint64_t *offset_out)
{
	return fault_of(endpoint)->ops->bell_page(fault_of(endpoint)->inner,
						  fd_out, bytes_out, offset_out);
}

void qo_fault_stats_get(struct qo_endpoint *public,
			struct qo_fault_stats *stats_out)
{
	struct fault_endpoint *endpoint = fault_of(public);

	pthread_mutex_lock(&endpoint->mutex);
	*stats_out = endpoint->stats;
	pthread_mutex_unlock(&endpoint->mutex);
}

static const struct qo_provider_ops fault_ops = {
	.size = sizeof(struct qo_provider_ops),
	.open = fault_open,
	.close = fault_close,
	.address = fault_address,
	.reachable = fault_reachable,
	.connect = qo_fault_connect,
	.disconnect = qo_fault_disconnect,
	.control_send = fault_control_send,
	.control_recv = fault_control_recv,
	.window_create = fault_window_create,
	.window_offered = fault_window_offered,
	.window_destroy = fault_window_destroy,
	.remote_release = fault_remote_release,
	.put = qo_fault_put,
	.poll = fault_poll,
	.fd = fault_fd,
	.busy = fault_busy,
	.wake = fault_wake,
	.wake_clear = fault_wake_clear,
	.bell_page = fault_bell_page,
};

extern const struct qo_provider qo_fault_provider;
const struct qo_provider qo_fault_provider = {
	.abi = QO_PROVIDER_ABI,
	.caps = QO_CAP_PUT | QO_CAP_FD,
	.name = "fault",
	.doc = "wraps another provider and injects faults: fault:shm",
	.ops = &fault_ops,
};
