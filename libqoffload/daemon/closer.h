/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Closes what strangers sent.  Closing may wait: for a socket that lingers, for
 * what lies unread in another, for a file server.  So a thread does it that has
 * nothing else to do.
 */
#ifndef QOI_CLOSER_H
#define QOI_CLOSER_H

/*
 * Closes fd, now or later; a sealed memory file at once.  If that thread is
 * stuck with many, or can't be had, fd stays open: it is one of those that the
 * limit of open files bounds.  Any thread.
 */
void qoi_closer_take(int fd);

#endif
