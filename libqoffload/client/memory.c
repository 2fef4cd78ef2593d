/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "libqoffload/base/error.h"
#include "libqoffload/base/log.h"
#include "libqoffload/client/handle.h"
#include "libqoffload/client/link.h"
#include "libqoffload/shm/segment.h"

struct qo_mem {
	struct qoi_segment segment; /* empty for the user's own memory */
	void *address;
	size_t bytes;
	struct qoi_link *link; /* whose daemon maps it, held; or NULL */
};

static int check(qo_context_t context, size_t bytes, const void *out)
{
	if (!qoi_context_live(context))
		return qoi_fail(-EINVAL, "qo_mem: not a context");
	if (bytes == 0 || out == NULL)
		return qoi_fail(-EINVAL, "qo_mem: 0 bytes, or mem_out is NULL");
	return 0;
}

/*
 * Gives it to the daemon.  One that does not take it has other ways, unless
 * this one is the only one that the user wants.
 */
static int share(const struct qo_context *context, struct qo_mem *mem)
{
	struct qoi_link *link = context->link;
	int error;

	if (link == NULL || qoi_link_is_lost(link) || qoi_link_is_forked(link))
		return 0;
	error = qoi_link_region_add(link, mem->segment.fd, mem->segment.base,
				    mem->segment.bytes);
	if (error == 0) {
		qoi_link_hold(link);
		mem->link = link;
		return 0;
	}
	if (context->config.agent_memory == QOI_CONFIG_MEMORY_MAP)
		return error;
	qoi_log_warn("the agent does not map %zu bytes of qo_mem_alloc()",
		     mem->bytes);
	return 0;
}

int qo_mem_alloc(qo_context_t context, size_t bytes, void **address_out,
		 qo_mem_t *mem_out)
{
	struct qo_mem *mem;
	int error = check(context, bytes, mem_out);

	if (error == 0 && address_out == NULL)
		error = qoi_fail(-EINVAL, "qo_mem_alloc: address_out is NULL");
	if (error != 0)
		return error;
	mem = calloc(1, sizeof(*mem));
	if (mem == NULL)
		return qoi_fail(-ENOMEM, "no memory for a memory handle");
	/* Whole pages, which an agent can be given. */
	error = qoi_segment_create("qo-mem", (bytes + 4095) & ~(size_t)4095,
				   &mem->segment);
	if (error != 0) {
		free(mem);
		return error;
	}
	mem->address = mem->segment.base;
	mem->bytes = bytes;
	error = share(context, mem);
	if (error != 0) {
		qoi_segment_detach(&mem->segment);
		free(mem);
		return error;
	}
	qoi_segment_close_fd(&mem->segment);
	*address_out = mem->address;
	*mem_out = mem;
	return 0;
}

int qo_mem_register(qo_context_t context, void *address, size_t bytes,
		    qo_mem_t *mem_out)
{
	struct qo_mem *mem;
	int error = check(context, bytes, mem_out);

	if (error != 0)
		return error;
	if (address == NULL)
		return qoi_fail(-EINVAL, "qo_mem_register: address is NULL");
	mem = calloc(1, sizeof(*mem));
	if (mem == NULL)
		return qoi_fail(-ENOMEM, "no memory for a memory handle");
	mem->segment.fd = -1;
	mem->address = address;
	mem->bytes = bytes;
	*mem_out = mem;
	return 0;
}

int qo_mem_release(qo_mem_t mem)
{
	if (mem == NULL)
		return qoi_fail(-EINVAL, "qo_mem_release: mem is NULL");
	if (mem->link != NULL) {
		qoi_link_region_drop(mem->link, mem->segment.base);
		qoi_link_put(mem->link);
	}
	if (mem->segment.base != NULL)
		qoi_segment_detach(&mem->segment);
	free(mem);
	return 0;
}
