/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stops this process with all its threads for a while (SIGSTOP), to see what
 * goes on without it.  A stopped process can't continue itself: a helper, made
 * beforehand by fork(), does both, and tells when.  It calls neither MPI nor
 * the exchange, and leaves when this process does.
 */
#ifndef QWINDOW_FREEZE_H
#define QWINDOW_FREEZE_H

#include <stdint.h>
#include <sys/types.h>

#define FREEZE_MS 500 /* when not told */
#define FREEZE_MS_MOST 30000

struct freeze {
	int64_t duration_ns; /* wanted */
	uint64_t window;     /* it stops before this one, the first is 1 */
	pid_t helper;
	int socket;	  /* owned, to the helper */
	int64_t begin_ns; /* all threads stood still from here .. */
	int64_t end_ns;	  /* .. to here; 0: not yet */
};

/*
 * Makes the helper; duration_ns and window are set.  Before there is an
 * exchange, so that the helper holds none of its sockets: a peer learns of a
 * death from a socket that hangs up.  0 or -errno.
 */
int freeze_open(struct freeze *freeze);
/* Stands still; returns afterwards.  Once.  0, or -EIO: it did not. */
int freeze_now(struct freeze *freeze);
/* Reaps the helper. */
void freeze_close(struct freeze *freeze);

#endif
