/* SPDX-License-Identifier: BSD-3-Clause */
#include "examples/qwindow/exchange.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "examples/qwindow/clock.h"

size_t exchange_edge_bytes(const struct exchange *x, enum exchange_kind kind)
{
	return kind == EXCHANGE_HALO ? x->shape.halo_bytes : x->shape.seam_bytes;
}

uint32_t exchange_edge_depth(const struct exchange *x, enum exchange_kind kind)
{
	uint32_t rounds = EXCHANGE_EDGE_STEPS;
	uint32_t depth = 1;

	if (kind == EXCHANGE_SEAM)
		rounds *= x->shape.pieces;
	while (depth < rounds)
		depth *= 2;
	return depth;
}

/* Zeroed, one byte longer: a size of zero still has an address. */
static int buffer_make(uint8_t **buffer_out, size_t bytes)
{
	*buffer_out = calloc(1, bytes + 1);
	return *buffer_out != NULL ? 0 : -ENOMEM;
}

static size_t block_send_bytes(const struct exchange *x)
{
	return x->shape.ranks * x->shape.block_bytes[x->shape.rank];
}

static int make_buffers(struct exchange *x)
{
	int rc = 0;

	for (int i = 0; i < EXCHANGE_BLOCK_SLOTS && rc == 0; i++) {
		rc = buffer_make(&x->block_send[i], block_send_bytes(x));
		if (rc == 0)
			rc = buffer_make(&x->block_recv[i], x->shape.recv_bytes);
	}
	for (int i = 0; i < EXCHANGE_FRAME_SLOTS && rc == 0; i++) {
		rc = buffer_make(&x->frame_send[i], x->shape.frame_bytes);
		if (rc == 0)
			rc = buffer_make(&x->frame_recv[i],
					 x->shape.frame_bytes);
	}
	return rc;
}

static void free_buffers(struct exchange *x)
{
	for (int i = 0; i < EXCHANGE_BLOCK_SLOTS; i++) {
		free(x->block_send[i]);
		free(x->block_recv[i]);
	}
	for (int i = 0; i < EXCHANGE_FRAME_SLOTS; i++) {
		free(x->frame_send[i]);
		free(x->frame_recv[i]);
	}
}

int exchange_open(struct exchange *x)
{
	int rc = make_buffers(x);

	if (rc == 0)
		rc = x->ops->open(x);
	if (rc != 0) {
		free_buffers(x);
		problem_set(x->problem, rc,
			    "exchange %s: cannot be set up: "
			    "%s; use fewer --patches or the other --exchange",
			    x->ops->name, strerror(-rc));
	}
	return rc;
}

void exchange_close(struct exchange *x)
{
	x->ops->close(x);
	free_buffers(x);
}

static uint32_t kind_slots(enum exchange_kind kind)
{
	return kind == EXCHANGE_BLOCKS ? EXCHANGE_BLOCK_SLOTS
				       : EXCHANGE_FRAME_SLOTS;
}

/* `calls`: posts or waits, or NULL for a call that is of neither kind. */
static int account(struct exchange *x, enum exchange_kind kind,
		   struct timeline *calls, int64_t start_ns, int rc)
{
	int64_t end_ns = clock_now_ns();

	x->times.ns[kind] += (uint64_t)(end_ns - start_ns);
	timeline_add(calls, start_ns, end_ns);
	return rc;
}

int exchange_post(struct exchange *x, enum exchange_kind kind, uint64_t step)
{
	int64_t start_ns = clock_now_ns();
	int rc = x->ops->post(x, kind, (uint32_t)(step % kind_slots(kind)));

	x->times.posts[kind]++;
	x->times.bytes[kind] += kind == EXCHANGE_BLOCKS ? block_send_bytes(x)
							: x->shape.frame_bytes;
	return account(x, kind, x->posts, start_ns, rc);
}

int exchange_wait(struct exchange *x, enum exchange_kind kind, uint64_t step)
{
	int64_t start_ns = clock_now_ns();
	int rc = x->ops->wait(x, kind, (uint32_t)(step % kind_slots(kind)));

	return account(x, kind, x->waits, start_ns, rc);
}

int exchange_edge_post(struct exchange *x, enum exchange_kind kind,
		       uint64_t round, const void *data)
{
	int64_t start_ns = clock_now_ns();
	int rc = x->ops->edge_post(x, kind, round, data);

	x->times.posts[kind]++;
	x->times.bytes[kind] += exchange_edge_bytes(x, kind);
	return account(x, kind, x->posts, start_ns, rc);
}

int exchange_edge_wait(struct exchange *x, enum exchange_kind kind,
		       uint64_t round, const uint8_t **data_out)
{
	int64_t start_ns = clock_now_ns();
	int rc = x->ops->edge_wait(x, kind, round, data_out);

	return account(x, kind, x->waits, start_ns, rc);
}

int exchange_edge_release(struct exchange *x, enum exchange_kind kind,
			  uint64_t round)
{
	int64_t start_ns = clock_now_ns();
	int rc = x->ops->edge_release(x, kind, round);

	return account(x, kind, NULL, start_ns, rc);
}

int exchange_poke(struct exchange *x)
{
	int64_t start_ns = clock_now_ns();
	int rc = x->ops->poke(x);

	x->times.poke_ns += (uint64_t)(clock_now_ns() - start_ns);
	return rc;
}
