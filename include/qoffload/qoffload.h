/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef QOFFLOAD_QOFFLOAD_H
#define QOFFLOAD_QOFFLOAD_H

/* Everything but the MPI bootstrap, which is in <qoffload/mpi.h>. */
#include <qoffload/context.h>
#include <qoffload/error.h>
#include <qoffload/memory.h>
#include <qoffload/mesh.h>
#include <qoffload/operation.h>
#include <qoffload/request.h>
#include <qoffload/team.h>
#include <qoffload/types.h>

#endif
