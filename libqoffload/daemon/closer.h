/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Closes what strangers sent.  Closing may wait: for a socket that lingers, for
 * what lies unread in another, for a file server.  So a thread does it that has
 * nothing else to do.
 */
#ifndef QOI_CLOSER_H
#define QOI_CLOSER_H

/*
 * Closes fd, now or later; a sealed memory file at once.  Those that wait for a
 * thread that is stuck, or can't be had, are bounded by the limit of open
 * files.  Any thread.
 */
void qoi_closer_take(int fd);

#endif
