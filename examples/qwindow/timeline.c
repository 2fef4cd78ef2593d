/* SPDX-License-Identifier: BSD-3-Clause */
#include "examples/qwindow/timeline.h"

#include <stdlib.h>
#include <string.h>

void timeline_add(struct timeline *timeline, int64_t start_ns, int64_t end_ns)
{
	if (timeline == NULL)
		return;
	if (timeline->count == timeline->room) {
		size_t room = timeline->room * 2 + 4096;
		struct timeline_span *grown =
			realloc(timeline->spans, room * sizeof(*grown));

		if (grown == NULL) {
			timeline->lost = 1;
			return;
		}
		timeline->spans = grown;
		timeline->room = room;
	}
	timeline->spans[timeline->count++] =
		(struct timeline_span){ start_ns, end_ns };
}

void timeline_release(struct timeline *timeline)
{
	free(timeline->spans);
	memset(timeline, 0, sizeof(*timeline));
}

uint64_t timeline_ended(const struct timeline *timeline, int64_t from_ns,
			int64_t to_ns)
{
	uint64_t ended = 0;

	for (size_t i = 0; i < timeline->count; i++) {
		const struct timeline_span *span = &timeline->spans[i];

		ended += span->end_ns >= from_ns && span->end_ns < to_ns;
	}
	return ended;
}

uint64_t timeline_longest(const struct timeline *timeline, int64_t from_ns,
			  int64_t to_ns)
{
	int64_t longest_ns = 0;

	for (size_t i = 0; i < timeline->count; i++) {
		const struct timeline_span *span = &timeline->spans[i];
		int64_t took_ns = span->end_ns - span->start_ns;

		if (span->start_ns < to_ns && span->end_ns >= from_ns &&
		    longest_ns < took_ns)
			longest_ns = took_ns;
	}
	return (uint64_t)longest_ns;
}
