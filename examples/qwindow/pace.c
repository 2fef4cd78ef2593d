/* SPDX-License-Identifier: BSD-3-Clause */
#include "examples/qwindow/pace.h"

#include "examples/qwindow/clock.h"

void pace_start(struct pace *pace)
{
	pace->start_ns = clock_now_ns();
}

static int64_t measured_ns(const struct pace *pace, uint64_t rounds)
{
	return pace->start_ns + (int64_t)rounds * pace->round_ns;
}

void pace_wait(struct pace *pace, uint64_t rounds)
{
	int64_t late_ns = clock_now_ns() - measured_ns(pace, rounds);

	if (pace->round_ns == 0)
		return;
	if (late_ns < 0) {
		clock_sleep_until(measured_ns(pace, rounds));
		late_ns = 0;
	}
	pace->backlog_last_ns = late_ns;
	if (pace->backlog_most_ns < late_ns)
		pace->backlog_most_ns = late_ns;
}

void pace_done(struct pace *pace, uint64_t rounds)
{
	int64_t reaction_ns = clock_now_ns() - measured_ns(pace, rounds);

	if (pace->round_ns == 0)
		return;
	pace->steps++;
	pace->reaction_sum_ns += reaction_ns;
	if (pace->reaction_most_ns < reaction_ns)
		pace->reaction_most_ns = reaction_ns;
	if (reaction_ns > pace->period_ns * (int64_t)pace->periods_allowed)
		pace->misses++;
}
