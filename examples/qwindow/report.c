/* SPDX-License-Identifier: BSD-3-Clause */
#include "examples/qwindow/report.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static void reduce_u64(MPI_Comm comm, void *data, size_t count, MPI_Op op)
{
	MPI_Allreduce(MPI_IN_PLACE, data, (int)count, MPI_UINT64_T, op, comm);
}

static void reduce_stats(MPI_Comm comm, struct stats *stats)
{
	reduce_u64(comm, &stats->max_ns, 1, MPI_MAX);
	reduce_u64(comm, &stats->count, 1, MPI_SUM);
	reduce_u64(comm, &stats->sum_ns, 1, MPI_SUM);
	reduce_u64(comm, stats->bins, STATS_BINS, MPI_SUM);
}

static void reduce_pace(MPI_Comm comm, struct pace *pace)
{
	int64_t most[] = {
		(int64_t)pace->misses, pace->backlog_most_ns,
		pace->backlog_last_ns, pace->reaction_most_ns,
		pace->reaction_sum_ns,
	};

	MPI_Allreduce(MPI_IN_PLACE, most, sizeof(most) / sizeof(most[0]),
		      MPI_INT64_T, MPI_MAX, comm);
	pace->misses = (uint64_t)most[0];
	pace->backlog_most_ns = most[1];
	pace->backlog_last_ns = most[2];
	pace->reaction_most_ns = most[3];
	pace->reaction_sum_ns = most[4];
}

static struct report_rank own_numbers(const struct exchange *x,
				      const struct schedule_result *run)
{
	struct report_rank own = {
		.total_ns = run->total_ns,
		.decode_ns = run->work.a.sum_ns + run->work.b.sum_ns,
		.rack_ns = run->rack_ns,
		.exposed_ns = x->times.poke_ns,
		.windows = run->work.a.count + run->work.b.count,
	};

	for (int kind = 0; kind < EXCHANGE_KINDS; kind++) {
		own.kind_ns[kind] = x->times.ns[kind];
		own.kind_bytes[kind] = x->times.bytes[kind];
		own.exposed_ns += x->times.ns[kind];
	}
	return own;
}

/* The clock is one for all processes of a node. */
static void look_at_freeze(MPI_Comm comm, struct report *report,
			   struct report_rank *own)
{
	const struct report_freeze *look = report->freeze;
	uint64_t posts_ns, waits_ns;
	int64_t told[3] = { 0 };

	if (look->freeze != NULL) {
		told[0] = look->freeze->begin_ns;
		told[1] = look->freeze->end_ns;
		told[2] = (int64_t)look->freeze->window;
	}
	MPI_Bcast(told, 3, MPI_INT64_T, (int)look->rank, comm);
	report->frozen_ns = (uint64_t)(told[1] - told[0]);
	report->freeze_window = (uint64_t)told[2];
	if (look->freeze != NULL)
		return;
	posts_ns = timeline_longest(look->posts, told[0], told[1]);
	waits_ns = timeline_longest(look->waits, told[0], told[1]);
	own->meanwhile_requests = timeline_ended(look->waits, told[0], told[1]);
	own->meanwhile_windows = timeline_ended(look->windows, told[0], told[1]);
	own->meanwhile_stall_ns = posts_ns > waits_ns ? posts_ns : waits_ns;
}

static void add_up_freeze(struct report *report)
{
	for (uint32_t r = 0; r < report->ranks; r++) {
		const struct report_rank *one = &report->all[r];

		report->others_requests += one->meanwhile_requests;
		report->others_windows += one->meanwhile_windows;
		if (report->others_stall_ns < one->meanwhile_stall_ns)
			report->others_stall_ns = one->meanwhile_stall_ns;
	}
}

int report_gather(MPI_Comm comm, const struct exchange *x, struct report *report)
{
	struct report_rank own = own_numbers(x, report->run);
	int count = (int)(sizeof(own) / sizeof(uint64_t));
	uint64_t seams[] = {
		report->run->seams_sent,
		report->run->seams_dropped,
	};
	int rank;

	MPI_Comm_rank(comm, &rank);
	if (rank == 0) {
		report->all = calloc(report->ranks, sizeof(own));
		if (report->all == NULL)
			return -ENOMEM;
	}
	if (report->freeze != NULL)
		look_at_freeze(comm, report, &own);
	MPI_Gather(&own, count, MPI_UINT64_T, report->all, count, MPI_UINT64_T,
		   0, comm);
	if (rank == 0 && report->freeze != NULL)
		add_up_freeze(report);
	reduce_u64(comm, seams, 2, MPI_SUM);
	report->seams_sent = seams[0];
	report->seams_dropped = seams[1];
	report->a = report->run->work.a;
	report->b = report->run->work.b;
	report->pace = report->run->pace;
	reduce_stats(comm, &report->a);
	reduce_stats(comm, &report->b);
	reduce_pace(comm, &report->pace);
	return 0;
}

void report_release(struct report *report)
{
	free(report->all);
	report->all = NULL;
}

static int compare_u64(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

struct report_spread report_spread(const struct report *report,
				   size_t field_offset)
{
	struct report_spread spread = { 0 };
	uint64_t *values = calloc(report->ranks, sizeof(*values));

	if (values == NULL)
		return spread;
	for (uint32_t r = 0; r < report->ranks; r++)
		memcpy(&values[r], (const char *)&report->all[r] + field_offset,
		       sizeof(*values));
	qsort(values, report->ranks, sizeof(*values), compare_u64);
	spread.most = values[report->ranks - 1];
	spread.median = values[report->ranks / 2];
	free(values);
	return spread;
}
