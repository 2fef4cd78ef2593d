/* SPDX-License-Identifier: BSD-3-Clause */
#include "payload.h"

#include <string.h>

#define STRIDE_WORDS 509 /* about a page, and no power of two */

/* Finaliser of splitmix64: every bit of the input reaches every bit. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

uint64_t bench_payload_word(struct bench_block_id id, uint64_t index)
{
	uint64_t ranks = ((uint64_t)id.source << 32) | id.destination;

	return mix(id.run * UINT64_C(0x9e3779b97f4a7c15) + ranks) +
	       index * UINT64_C(0xd1342543de82ef95);
}

uint64_t bench_payload_stride(uint64_t bytes, bool whole)
{
	return whole || bytes <= BENCH_PAYLOAD_WHOLE_BYTES ? 1 : STRIDE_WORDS;
}

/* Where the last 1 to 8 bytes of a block begin, after whole words. */
static uint64_t tail_offset(uint64_t bytes)
{
	return bytes == 0 ? 0 : (bytes - 1) / 8 * 8;
}

void bench_payload_fill(void *block, uint64_t bytes, struct bench_block_id id,
			bool whole)
{
	unsigned char *at = block;
	uint64_t first = bench_payload_word(id, 0);
	uint64_t step = bench_payload_word(id, 1) - first;
	uint64_t stride = bench_payload_stride(bytes, whole);
	uint64_t tail = tail_offset(bytes);
	uint64_t word;

	if (bytes == 0)
		return;
	for (uint64_t i = 0; i * 8 < tail; i += stride) {
		word = first + i * step;
		memcpy(at + i * 8, &word, 8);
	}
	word = bench_payload_word(id, UINT32_MAX);
	memcpy(at + tail, &word, bytes - tail);
}

bool bench_payload_check(const void *block, uint64_t bytes,
			 struct bench_block_id id, bool whole)
{
	const unsigned char *at = block;
	uint64_t first = bench_payload_word(id, 0);
	uint64_t step = bench_payload_word(id, 1) - first;
	uint64_t stride = bench_payload_stride(bytes, whole);
	uint64_t tail = tail_offset(bytes);
	uint64_t word;

	if (bytes == 0)
		return true;
	for (uint64_t i = 0; i * 8 < tail; i += stride) {
		word = first + i * step;
		if (memcmp(at + i * 8, &word, 8) != 0)
			return false;
	}
	word = bench_payload_word(id, UINT32_MAX);
	return memcmp(at + tail, &word, bytes - tail) == 0;
}
