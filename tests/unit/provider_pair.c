/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/provider_pair.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "libqoffload/base/clock.h"
#include "libqoffload/shm/atomic.h"

#define SETTINGS_MAX 16
#define POLL_BUDGET 64

int64_t in_ms(int64_t ms)
{
	return qoi_clock_ns() + ms * QOI_NS_PER_MS;
}

struct qo_endpoint *endpoint_open(const char *providers,
				  const char *const *settings)
{
	struct qo_endpoint *endpoints[QOI_ENDPOINTS_MAX];
	const char *all[SETTINGS_MAX];
	struct qoi_config config;
	char provider[64];
	uint32_t count = 0;
	size_t n = 0;
	int rc;

	snprintf(provider, sizeof(provider), "QO_PROVIDER=%s", providers);
	all[n++] = provider;
	while (settings != NULL && *settings != NULL && n < SETTINGS_MAX - 1)
		all[n++] = *settings++;
	all[n] = NULL;
	if (qoi_config_init(&config, all) != 0)
		return NULL;
	rc = qoi_providers_open(&config, endpoints, &count);
	qoi_config_fini(&config);
	if (rc != 0)
		return NULL;
	while (count > 1)
		endpoint_close(endpoints[--count]);
	return endpoints[0];
}

void endpoint_close(struct qo_endpoint *endpoint)
{
	endpoint->provider->ops->close(endpoint);
}

void endpoint_poll(struct qo_endpoint *endpoint)
{
	uint32_t work;

	endpoint->provider->ops->poll(endpoint, POLL_BUDGET, &work);
}

int endpoint_connect(struct qo_endpoint *from, struct qo_endpoint *to,
		     struct qo_conn **conn_out)
{
	uint8_t address[QO_ADDRESS_BYTES_MAX];
	size_t bytes;
	int rc = to->provider->ops->address(to, address, &bytes);

	if (rc != 0)
		return rc;
	return from->provider->ops->connect(from, address, bytes, in_ms(10000),
					    conn_out);
}

void endpoint_settle(struct qo_endpoint *endpoint)
{
	struct pollfd watched = { .fd = endpoint->provider->ops->fd(endpoint),
				  .events = POLLIN };

	while (poll(&watched, 1, 0) > 0)
		endpoint_poll(endpoint);
}

struct connect_call {
	struct qo_endpoint *from;
	struct qo_endpoint *to;
	struct qo_conn *conn;
	int rc;
};

static void *connect_in_thread(void *arg)
{
	struct connect_call *call = arg;

	call->rc = endpoint_connect(call->from, call->to, &call->conn);
	return NULL;
}

void connect_both(struct qo_endpoint *const endpoint[2],
		  struct qo_conn *conn_out[2], int rc_out[2])
{
	struct connect_call call = { .from = endpoint[1], .to = endpoint[0] };
	pthread_t thread;

	rc_out[0] = -ENOMEM;
	rc_out[1] = -ENOMEM;
	if (pthread_create(&thread, NULL, connect_in_thread, &call) != 0)
		return;
	rc_out[0] = endpoint_connect(endpoint[0], endpoint[1], &conn_out[0]);
	pthread_join(thread, NULL);
	rc_out[1] = call.rc;
	conn_out[1] = call.conn;
}

static const struct qo_control_tag pair_tag = { 0, 0, 77 };

static int offer(struct pair *pair, int i, uint64_t bytes)
{
	const struct qo_provider_ops *ops = pair->endpoint[i]->provider->ops;
	int rc = ops->window_create(pair->endpoint[i], bytes, &pair->window[i]);

	if (rc != 0)
		return rc;
	return ops->control_send(pair->conn[i], &pair_tag, NULL, 0,
				 pair->window[i], in_ms(1000));
}

static int take(struct pair *pair, int i)
{
	const struct qo_provider_ops *ops = pair->endpoint[i]->provider->ops;
	uint8_t none[1];
	size_t bytes;
	int rc = ops->control_recv(pair->conn[i], &pair_tag, none, 0, &bytes,
				   &pair->remote[i], in_ms(1000));

	if (rc != 0)
		return rc;
	return pair->remote[i] != NULL ? 0 : -EBADMSG;
}

int pair_open(struct pair *pair, const char *providers,
	      const char *const *settings, uint64_t window_bytes)
{
	int rcs[2];
	int rc;

	memset(pair, 0, sizeof(*pair));
	for (int i = 0; i < 2; i++) {
		pair->endpoint[i] = endpoint_open(providers, settings);
		if (pair->endpoint[i] == NULL)
			return -ENODEV;
	}
	connect_both(pair->endpoint, pair->conn, rcs);
	rc = rcs[0] != 0 ? rcs[0] : rcs[1];
	for (int i = 0; i < 2 && rc == 0; i++)
		rc = offer(pair, i, window_bytes);
	for (int i = 0; i < 2 && rc == 0; i++)
		rc = take(pair, i);
	/* Lets go of what connecting has left. */
	for (int i = 0; i < 2; i++)
		endpoint_settle(pair->endpoint[i]);
	return rc;
}

void pair_close(struct pair *pair)
{
	const struct qo_provider_ops *ops = pair->endpoint[0]->provider->ops;

	for (int i = 0; i < 2; i++) {
		if (pair->remote[i] != NULL)
			ops->remote_release(pair->remote[i]);
		if (pair->window[i] != NULL)
			ops->window_destroy(pair->window[i]);
		if (pair->conn[i] != NULL)
			ops->disconnect(pair->conn[i]);
	}
	for (int i = 0; i < 2; i++)
		if (pair->endpoint[i] != NULL)
			endpoint_close(pair->endpoint[i]);
}

int32_t conn_fate(struct qo_conn *conn)
{
	const struct qo_provider_ops *ops = conn->endpoint->provider->ops;
	int64_t deadline_ns = in_ms(1000);
	struct pollfd watched = { .fd = ops->fd(conn->endpoint),
				  .events = POLLIN };

	while (conn->fate == 0 && qoi_clock_ns() < deadline_ns) {
		poll(&watched, 1, ops->busy(conn->endpoint) ? 0 : 100);
		endpoint_poll(conn->endpoint);
	}
	return conn->fate;
}

int put_word(struct qo_remote *remote, uint64_t offset, const void *data,
	     uint64_t bytes, uint64_t word_offset, uint64_t word)
{
	struct qo_put put = { .offset = offset,
			      .data = data,
			      .bytes = bytes,
			      .word_offset = word_offset,
			      .word = word };

	return remote->conn->endpoint->provider->ops->put(remote, &put);
}

uint64_t word_at(const struct qo_window *window, uint64_t offset)
{
	return qoi_observe64(
		(const uint64_t *)(const void *)(window->base + offset));
}

int fd_count(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int count = 0;

	if (folder == NULL)
		return -1;
	while (readdir(folder) != NULL)
		count++;
	closedir(folder);
	return count;
}
