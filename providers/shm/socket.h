/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names of sockets between endpoints: in the abstract name space, so that no
 * name outlives its socket.
 */
#ifndef QO_SHM_SOCKET_H
#define QO_SHM_SOCKET_H

#include <stdint.h>

/* Failures to open one are told by their callers, with errno as it is. */

/* Returns 0, -ENOMEM, -EPERM. */
int qo_shm_socket_listen(const uint8_t *id, int *fd_out);

/* Returns 0, -EAGAIN (too many at its door), -ECONNRESET, -ENOMEM, -EPERM. */
int qo_shm_socket_connect(const uint8_t *id, int *fd_out);

#endif
