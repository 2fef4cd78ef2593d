/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a .prov file says.  Its lines are:
 *   ranks N          the largest team that the provider can make
 *   agents A B       values of QO_AGENT
 *   daemon ARGS      one qo_agentd serves all cases, with these arguments;
 *                    without it, agents of kind process start private ones
 *   memory alloc     buffers come from qo_mem_alloc() where a case allows it
 *   set QO_X=value   a setting; fault is one of them that injects faults
 *   skip CASE WHY    a case that this provider may leave out
 */
#ifndef QOC_PROV_H
#define QOC_PROV_H

#include "tests/conformance/suite.h"

#define QOC_SKIPS_MAX 32
#define QOC_AGENTS_MAX 4
#define QOC_ARGUMENTS_MAX 8

struct qoc_prov {
	uint32_t ranks;
	uint32_t faulty;
	uint32_t alloc;	 /* memory alloc */
	uint32_t daemon; /* a line `daemon` is there */
	const char *arguments[QOC_ARGUMENTS_MAX + 1]; /* of it, then NULL */
	char *settings[QOC_SETTINGS_MAX];
	uint32_t setting_count;
	char *agents[QOC_AGENTS_MAX];
	uint32_t agent_count;
	char *skips[QOC_SKIPS_MAX];
	uint32_t skip_count;
};

/* Returns 0, or tells which line is wrong and returns -1. */
int qoc_prov_read(const char *path, struct qoc_prov *prov);
/* Why a case may be left out, or NULL. */
const char *qoc_prov_skip(const struct qoc_prov *prov, const char *name);

#endif
