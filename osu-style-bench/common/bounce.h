/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_BOUNCE_H
#define BENCH_BOUNCE_H

#include <stdint.h>

/*
 * The floor under a way to another process and back: two ends each publish a
 * line in shared memory; a middle one, having seen both, publishes a line to
 * each.  No library is involved.
 */
#define BENCH_BOUNCE_ENDS 2

struct bench_bounce;

/* Shared by what is forked afterwards. */
struct bench_bounce *bench_bounce_create(void);

/*
 * One turn of an end, 0 or 1; turns count from 1.  Looks twice, then yields
 * its core after each look: there are more processes than cores.
 */
void bench_bounce_end(struct bench_bounce *bounce, uint32_t end, uint64_t turn);

/*
 * `count` turns of the middle, the first of them number `turn`.  Like a daemon
 * in its duty cycle, it never sleeps between turns: it looks, then yields.
 * looks: how often it looks before it first yields in a turn.
 */
void bench_bounce_middle(struct bench_bounce *bounce, uint64_t turn,
			 uint64_t count, uint32_t looks);

#endif
