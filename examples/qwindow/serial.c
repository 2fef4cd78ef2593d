/* SPDX-License-Identifier: BSD-3-Clause */
#include "examples/qwindow/serial.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "examples/qwindow/bits.h"

int serial_init(struct serial *serial, const struct dem *dem,
		const struct plan *plan)
{
	size_t bytes = bits_bytes(dem->detector_count) + 1;
	int rc;

	memset(serial, 0, sizeof(*serial));
	rc = window_decoder_init(&serial->decoder, plan);
	if (rc != 0)
		return rc;
	serial->dem = dem;
	serial->plan = plan;
	serial->syndrome = malloc(bytes);
	serial->row = malloc(bytes);
	serial->left = malloc(bytes);
	if (serial->syndrome == NULL || serial->row == NULL ||
	    serial->left == NULL) {
		serial_fini(serial);
		return -ENOMEM;
	}
	return 0;
}

void serial_fini(struct serial *serial)
{
	window_decoder_fini(&serial->decoder);
	free(serial->syndrome);
	free(serial->row);
	free(serial->left);
	memset(serial, 0, sizeof(*serial));
}

static void commit(const struct graph_edge *edge, void *arg)
{
	struct serial *serial = arg;
	const struct dem_edge *model = &serial->dem->edges[edge->id];

	bits_flip(serial->syndrome, model->a);
	if (model->b != DEM_BOUNDARY)
		bits_flip(serial->syndrome, model->b);
	serial->frame ^= edge->observables;
	serial->digest ^= bits_mix(edge->id);
}

uint32_t serial_decode(struct serial *serial, const uint8_t *row)
{
	const struct plan *plan = serial->plan;
	size_t bytes = bits_bytes(serial->dem->detector_count);
	uint32_t left = 0;

	memcpy(serial->syndrome, row, bytes);
	serial->frame = 0;
	serial->digest = 0;
	/* A windows see the raw bits: none waits for another. */
	for (uint32_t k = 0; k < plan->slab_count; k++) {
		const struct slab *slab = &plan->slabs[k];

		bits_extract(serial->row, row, slab->all.first, slab->all.count);
		window_decode_a(&serial->decoder, slab, serial->row, commit,
				serial);
	}
	for (uint32_t k = 0; k + 1 < plan->slab_count; k++) {
		const struct slab *slab = &plan->slabs[k];
		const struct range *next = &plan->slabs[k + 1].left;

		bits_extract(serial->row, serial->syndrome, slab->right.first,
			     slab->right.count);
		bits_extract(serial->left, serial->syndrome, next->first,
			     next->count);
		window_decode_b(&serial->decoder, slab, serial->row,
				serial->left, next->count, commit, serial);
	}
	for (size_t i = 0; i < bytes; i++)
		left += (uint32_t)__builtin_popcount(serial->syndrome[i]);
	return left;
}
