/* SPDX-License-Identifier: BSD-3-Clause */
/* Packed bits: bit k is bit (k & 7) of byte k >> 3, as in Stim's b8. */
#ifndef QWINDOW_BITS_H
#define QWINDOW_BITS_H

#include <stddef.h>
#include <stdint.h>

static inline size_t bits_bytes(size_t count)
{
	return (count + 7) / 8;
}

static inline int bits_get(const uint8_t *bits, size_t index)
{
	return (bits[index >> 3] >> (index & 7)) & 1;
}

static inline void bits_flip(uint8_t *bits, size_t index)
{
	bits[index >> 3] ^= (uint8_t)(1u << (index & 7));
}

/* Copy `count` bits that start at bit `first` to bit 0 of `to`, padded with
 * zeros to whole bytes. Reads no byte that holds none of the bits. */
static inline void bits_extract(uint8_t *to, const uint8_t *from, size_t first,
				size_t count)
{
	size_t bytes = bits_bytes(count);
	unsigned shift = first & 7;
	const uint8_t *source = from + (first >> 3);
	size_t last_source = bits_bytes(shift + count);

	for (size_t i = 0; i < bytes; i++) {
		unsigned value = (unsigned)source[i] >> shift;

		if (shift != 0 && i + 1 < last_source)
			value |= (unsigned)source[i + 1] << (8 - shift);
		to[i] = (uint8_t)value;
	}
	if ((count & 7) != 0)
		to[bytes - 1] &= (uint8_t)((1u << (count & 7)) - 1);
}

/* to[first + k] ^= from[k] for k < count. */
static inline void bits_xor_into(uint8_t *to, size_t first, const uint8_t *from,
				 size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (bits_get(from, i))
			bits_flip(to, first + i);
	}
}

/* Append base + k for every one at k < count, in order. */
static inline uint32_t bits_list(const uint8_t *bits, uint32_t count,
				 uint32_t base, uint32_t *list)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < (uint32_t)bits_bytes(count); i++) {
		unsigned byte = bits[i];

		while (byte != 0) {
			list[found++] =
				base + 8 * i + (uint32_t)__builtin_ctz(byte);
			byte &= byte - 1;
		}
	}
	return found;
}

/* A 64-bit mix (splitmix64): XOR of mixed edge ids names a set of edges. */
static inline uint64_t bits_mix(uint64_t value)
{
	value += 0x9e3779b97f4a7c15u;
	value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
	value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
	return value ^ (value >> 31);
}

#endif
