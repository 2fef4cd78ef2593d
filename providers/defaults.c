/* SPDX-License-Identifier: BSD-3-Clause */
/* What stands in for an op that a provider doesn't have. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "libqoffload/base/error.h"
#include "providers/registry.h"

#define CAPS_KNOWN (QO_CAP_MAP | QO_CAP_PUT | QO_CAP_GET | QO_CAP_FD)

static int no_put(struct qo_remote *remote, const struct qo_put *put)
{
	(void)remote;
	(void)put;
	return -EOPNOTSUPP;
}

static int no_get(struct qo_conn *conn, uint64_t remote_address, void *local,
		  uint64_t bytes)
{
	(void)conn;
	(void)remote_address;
	(void)local;
	(void)bytes;
	return -EOPNOTSUPP;
}

static int no_fd(struct qo_endpoint *endpoint)
{
	(void)endpoint;
	return -EOPNOTSUPP;
}

static void no_wake_clear(struct qo_endpoint *endpoint)
{
	(void)endpoint;
}

static void no_window_offered(struct qo_window *window)
{
	(void)window;
}

static int no_bell_page(struct qo_endpoint *endpoint, int *fd_out,
			uint64_t *bytes_out, uint64_t *offset_out)
{
	(void)endpoint;
	(void)fd_out;
	(void)bytes_out;
	(void)offset_out;
	return -EOPNOTSUPP;
}

/* Nothing is ever delayed inside. */
static int never_busy(struct qo_endpoint *endpoint)
{
	(void)endpoint;
	return 0;
}

/* Every provider has these, whatever its caps. */
static const char *missing_op(const struct qo_provider_ops *ops)
{
	if (ops->open == NULL || ops->close == NULL)
		return "open and close";
	if (ops->address == NULL || ops->reachable == NULL)
		return "address and reachable";
	if (ops->connect == NULL || ops->disconnect == NULL)
		return "connect and disconnect";
	if (ops->control_send == NULL || ops->control_recv == NULL)
		return "control_send and control_recv";
	if (ops->window_create == NULL || ops->window_destroy == NULL ||
	    ops->remote_release == NULL)
		return "window_create, window_destroy and remote_release";
	if (ops->poll == NULL || ops->wake == NULL)
		return "poll and wake";
	return NULL;
}

static const char *caps_mismatch(uint32_t caps,
				 const struct qo_provider_ops *ops)
{
	int wants_fd = (caps & QO_CAP_FD) != 0;

	if ((caps & ~CAPS_KNOWN) != 0)
		return "an unknown bit";
	if (((caps & QO_CAP_PUT) != 0) != (ops->put != NULL))
		return "QO_CAP_PUT against put";
	if (((caps & QO_CAP_GET) != 0) != (ops->get != NULL))
		return "QO_CAP_GET against get";
	if (wants_fd != (ops->fd != NULL) ||
	    wants_fd != (ops->wake_clear != NULL))
		return "QO_CAP_FD against fd and wake_clear";
	if ((caps & (QO_CAP_MAP | QO_CAP_PUT)) == 0)
		return "neither QO_CAP_MAP nor QO_CAP_PUT: no way to a peer";
	return NULL;
}

static void fill_gaps(struct qo_provider_ops *ops)
{
	if (ops->put == NULL)
		ops->put = no_put;
	if (ops->get == NULL)
		ops->get = no_get;
	if (ops->fd == NULL)
		ops->fd = no_fd;
	if (ops->wake_clear == NULL)
		ops->wake_clear = no_wake_clear;
	if (ops->busy == NULL)
		ops->busy = never_busy;
	if (ops->window_offered == NULL)
		ops->window_offered = no_window_offered;
	if (ops->bell_page == NULL)
		ops->bell_page = no_bell_page;
}

int qoi_provider_adopt(const struct qo_provider *from, struct qo_provider *to,
		       struct qo_provider_ops *ops_storage)
{
	struct qo_provider_ops ops;
	const char *wrong;

	if (from->abi != QO_PROVIDER_ABI)
		return qoi_fail(-EPROTONOSUPPORT,
				"provider %s has abi %u, this library %u",
				from->name, from->abi, QO_PROVIDER_ABI);
	/* A shorter table is older and leaves gaps; a longer one is newer. */
	if (from->ops->size < sizeof(size_t) || from->ops->size > sizeof(ops) ||
	    from->ops->size % sizeof(void *) != 0)
		return qoi_fail(-EPROTONOSUPPORT,
				"provider %s has ops of %zu bytes, "
				"this library %zu",
				from->name, from->ops->size, sizeof(ops));
	memset(&ops, 0, sizeof(ops));
	memcpy(&ops, from->ops, from->ops->size);
	wrong = missing_op(&ops);
	if (wrong != NULL)
		return qoi_fail(-EINVAL, "provider %s lacks %s", from->name,
				wrong);
	wrong = caps_mismatch(from->caps, &ops);
	if (wrong != NULL)
		return qoi_fail(-EINVAL, "provider %s, caps 0x%x: %s",
				from->name, from->caps, wrong);
	fill_gaps(&ops);
	ops.size = sizeof(ops);
	*ops_storage = ops;
	*to = *from;
	to->ops = ops_storage;
	return 0;
}
