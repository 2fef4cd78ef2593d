/* SPDX-License-Identifier: BSD-3-Clause */
#include "trip.h"
#include "clock.h"

#include <sched.h>
#include <stdatomic.h>

#define BATCHES 8
#define BOUNCES 500
#define SPINS_BEFORE_YIELD 1000000

/* Two words on lines of their own, each written by one rank. */
struct lines {
	_Alignas(256) _Atomic uint64_t ping;
	_Alignas(256) _Atomic uint64_t pong;
};

static void word_await(_Atomic uint64_t *word, uint64_t value)
{
	for (uint64_t spins = 1;
	     atomic_load_explicit(word, memory_order_acquire) != value; spins++)
		if (spins % SPINS_BEFORE_YIELD == 0)
			sched_yield();
}

static double bounce(struct lines *lines, int rank)
{
	uint64_t best_ns = UINT64_MAX;
	uint64_t turn = 0;

	for (int i = 0; i < BATCHES; i++) {
		uint64_t begin = bench_now_ns();
		uint64_t spent_ns;

		for (int j = 0; j < BOUNCES; j++) {
			turn++;
			if (rank == 0)
				atomic_store_explicit(&lines->ping, turn,
						      memory_order_release);
			word_await(rank == 0 ? &lines->pong : &lines->ping,
				   turn);
			if (rank == 1)
				atomic_store_explicit(&lines->pong, turn,
						      memory_order_release);
		}
		spent_ns = bench_now_ns() - begin;
		if (spent_ns < best_ns)
			best_ns = spent_ns;
	}
	return (double)best_ns / (2.0 * BOUNCES);
}

double bench_trip_measure(const struct bench_ranks *ranks)
{
	MPI_Win window;
	MPI_Aint bytes;
	int unit;
	void *base = NULL;
	double trip_ns = 0.0;

	if (ranks->count < 2)
		return 0.0;
	MPI_Win_allocate_shared(ranks->rank == 0 ? 2 * sizeof(struct lines) : 0,
				1, MPI_INFO_NULL, ranks->comm, &base, &window);
	MPI_Win_shared_query(window, 0, &bytes, &unit, &base);
	/* Fresh shared memory is zero; the window may begin anywhere. */
	base = (void *)(((uintptr_t)base + 255) & ~(uintptr_t)255);
	if (ranks->rank == 0)
		*(struct lines *)base = (struct lines){ 0 };
	MPI_Barrier(ranks->comm);
	if (ranks->rank < 2)
		trip_ns = bounce(base, ranks->rank);
	MPI_Barrier(ranks->comm);
	MPI_Win_free(&window);
	return trip_ns;
}
