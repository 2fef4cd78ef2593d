/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "libqoffload/base/error.h"
#include "libqoffload/client/handle.h"
#include "libqoffload/shm/segment.h"

struct qo_mem {
	struct qoi_segment segment; /* empty for the user's own memory */
	void *address;
	size_t bytes;
};

static int check(qo_context_t context, size_t bytes, const void *out)
{
	if (!qoi_context_live(context))
		return qoi_fail(-EINVAL, "qo_mem: not a context");
	if (bytes == 0 || out == NULL)
		return qoi_fail(-EINVAL, "qo_mem: 0 bytes, or mem_out is NULL");
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
	/* Whole pages, and a descriptor that an agent can be given. */
	error = qoi_segment_create("qo-mem", (bytes + 4095) & ~(size_t)4095,
				   &mem->segment);
	if (error != 0) {
		free(mem);
		return error;
	}
	mem->address = mem->segment.base;
	mem->bytes = bytes;
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
	if (mem->segment.base != NULL)
		qoi_segment_detach(&mem->segment);
	free(mem);
	return 0;
}
