/* SPDX-License-Identifier: BSD-3-Clause */
/* The data plane: windows, put into them, get from a peer's memory. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "libqoffload/base/error.h"
#include "libqoffload/shm/atomic.h"
#include "providers/shm/shm.h"

int qo_shm_window_create(struct qo_endpoint *endpoint, uint64_t bytes,
			 struct qo_window **window_out)
{
	struct qo_shm_endpoint *shm = qo_shm_of(endpoint);
	struct qo_shm_window *window = calloc(1, sizeof(*window));
	struct qo_shm_window_id id;
	int rc;

	if (window == NULL)
		return qoi_fail(-ENOMEM, "shm: no memory for a window");
	memcpy(id.endpoint, shm->address.endpoint_id, sizeof(id.endpoint));
	id.index = qoi_count64(&shm->window_count, 1) + 1;
	rc = qo_shm_mapping_create(&id, "qoffload-window", bytes,
				   &window->mapping);
	if (rc != 0) {
		free(window);
		return rc;
	}
	window->public.endpoint = endpoint;
	window->public.base = window->mapping->segment.base;
	window->public.bytes = bytes;
	*window_out = &window->public;
	return 0;
}

void qo_shm_window_offered(struct qo_window *window)
{
	qo_shm_mapping_conceal(((struct qo_shm_window *)window)->mapping);
}

void qo_shm_window_destroy(struct qo_window *window)
{
	qo_shm_mapping_retire(((struct qo_shm_window *)window)->mapping);
	free(window);
}

struct remote {
	struct qo_remote public;
	struct qo_shm_mapping *mapping;
};

int qo_shm_remote_open(struct qo_shm_conn *conn, struct qoi_message *message,
		       struct qo_remote **remote_out)
{
	struct remote *remote = calloc(1, sizeof(*remote));
	struct qo_shm_window_id id;
	int fd = message->fd;
	int rc;

	if (remote == NULL)
		return qoi_fail(-ENOMEM, "shm: no memory for a window");
	if (fd < 0 && !conn->local) {
		free(remote);
		return qoi_fail(-ENOMEM, "shm: no descriptor left to take a "
					 "peer's window: raise `ulimit -n`");
	}
	memcpy(id.endpoint, conn->peer_id, sizeof(id.endpoint));
	id.index = message->window_index;
	message->fd = -1;
	rc = qo_shm_mapping_attach(&id, conn->local, fd, message->window_bytes,
				   &remote->mapping);
	if (rc != 0) {
		free(remote);
		return rc;
	}
	remote->public.conn = &conn->public;
	remote->public.base = remote->mapping->segment.base;
	remote->public.bytes = message->window_bytes;
	*remote_out = &remote->public;
	return 0;
}

void qo_shm_remote_release(struct qo_remote *remote)
{
	qo_shm_mapping_put(((struct remote *)remote)->mapping);
	free(remote);
}

int qo_shm_get(struct qo_conn *conn, uint64_t remote_address, void *local,
	       uint64_t bytes)
{
	pid_t pid = ((struct qo_shm_conn *)conn)->pid;
	uint64_t done = 0;

	if ((conn->flags & QO_CONN_GET) == 0)
		return -EOPNOTSUPP;
	if (qoi_observe32((const uint32_t *)&conn->fate) != 0)
		return -ECONNRESET;
	while (done < bytes) {
		struct iovec to = { (uint8_t *)local + done, bytes - done };
		struct iovec from = { (void *)(uintptr_t)(remote_address + done),
				      bytes - done };
		ssize_t count = process_vm_readv(pid, &to, 1, &from, 1, 0);

		if (count > 0)
			done += (uint64_t)count;
		else if (count < 0 && errno == ESRCH)
			return qoi_fail(-ECONNRESET,
					"shm: process %d has ended", (int)pid);
		else if (count == 0 || errno != EINTR)
			return qoi_fail(-EIO,
					"shm: read of %zu bytes from "
					"process %d: %m",
					to.iov_len, (int)pid);
	}
	return 0;
}
