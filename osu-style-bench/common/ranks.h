/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_RANKS_H
#define BENCH_RANKS_H

#include "report.h"

#include <mpi.h>
#include <qoffload/mpi.h>
#include <qoffload/qoffload.h>

#define BENCH_RANKS_MAX 64

/* The ranks that measure: an MPI communicator and a team of the same ranks. */
struct bench_ranks {
	MPI_Comm comm;
	int rank;
	int count;
	int core; /* this rank is pinned to */
	qo_context_t context;
	qo_team_t team;
};

/* The short name of the MPI that this program was built for. */
extern const char *const bench_mpi_name;

/*
 * Starts MPI, the library and a team; pins each rank to a core of the allowed
 * set, in turn.  Ends the program on failure.
 */
void bench_ranks_init(struct bench_ranks *ranks_out);

/* Ends what bench_ranks_init() started. */
void bench_ranks_fini(struct bench_ranks *ranks);

/*
 * The same ranks with several contexts, so that agents can be compared in one
 * program: as bench_ranks_init() for each list of settings (struct
 * qo_init_params).
 */
void bench_ranks_init_several(const char *const *const *settings, size_t count,
			      struct bench_ranks *ranks_out);
void bench_ranks_fini_several(struct bench_ranks *ranks, size_t count);

/* The name of a kind of agent (qo_agent_info.kind). */
const char *bench_agent_name(int32_t kind);

/* Writes who measures where into the report, and prints it (rank 0). */
void bench_ranks_describe(const struct bench_ranks *ranks,
			  struct bench_report *report);

/* Ends the program: "what: error: detail". */
void bench_call_failed(int rc, const char *what) __attribute__((noreturn));

/* Ends the program if a call did not return 0. */
static inline void bench_check(int rc, const char *what)
{
	if (rc != 0)
		bench_call_failed(rc, what);
}

/* Waits for a request and ends the program unless it is done. */
static inline void bench_wait(qo_request_t request)
{
	struct qo_status status;
	int rc = qo_wait(request, QO_NO_DEADLINE, &status);

	if (rc != 0 || status.state != QO_DONE)
		bench_call_failed(rc != 0 ? rc : status.error, "qo_wait");
}

#endif
