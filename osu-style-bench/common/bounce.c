/* SPDX-License-Identifier: BSD-3-Clause */
#include "bounce.h"
#include "shared.h"

#include <sched.h>
#include <stdatomic.h>

/* As a wait of the library on a node with more threads than cores. */
#define END_LOOKS 2

/* Each word on lines of its own, written by one process. */
struct bench_bounce {
	_Alignas(256) _Atomic uint64_t up[BENCH_BOUNCE_ENDS][32];
	_Alignas(256) _Atomic uint64_t down[BENCH_BOUNCE_ENDS][32];
};

static void word_await(_Atomic uint64_t *word, uint64_t value, uint32_t looks)
{
	for (uint32_t i = 1;
	     atomic_load_explicit(word, memory_order_acquire) != value; i++)
		if (i >= looks) {
			sched_yield();
			i = looks;
		}
}

struct bench_bounce *bench_bounce_create(void)
{
	return bench_shared_create(sizeof(struct bench_bounce));
}

void bench_bounce_end(struct bench_bounce *bounce, uint32_t end, uint64_t turn)
{
	atomic_store_explicit(bounce->up[end], turn, memory_order_release);
	word_await(bounce->down[end], turn, END_LOOKS);
}

void bench_bounce_middle(struct bench_bounce *bounce, uint64_t turn,
			 uint64_t count, uint32_t looks)
{
	for (uint64_t last = turn + count - 1; turn <= last; turn++) {
		for (int i = 0; i < BENCH_BOUNCE_ENDS; i++)
			word_await(bounce->up[i], turn, looks);
		for (int i = 0; i < BENCH_BOUNCE_ENDS; i++)
			atomic_store_explicit(bounce->down[i], turn,
					      memory_order_release);
	}
}
