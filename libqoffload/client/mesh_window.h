/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of a mesh that its peers write: slots in, credits for slots out. */
#ifndef QOI_MESH_WINDOW_H
#define QOI_MESH_WINDOW_H

#include "libqoffload/agent/mesh.h"

/*
 * Makes and formats the window, and sets the own ends of all edges.
 * offsets: by edge, where its own end lies; filled in.  A mesh without edges
 * here has no window.  Returns 0 or -ENOSPC, told.
 */
int qoi_mesh_window_make(struct qo_mesh *mesh, uint64_t *offsets);

#endif
