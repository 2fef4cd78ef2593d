/* SPDX-License-Identifier: BSD-3-Clause */
#include "libqoffload/client/mesh_check.h"

#include <errno.h>

#include "libqoffload/base/error.h"

static int edge_check(const struct qo_team *team, const struct qo_edge *edge,
		      size_t index)
{
	if (edge->source >= team->count || edge->destination >= team->count)
		return qoi_fail(-EINVAL,
				"edge %zu: %u -> %u, the team has %u "
				"ranks",
				index, edge->source, edge->destination,
				team->count);
	if (edge->slot_bytes > QO_EDGE_SLOT_BYTES_MAX)
		return qoi_fail(-EINVAL, "edge %zu: slot_bytes %u, at most %u",
				index, edge->slot_bytes, QO_EDGE_SLOT_BYTES_MAX);
	if (edge->depth == 0 || edge->depth > QO_EDGE_DEPTH_MAX ||
	    (edge->depth & (edge->depth - 1)) != 0)
		return qoi_fail(-EINVAL,
				"edge %zu: depth %u, must be a power "
				"of two up to %d",
				index, edge->depth, QO_EDGE_DEPTH_MAX);
	if (edge->flags != 0)
		return qoi_fail(-EINVAL, "edge %zu: flags must be 0", index);
	return 0;
}

static int same_edge(const struct qo_edge *a, const struct qo_edge *b)
{
	return a->source == b->source && a->destination == b->destination &&
	       a->tag == b->tag;
}

int qoi_edges_check(const struct qo_team *team, const struct qo_edge *edges,
		    size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int error = edge_check(team, &edges[i], i);

		if (error != 0)
			return error;
		if (edges[i].source != team->rank &&
		    edges[i].destination != team->rank)
			continue;
		for (size_t j = 0; j < i; j++) {
			if (same_edge(&edges[i], &edges[j]))
				return qoi_fail(-EINVAL,
						"edges %zu and %zu "
						"are the same: give them "
						"different tags",
						j, i);
		}
	}
	return 0;
}
