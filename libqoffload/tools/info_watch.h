/* SPDX-License-Identifier: BSD-3-Clause */
/* An observer of a daemon: it asks, and changes nothing there. */
#ifndef QOI_TOOLS_INFO_WATCH_H
#define QOI_TOOLS_INFO_WATCH_H

#include <stdint.h>
#include <sys/types.h>

#include "libqoffload/attach/address.h"
#include "libqoffload/attach/message.h"

/* How long a daemon may be silent. */
#define INFO_SILENCE_S 5

struct info_watch {
	int fd;	   /* owner: the watch */
	pid_t pid; /* of the daemon, as the kernel says */
	uint32_t token;
	int64_t deadline_ns; /* of all questions together */
	char name[QOI_ATTACH_NAME_BYTES];
};

/*
 * Connects to the daemon of this user: at `socket`, or, where that is NULL,
 * where QO_AGENT_SOCKET says; without such a one, to the job's private daemon.
 * Returns 0 or a negative errno, told: nobody is there, a stranger, another
 * layout, silence.
 */
int info_watch_open(const char *socket, struct info_watch *watch_out);

/*
 * what: QOI_STATUS_*; index: the first one that is wanted.
 * Returns 0 or a negative errno, told.  No further one: its `what` is 0.
 */
int info_watch_ask(struct info_watch *watch, uint32_t what, uint32_t index,
		   struct qoi_attach_message *answer);

void info_watch_close(struct info_watch *watch);

#endif
