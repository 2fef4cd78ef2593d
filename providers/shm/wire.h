/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What two endpoints tell each other at set-up, after the hello of the
 * contract.  Every message on a socket begins with 8 bytes that say its kind.
 */
#ifndef QO_SHM_WIRE_H
#define QO_SHM_WIRE_H

#include <assert.h>
#include <stdint.h>

#include "libqoffload/shm/bell.h"
#include "libqoffload/shm/layout.h"

#define QO_SHM_ID_BYTES 16

#define QO_SHM_MAGIC_ADDRESS UINT64_C(0x31304444414d4851) /* QHMADD01 */
#define QO_SHM_MAGIC_RESULT UINT64_C(0x31305345524d4851)  /* QHMRES01 */
#define QO_SHM_MAGIC_KNOCK UINT64_C(0x31304b4e4b4d4851)	  /* QHMKNK01 */
#define QO_SHM_MAGIC_CONTROL UINT64_C(0x31304c54434d4851) /* QHMCTL01 */

/* Goes through the out-of-band exchange of the application. */
struct qo_shm_address {
	uint64_t magic;
	uint32_t layout_version;
	uint32_t uid;
	uint64_t layout_hash;
	uint8_t node_id[16];
	uint8_t endpoint_id[QO_SHM_ID_BYTES]; /* random; names the socket */
};
static_assert(sizeof(struct qo_shm_address) == 56, "address");

/* After both hellos: what this side found. */
struct qo_shm_result {
	uint64_t magic;
	uint32_t error; /* 0, or the positive errno it refuses with */
	uint32_t flags; /* QO_SHM_RESULT_* */
};
static_assert(sizeof(struct qo_shm_result) == 16, "result");

/* The sender read the receiver's cookie from its memory. */
#define QO_SHM_RESULT_GETS 1u

/* From who must wait to be connected to: it sees when the other dies. */
struct qo_shm_knock {
	uint64_t magic;
	uint8_t endpoint_id[QO_SHM_ID_BYTES];
};
static_assert(sizeof(struct qo_shm_knock) == 24, "knock");

/* Before the data of a control message. */
struct qo_shm_control {
	uint64_t magic;
	uint64_t team;
	uint32_t sequence;
	uint32_t kind;
	uint32_t data_bytes;
	uint32_t window_count; /* 1 when a window is offered, as a descriptor */
	uint64_t window_index;
	uint64_t window_bytes;
};
static_assert(sizeof(struct qo_shm_control) == 48, "control");

/* The window that comes with the hello. */
struct qo_shm_page {
	struct qoi_bell bell;
	uint32_t farewell; /* 1 before an endpoint that closes hangs up */
	uint8_t reserved[124];
};
static_assert(sizeof(struct qoi_bell) == sizeof(struct qoi_layout_bell), "bell");
static_assert(sizeof(struct qo_shm_page) == 256, "page");

#endif
