/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef QOFFLOAD_MPI_H
#define QOFFLOAD_MPI_H

#include <qoffload/types.h>
#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Makes a team of the ranks of a communicator, in their order.  In the
 * library libqoffload-mpi-openmpi or libqoffload-mpi-mpich, after the MPI it
 * was built for; the core library knows nothing of MPI.
 * comm: an intracommunicator; used during the call only, through a duplicate.
 * Returns: as qo_team_create(); -EINVAL comm is null or an intercommunicator;
 *   -EIO an MPI call failed.
 * Blocks: until every rank of comm has called it.
 * Threads: as the MPI thread level allows; MPI_Init must have been called.
 * Owns: the caller destroys the team; it may outlive MPI_Finalize().
 * Since: 0.1
 */
int qo_team_from_mpi(qo_context_t context, MPI_Comm comm, qo_team_t *team_out);

#ifdef __cplusplus
}
#endif
#endif
