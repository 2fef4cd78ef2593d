/* SPDX-License-Identifier: BSD-3-Clause */
#include "work.h"
#include "clock.h"

#define TRIAL_TURNS 200000
#define TRIALS 40

/* Not inlined: all callers time the same code. */
__attribute__((noinline)) uint64_t bench_work_run(uint64_t state, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
	}
	return state;
}

double bench_work_calibrate(void)
{
	uint64_t state = 88172645463325252;
	uint64_t best_ns = UINT64_MAX;

	for (int i = 0; i < TRIALS; i++) {
		uint64_t begin = bench_now_ns();
		uint64_t spent_ns;

		state = bench_work_run(state, TRIAL_TURNS);
		spent_ns = bench_now_ns() - begin;
		if (spent_ns < best_ns)
			best_ns = spent_ns;
	}
	/* The state is never 0; reading it keeps the work from being left out. */
	return state == 0 ? 0.0 : (double)best_ns / TRIAL_TURNS;
}
