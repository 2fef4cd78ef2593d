/* SPDX-License-Identifier: BSD-3-Clause */
/* The daemon behind a run under QO_AGENT=process, and what must be left. */
#ifndef QOC_SERVER_H
#define QOC_SERVER_H

#include "tests/conformance/prov.h"
#include "tests/support/daemon.h"

struct qoc_server {
	uint32_t far;		  /* the agent is of kind process */
	struct qot_daemon daemon; /* pid 0: ranks start private ones */
	char program[640];
	char job[64];
	const char *settings[4]; /* for the ranks; ends with NULL */
};

/* Starts it if the file wants one.  Returns 0, or tells and returns 1. */
int qoc_server_open(struct qoc_server *server, const struct qoc_prov *prov,
		    const char *agent);
/*
 * Ends it.  Nothing of the cases is left in it, its counts agree, and it ends
 * when it is asked to; private ones have ended by themselves.
 * Returns 0, or tells and returns 1.
 */
int qoc_server_close(struct qoc_server *server);

#endif
