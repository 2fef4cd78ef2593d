/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <jansson.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "examples/qwindow/report.h"

static const char *const kind_keys[EXCHANGE_KINDS] = {
	[EXCHANGE_BLOCKS] = "blocks",
	[EXCHANGE_HALO] = "halo",
	[EXCHANGE_SEAM] = "seams",
	[EXCHANGE_FRAME] = "frames",
};

static json_t *pack_stats(const struct stats *stats)
{
	return json_pack("{s:I, s:f, s:I, s:I}", "count",
			 (json_int_t)stats->count, "mean_ns", stats_mean(stats),
			 "p99_ns", (json_int_t)stats_percentile(stats, 0.99),
			 "max_ns", (json_int_t)stats->max_ns);
}

static json_t *pack_spread(const struct report *report, size_t field_offset)
{
	struct report_spread spread = report_spread(report, field_offset);

	return json_pack("{s:I, s:I}", "most", (json_int_t)spread.most,
			 "median", (json_int_t)spread.median);
}

static json_t *pack_kinds(const struct report *report)
{
	json_t *kinds = json_object();

	for (size_t kind = 0; kind < EXCHANGE_KINDS; kind++) {
		size_t at = kind * sizeof(uint64_t);

		json_object_set_new(
			kinds, kind_keys[kind],
			json_pack(
				"{s:o, s:o}", "exposed_ns",
				pack_spread(report, offsetof(struct report_rank,
							     kind_ns) +
							    at),
				"sent_bytes",
				pack_spread(report, offsetof(struct report_rank,
							     kind_bytes) +
							    at)));
	}
	return kinds;
}

static json_t *pack_pace(const struct pace *pace)
{
	if (pace->round_ns == 0)
		return json_null();
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "round_ns",
			 (json_int_t)pace->round_ns, "steps",
			 (json_int_t)pace->steps, "deadline_misses",
			 (json_int_t)pace->misses, "backlog_most_ns",
			 (json_int_t)pace->backlog_most_ns, "backlog_last_ns",
			 (json_int_t)pace->backlog_last_ns, "reaction_most_ns",
			 (json_int_t)pace->reaction_most_ns);
}

static json_t *pack_freeze(const struct report *report)
{
	json_t *ranks;

	if (report->freeze == NULL)
		return json_null();
	ranks = json_array();
	for (uint32_t r = 0; r < report->ranks; r++) {
		const struct report_rank *one = &report->all[r];

		if (r != report->freeze->rank)
			json_array_append_new(
				ranks,
				json_pack("{s:i, s:I, s:I, s:I}", "rank",
					  (int)r, "requests_ended",
					  (json_int_t)one->meanwhile_requests,
					  "windows",
					  (json_int_t)one->meanwhile_windows,
					  "longest_call_ns",
					  (json_int_t)one->meanwhile_stall_ns));
	}
	return json_pack("{s:i, s:I, s:I, s:I, s:I, s:I, s:o}", "rank",
			 (int)report->freeze->rank, "window",
			 (json_int_t)report->freeze_window, "frozen_ns",
			 (json_int_t)report->frozen_ns, "others_requests_ended",
			 (json_int_t)report->others_requests, "others_windows",
			 (json_int_t)report->others_windows,
			 "others_longest_call_ns",
			 (json_int_t)report->others_stall_ns, "others", ranks);
}

static json_t *pack_checks(const struct verify_result *checks)
{
	char digest[24];

	snprintf(digest, sizeof(digest), "%016llx",
		 (unsigned long long)checks->digest);
	return json_pack("{s:b, s:s, s:I, s:I, s:I, s:b, s:I, s:I, s:I, s:f}",
			 "passed", verify_passed(checks), "digest", digest,
			 "edges", (json_int_t)checks->edges,
			 "differing_patches", (json_int_t)checks->differing,
			 "residual", (json_int_t)checks->residual,
			 "errors_checked", checks->errors_checked, "errors",
			 (json_int_t)checks->errors, "serial_errors",
			 (json_int_t)checks->serial_errors, "reference_errors",
			 (json_int_t)checks->reference_errors, "bound",
			 checks->bound);
}

static json_t *pack_setting(const struct report *report)
{
	const struct options *options = report->options;

	return json_pack(
		"{s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:i, "
		"s:i, s:i, s:f}",
		"model", options->model, "shots", options->shots, "exchange",
		report->exchange, "progress", report->owner, "mode",
		options->latency ? "latency" : "throughput", "racks",
		options->racks == RACK_STRIP ? "strip" : "patch", "ranks",
		(int)report->ranks, "patches", (int)report->shots->count,
		"batch", (int)options->patches, "slabs",
		(int)report->plan->slab_count, "commit",
		(int)report->plan->commit, "buffer", (int)report->plan->buffer,
		"dropped_seams_percent", options->drop_seams);
}

int report_write_json(const struct report *report, const char *path,
		      struct problem *problem)
{
	json_t *root = json_pack(
		"{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
		"s:o, s:o}",
		"setting", pack_setting(report), "checks",
		pack_checks(report->checks), "total_ns",
		pack_spread(report, offsetof(struct report_rank, total_ns)),
		"decode_ns",
		pack_spread(report, offsetof(struct report_rank, decode_ns)),
		"exposed_ns",
		pack_spread(report, offsetof(struct report_rank, exposed_ns)),
		"exchange", pack_kinds(report), "a_window",
		pack_stats(&report->a), "b_window", pack_stats(&report->b),
		"real_time", pack_pace(&report->pace), "freeze",
		pack_freeze(report));
	int rc = root == NULL ? -1 : 0;

	if (rc == 0 && strcmp(path, "-") == 0) {
		rc = json_dumpf(root, stdout, JSON_INDENT(2));
		puts("");
	} else if (rc == 0) {
		rc = json_dump_file(root, path, JSON_INDENT(2));
	}
	json_decref(root);
	if (rc != 0)
		return problem_set(problem, -EIO,
				   "%s: cannot be written; "
				   "give --json a file in a folder that exists",
				   path);
	return 0;
}
