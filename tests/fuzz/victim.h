/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process whose memory the daemon may copy to and fro: whatever a fuzzed
 * address makes of it, the fuzzer itself stays whole.
 */
#ifndef VICTIM_H
#define VICTIM_H

#include "tests/support/raw_client.h"

void victim_start(void);
/* As raw_dial(), but the kernel says that the victim has connected. */
int victim_dial(const char *name, struct raw_client *client);
/* Where it has memory for buffers, of 256 KiB. */
uint64_t victim_address(void);

#endif
