/* SPDX-License-Identifier: BSD-3-Clause */
/* The result, as a table for people or as JSON for programs. */
#ifndef QWINDOW_REPORT_H
#define QWINDOW_REPORT_H

#include "examples/qwindow/dem.h"
#include "examples/qwindow/options.h"
#include "examples/qwindow/schedule.h"
#include "examples/qwindow/verify.h"

/* Of one rank; gathered on rank 0. All fields are 64-bit. */
struct report_rank {
	uint64_t total_ns;
	uint64_t decode_ns;
	uint64_t rack_ns;
	uint64_t exposed_ns;
	uint64_t kind_ns[EXCHANGE_KINDS];
	uint64_t kind_bytes[EXCHANGE_KINDS];
	uint64_t windows;
	/* What it saw while another rank was frozen. */
	uint64_t meanwhile_requests; /* that ended */
	uint64_t meanwhile_windows;  /* that it finished */
	uint64_t meanwhile_stall_ns; /* its longest call of the exchange */
};

/* One rank was stopped; what each saw is kept by timelines. */
struct report_freeze {
	uint32_t rank;
	const struct freeze *freeze; /* NULL: another rank was */
	const struct timeline *posts;
	const struct timeline *waits;
	const struct timeline *windows;
};

struct report {
	const struct options *options;
	const struct dem *dem;
	const struct plan *plan;
	const struct shots *shots;
	const struct schedule_result *run;
	const struct verify_result *checks;
	const char *exchange; /* name */
	const char *owner;    /* who makes progress */
	uint32_t ranks;
	struct report_rank *all; /* owned, of each rank; NULL but on rank 0 */
	struct stats a;		 /* of all ranks */
	struct stats b;
	struct pace pace; /* worst of all ranks */
	uint64_t seams_sent;
	uint64_t seams_dropped;
	const struct report_freeze *freeze; /* NULL: no rank was stopped */
	uint64_t freeze_window;
	uint64_t frozen_ns;
	uint64_t others_requests; /* sums and maximum of the other ranks */
	uint64_t others_windows;
	uint64_t others_stall_ns;
};

/* Collective: fill in what comes from other ranks. 0 or -ENOMEM. */
int report_gather(MPI_Comm comm, const struct exchange *x,
		  struct report *report);
void report_release(struct report *report);

/* The largest and the middle value of one field over ranks. */
struct report_spread {
	uint64_t most;
	uint64_t median;
};
struct report_spread report_spread(const struct report *report,
				   size_t field_offset);

/* Rank 0 only. */
void report_print(const struct report *report);
/* path "-": standard output. 0 or -errno with the problem set. */
int report_write_json(const struct report *report, const char *path,
		      struct problem *problem);

#endif
