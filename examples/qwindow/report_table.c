/* SPDX-License-Identifier: BSD-3-Clause */
#include <stddef.h>
#include <stdio.h>

#include "examples/qwindow/report.h"

static const char *const kind_names[EXCHANGE_KINDS] = {
	[EXCHANGE_BLOCKS] = "blocks (alltoall)",
	[EXCHANGE_HALO] = "halo (edges)",
	[EXCHANGE_SEAM] = "seams (edges)",
	[EXCHANGE_FRAME] = "frames (allreduce)",
};

static double ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole == 0 ? 0 : 100 * (double)part / (double)whole;
}

static void print_head(const struct report *report)
{
	const struct options *options = report->options;
	const struct plan *plan = report->plan;
	uint32_t idle = report->ranks > plan->slab_count
				? report->ranks - plan->slab_count
				: 0;

	printf("model     %s\nshots     %s\n", options->model, options->shots);
	printf("patches   %zu of %u detectors in %u layers, %u in a batch\n",
	       report->shots->count, report->dem->detector_count,
	       report->dem->layer_count, options->patches);
	printf("windows   %u slabs of %u layers: commit %u, buffer %u\n",
	       plan->slab_count, plan->width, plan->commit, plan->buffer);
	printf("ranks     %u", report->ranks);
	if (idle > 0)
		printf(", %u of them without a slab", idle);
	printf("; %s mode, %s racks\n",
	       options->latency ? "latency" : "throughput",
	       options->racks == RACK_STRIP ? "strip" : "patch");
	printf("exchange  %s; progress by %s\n", report->exchange,
	       report->owner);
	if (options->drop_seams > 0)
		printf("dropped   %llu of %llu seam messages, on purpose\n",
		       (unsigned long long)report->seams_dropped,
		       (unsigned long long)report->seams_sent);
}

static void print_windows(const char *name, const struct stats *stats)
{
	printf("%-9s %9llu  %8.2f  %8.2f  %8.2f\n", name,
	       (unsigned long long)stats->count, stats_mean(stats) / 1e3,
	       (double)stats_percentile(stats, 0.99) / 1e3,
	       (double)stats->max_ns / 1e3);
}

static void print_time(const struct report *report, const char *name,
		       size_t field_offset, uint64_t total_ns)
{
	struct report_spread spread = report_spread(report, field_offset);

	printf("%-20s %10.3f  %10.3f  %6.1f %%\n", name, ms(spread.most),
	       ms(spread.median), percent(spread.median, total_ns));
}

static void print_times(const struct report *report)
{
	size_t total = offsetof(struct report_rank, total_ns);
	uint64_t total_ns = report_spread(report, total).most;
	double rounds = (double)report->shots->count * report->dem->layer_count;

	printf("\nwindow      decoded   mean us    p99 us    max us\n");
	print_windows("A", &report->a);
	print_windows("B", &report->b);
	printf("\ntime of a rank          most ms   median ms  of total\n");
	print_time(report, "total", total, total_ns);
	print_time(report, "decoding", offsetof(struct report_rank, decode_ns),
		   total_ns);
	print_time(report, "racks (emulated)",
		   offsetof(struct report_rank, rack_ns), total_ns);
	print_time(report, "exposed exchange",
		   offsetof(struct report_rank, exposed_ns), total_ns);
	for (int kind = 0; kind < EXCHANGE_KINDS; kind++) {
		char name[32];

		snprintf(name, sizeof(name), "  %s", kind_names[kind]);
		print_time(report, name,
			   offsetof(struct report_rank, kind_ns) +
				   (size_t)kind * sizeof(uint64_t),
			   total_ns);
	}
	printf("a round   %.3f us; by the serial decoder %.3f us of processor\n",
	       (double)total_ns / rounds / 1e3,
	       (double)report->checks->serial_ns / rounds / 1e3);
}

static void print_pace(const struct report *report)
{
	const struct pace *pace = &report->pace;

	if (pace->round_ns == 0)
		return;
	printf("\nreal time %lld ns a round, %u patches at once: %llu of %llu "
	       "deadlines missed\n",
	       (long long)pace->round_ns, report->options->patches,
	       (unsigned long long)pace->misses,
	       (unsigned long long)pace->steps);
	printf("backlog   %lld rounds at most, %lld at the end\n",
	       (long long)(pace->backlog_most_ns / pace->round_ns),
	       (long long)(pace->backlog_last_ns / pace->round_ns));
	printf("reaction  mean %.1f us, max %.1f us; due %.1f us after the "
	       "step's last round\n",
	       pace->steps == 0 ? 0
				: (double)pace->reaction_sum_ns /
					  (double)pace->steps / 1e3,
	       (double)pace->reaction_most_ns / 1e3,
	       (double)(pace->period_ns * pace->periods_allowed) / 1e3);
}

static void print_freeze(const struct report *report)
{
	if (report->freeze == NULL)
		return;
	printf("\nfrozen    rank %u before its window %llu, for %.3f ms; "
	       "meanwhile the others\n",
	       report->freeze->rank, (unsigned long long)report->freeze_window,
	       ms(report->frozen_ns));
	printf("          requests ended  windows done  longest call ms\n");
	for (uint32_t r = 0; r < report->ranks; r++) {
		const struct report_rank *one = &report->all[r];

		if (r != report->freeze->rank)
			printf("rank %-5u%14llu%14llu%17.3f\n", r,
			       (unsigned long long)one->meanwhile_requests,
			       (unsigned long long)one->meanwhile_windows,
			       ms(one->meanwhile_stall_ns));
	}
	printf("together  %14llu%14llu%17.3f\n",
	       (unsigned long long)report->others_requests,
	       (unsigned long long)report->others_windows,
	       ms(report->others_stall_ns));
}

static const char *verdict(int ok)
{
	return ok ? "ok    " : "FAILED";
}

static void print_checks(const struct report *report)
{
	const struct verify_result *checks = report->checks;

	printf("\ncorrections        %llu edges, digest %016llx\n",
	       (unsigned long long)checks->edges,
	       (unsigned long long)checks->digest);
	printf("same as serial     %s  %llu of %zu patches differ\n",
	       verdict(checks->same_ok), (unsigned long long)checks->differing,
	       report->shots->count);
	printf("global residual    %s  %llu defects left (serial: %llu)\n",
	       verdict(checks->residual_ok),
	       (unsigned long long)checks->residual,
	       (unsigned long long)checks->serial_residual);
	if (checks->errors_checked)
		printf("logical errors     %s  %llu (serial: %llu), reference "
		       "%lld, bound %.1f\n",
		       verdict(checks->errors_ok),
		       (unsigned long long)checks->errors,
		       (unsigned long long)checks->serial_errors,
		       (long long)checks->reference_errors, checks->bound);
	else
		printf("logical errors     not checked: no observables or no "
		       "reference; see --help\n");
}

void report_print(const struct report *report)
{
	print_head(report);
	print_times(report);
	print_pace(report);
	print_freeze(report);
	print_checks(report);
	fflush(stdout);
}
