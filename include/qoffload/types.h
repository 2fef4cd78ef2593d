/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef QOFFLOAD_TYPES_H
#define QOFFLOAD_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Handles.  Opaque; each is destroyed by the call that its maker names. */
typedef struct qo_context *qo_context_t;
typedef struct qo_team *qo_team_t;
typedef struct qo_op *qo_op_t;
typedef struct qo_mesh *qo_mesh_t;
typedef struct qo_mem *qo_mem_t;

/*
 * One started instance of an operation or one round of a mesh: slot and
 * generation, so that a stale one is -EBADF and never a crash.
 */
typedef struct qo_request {
	uint64_t id;
} qo_request_t;

/* A request that never was: test and wait give -EBADF; wait_any skips it. */
#define QO_REQUEST_NULL_ID UINT64_C(0)

/* Element types.  Values are part of the ABI. */
#define QO_INT8 1
#define QO_INT16 2
#define QO_INT32 3
#define QO_INT64 4
#define QO_UINT8 5
#define QO_UINT16 6
#define QO_UINT32 7
#define QO_UINT64 8
#define QO_FLOAT 9
#define QO_DOUBLE 10
#define QO_BYTE QO_UINT8

/* Reductions.  AND, OR and XOR are bitwise, for integer types only. */
#define QO_SUM 1
#define QO_MIN 2
#define QO_MAX 3
#define QO_AND 4
#define QO_OR 5
#define QO_XOR 6

/* As the send buffer: the data is in the receive buffer already. */
#define QO_IN_PLACE ((void *)(intptr_t)-1)

/* A deadline that never comes: a wait then ends by done or by failed. */
#define QO_NO_DEADLINE INT64_MAX

/* States of a request (qo_status.state). */
#define QO_PENDING 0
#define QO_DONE 1
#define QO_FAILED 2

/* Bits of qo_status.flags. */
#define QO_STATUS_LATE 1 /* completed after the deadline given at its post */

/* No rank to blame (qo_status.rank). */
#define QO_RANK_NONE (-1)

/* What a test or a wait found. */
struct qo_status {
	int32_t state; /* QO_PENDING, QO_DONE or QO_FAILED */
	int32_t error; /* 0, or why it failed: a negative errno */
	/* Of a request that has ended; of a pending one they say nothing: */
	int32_t rank; /* team rank that the failure is about, or QO_RANK_NONE */
	uint32_t flags; /* QO_STATUS_* */
};

#ifdef __cplusplus
}
#endif
#endif
