/* SPDX-License-Identifier: BSD-3-Clause */
/* When things began and ended, to be asked later about some time in between. */
#ifndef QWINDOW_TIMELINE_H
#define QWINDOW_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

struct timeline_span {
	int64_t start_ns;
	int64_t end_ns;
};

struct timeline {
	struct timeline_span *spans; /* owned */
	size_t count;
	size_t room;
	int lost; /* no memory for one */
};

/* Without a timeline (NULL) nothing is kept. */
void timeline_add(struct timeline *timeline, int64_t start_ns, int64_t end_ns);
void timeline_release(struct timeline *timeline);

/* How many ended at or after `from_ns` and before `to_ns`. */
uint64_t timeline_ended(const struct timeline *timeline, int64_t from_ns,
			int64_t to_ns);
/* How long the longest took, of those that were under way in that time. */
uint64_t timeline_longest(const struct timeline *timeline, int64_t from_ns,
			  int64_t to_ns);

#endif
