/* SPDX-License-Identifier: BSD-3-Clause */
#include "examples/qwindow/rack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "examples/qwindow/bits.h"

/* The first of rack r's patches in a batch. */
static uint32_t share_first(const struct rack *rack, uint32_t r)
{
	return (uint32_t)((uint64_t)rack->patches * r / rack->ranks);
}

static uint32_t strip_of(const struct rack *rack, const struct dem *dem,
			 uint32_t detector)
{
	return (uint32_t)((uint64_t)dem->column[detector] * rack->ranks /
			  dem->column_count);
}

static uint32_t strip_count(const struct rack *rack, uint32_t k, uint32_t r)
{
	size_t at = (size_t)k * rack->ranks + r;

	return rack->first[at + 1] - rack->first[at];
}

static int list_strips(struct rack *rack, const struct dem *dem)
{
	size_t lists = (size_t)rack->plan->slab_count * rack->ranks;
	uint32_t found = 0;

	rack->first = calloc(lists + 1, sizeof(*rack->first));
	rack->list =
		malloc(((size_t)dem->detector_count + 1) * sizeof(*rack->list));
	if (rack->first == NULL || rack->list == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < lists; i++) {
		const struct range *all =
			&rack->plan->slabs[i / rack->ranks].all;

		rack->first[i] = found;
		for (uint32_t d = 0; d < all->count; d++) {
			if (strip_of(rack, dem, all->first + d) ==
			    i % rack->ranks)
				rack->list[found++] = d;
		}
	}
	rack->first[lists] = found;
	return 0;
}

/* The longest over all slabs: an operation is prepared once for all. */
static size_t strip_block_bytes(const struct rack *rack, uint32_t r)
{
	size_t most = 0;

	for (uint32_t k = 0; k < rack->plan->slab_count; k++) {
		size_t bytes = bits_bytes(strip_count(rack, k, r));

		if (most < bytes)
			most = bytes;
	}
	return most * rack->patches;
}

int rack_create(struct rack *rack, const struct dem *dem)
{
	uint32_t most = (rack->patches + rack->ranks - 1) / rack->ranks;
	int rc = 0;

	rack->row_bytes = bits_bytes(rack->plan->all_most);
	rack->recv_bytes = 0;
	rack->first = NULL;
	rack->list = NULL;
	rack->block_bytes = calloc(rack->ranks, sizeof(size_t));
	rack->block_offset = calloc(rack->ranks, sizeof(size_t));
	if (rack->block_bytes == NULL || rack->block_offset == NULL)
		rc = -ENOMEM;
	if (rc == 0 && rack->layout == RACK_STRIP)
		rc = list_strips(rack, dem);
	if (rc != 0) {
		rack_destroy(rack);
		return rc;
	}
	for (uint32_t r = 0; r < rack->ranks; r++) {
		rack->block_bytes[r] = rack->layout == RACK_STRIP
					       ? strip_block_bytes(rack, r)
					       : most * rack->row_bytes;
		rack->block_offset[r] = rack->recv_bytes;
		rack->recv_bytes += rack->block_bytes[r];
	}
	return 0;
}

void rack_destroy(struct rack *rack)
{
	free(rack->block_bytes);
	free(rack->block_offset);
	free(rack->first);
	free(rack->list);
	rack->block_bytes = NULL;
	rack->block_offset = NULL;
	rack->first = NULL;
	rack->list = NULL;
}

static void pack_patches(const struct rack *rack, const struct rack_batch *batch,
			 const struct range *all, uint8_t *block)
{
	uint32_t first = share_first(rack, rack->rank);
	uint32_t end = share_first(rack, rack->rank + 1);

	for (uint32_t p = first; p < end && p < batch->count; p++) {
		bits_extract(block, shots_row(rack->shots, batch->first + p),
			     all->first, all->count);
		block += rack->row_bytes;
	}
}

static void pack_strip(const struct rack *rack, const struct rack_batch *batch,
		       uint32_t k, uint8_t *block)
{
	uint32_t count = strip_count(rack, k, rack->rank);
	const uint32_t *list =
		rack->list + rack->first[(size_t)k * rack->ranks + rack->rank];
	uint32_t start = rack->plan->slabs[k].all.first;

	for (uint32_t p = 0; p < batch->count; p++) {
		const uint8_t *row = shots_row(rack->shots, batch->first + p);

		for (uint32_t i = 0; i < count; i++) {
			if (bits_get(row, start + list[i]))
				bits_flip(block, i);
		}
		block += bits_bytes(count);
	}
}

void rack_pack(const struct rack *rack, const struct rack_batch *batch,
	       uint32_t k, uint8_t *block)
{
	memset(block, 0, rack->block_bytes[rack->rank]);
	if (k >= rack->plan->slab_count)
		return;
	if (rack->layout == RACK_STRIP)
		pack_strip(rack, batch, k, block);
	else
		pack_patches(rack, batch, &rack->plan->slabs[k].all, block);
}

static void unpack_patches(const struct rack *rack,
			   const struct rack_batch *batch, uint32_t r,
			   const uint8_t *block, uint8_t *rows)
{
	uint32_t first = share_first(rack, r);
	uint32_t end = share_first(rack, r + 1);

	if (end > batch->count)
		end = batch->count;
	if (first < end)
		memcpy(rows + first * rack->row_bytes, block,
		       (end - first) * rack->row_bytes);
}

static void unpack_strip(const struct rack *rack,
			 const struct rack_batch *batch, uint32_t k, uint32_t r,
			 const uint8_t *block, uint8_t *rows)
{
	uint32_t count = strip_count(rack, k, r);
	const uint32_t *list =
		rack->list + rack->first[(size_t)k * rack->ranks + r];

	for (uint32_t p = 0; p < batch->count; p++) {
		for (uint32_t i = 0; i < count; i++) {
			if (bits_get(block, i))
				bits_flip(rows, list[i]);
		}
		block += bits_bytes(count);
		rows += rack->row_bytes;
	}
}

void rack_unpack(const struct rack *rack, const struct rack_batch *batch,
		 uint32_t k, const uint8_t *blocks, uint8_t *rows)
{
	memset(rows, 0, rack->patches * rack->row_bytes);
	if (k >= rack->plan->slab_count)
		return;
	for (uint32_t r = 0; r < rack->ranks; r++) {
		const uint8_t *block = blocks + rack->block_offset[r];

		if (rack->layout == RACK_STRIP)
			unpack_strip(rack, batch, k, r, block, rows);
		else
			unpack_patches(rack, batch, r, block, rows);
	}
}
