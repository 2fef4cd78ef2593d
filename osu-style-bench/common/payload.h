/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_PAYLOAD_H
#define BENCH_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longer blocks are written and checked in places only, unless all is asked. */
#define BENCH_PAYLOAD_WHOLE_BYTES 8192

/* Identifies what a block must hold: the run keeps stale data from passing. */
struct bench_block_id {
	uint64_t run;
	uint32_t source;
	uint32_t destination;
};

/* The word at `index` of a block. */
uint64_t bench_payload_word(struct bench_block_id id, uint64_t index);

/* Offsets, in words, at which a block of `bytes` is written and checked. */
uint64_t bench_payload_stride(uint64_t bytes, bool whole);

/* Writes a block, its last bytes too. */
void bench_payload_fill(void *block, uint64_t bytes, struct bench_block_id id,
			bool whole);

/* Compares a block.  Returns: whether all bytes looked at are right. */
bool bench_payload_check(const void *block, uint64_t bytes,
			 struct bench_block_id id, bool whole);

#endif
