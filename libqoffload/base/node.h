/* SPDX-License-Identifier: BSD-3-Clause */
/* Identity of a node: one running operating system image. */
#ifndef QOI_BASE_NODE_H
#define QOI_BASE_NODE_H

#include <stdint.h>

#define QOI_NODE_ID_BYTES 16

/*
 * Equal on two ranks if, and practically only if, they share a node: the boot
 * id of the kernel, mixed with the host name so that containers which can't
 * see each other are told apart. 0, or -EIO: no boot id.
 */
int qoi_node_id(uint8_t id_out[QOI_NODE_ID_BYTES]);

#endif
