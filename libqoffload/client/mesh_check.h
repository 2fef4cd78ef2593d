/* SPDX-License-Identifier: BSD-3-Clause */
/* What a rank can find wrong with the edges of a mesh by itself. */
#ifndef QOI_MESH_CHECK_H
#define QOI_MESH_CHECK_H

#include <qoffload/mesh.h>

#include "libqoffload/client/handle.h"

/* Returns 0 or -EINVAL, told: ranges, and edges that can't be told apart. */
int qoi_edges_check(const struct qo_team *team, const struct qo_edge *edges,
		    size_t count);

#endif
