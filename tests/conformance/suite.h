/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What every provider and agent must do alike: cases, run on ranks that are
 * processes, with the settings of a .prov file.
 */
#ifndef QOC_SUITE_H
#define QOC_SUITE_H

#include "tests/support/ranks.h"

#define QOC_SETTINGS_MAX 24
#define QOC_SHARED_WORDS 512

/* What a rank function finds in rank->arg. */
struct qoc_env {
	const char *settings[QOC_SETTINGS_MAX + 1]; /* ends with NULL */
	uint32_t inlined;			    /* 1: the agent is inline */
	uint32_t far;	   /* 1: the agent is another process */
	uint32_t alloc;	   /* 1: buffers come from qo_mem_alloc() */
	uint32_t faulty;   /* 1: the provider injects faults */
	uint64_t *shared;  /* QOC_SHARED_WORDS, zero at first, of all ranks */
	const void *param; /* of the case */
};

/* Runs on each count of ranks from min to max, as far as the provider goes. */
struct qoc_case {
	const char *name;
	uint32_t ranks_min;
	uint32_t ranks_max;
	qot_rank_fn fn;
	const void *param;
	uint64_t mortals; /* ranks that must die by SIGKILL: bit i rank i */
};

/* Each ends with a name of NULL. */
extern const struct qoc_case qoc_coll_cases[];
extern const struct qoc_case qoc_reduce_cases[];
extern const struct qoc_case qoc_mismatch_cases[];
extern const struct qoc_case qoc_mesh_cases[];
extern const struct qoc_case qoc_mesh_error_cases[];
extern const struct qoc_case qoc_team_cases[];
extern const struct qoc_case qoc_request_cases[];
extern const struct qoc_case qoc_thread_cases[];
extern const struct qoc_case qoc_progress_cases[];
extern const struct qoc_case qoc_death_cases[];
extern const struct qoc_case qoc_limit_cases[];
extern const struct qoc_case qoc_size_cases[];
extern const struct qoc_case qoc_far_cases[];

static inline const struct qoc_env *qoc_env(const struct qot_rank *rank)
{
	return rank->arg;
}

/* A context and a team of all ranks; extra: NULL, or more settings. */
int qoc_join(struct qot_rank *rank, const char *const *extra,
	     qo_context_t *context_out, qo_team_t *team_out);
/* Ends both; returns 0, or prints and returns 1. */
int qoc_leave(struct qot_rank *rank, qo_context_t context, qo_team_t team);

/* What the file sets a variable to, or NULL. */
const char *qoc_setting(const struct qot_rank *rank, const char *name);

/* Memory for buffers: from qo_mem_alloc() if the file says so. */
struct qoc_room {
	void *address; /* zeroed, aligned to 64 */
	qo_mem_t mem;  /* NULL: it is from the heap */
};

/* bytes > 0.  Returns 0, or prints and returns 1; then freed by the caller. */
int qoc_room_take(struct qot_rank *rank, qo_context_t context, size_t bytes,
		  struct qoc_room *room);
/* After the operations on it, before the context ends. */
void qoc_room_free(struct qoc_room *room);

/* Times of CLOCK_MONOTONIC, ns. */
int64_t qoc_now(void);
int64_t qoc_in_ms(int64_t ms);
void qoc_sleep_ms(int64_t ms);

/* Destroys a mesh as soon as nothing of it is on its way. */
int qoc_mesh_destroy(struct qot_rank *rank, qo_context_t context,
		     qo_mesh_t mesh);

/* Waits, at most so long; returns 0 when it is done without an error. */
int qoc_wait_done(qo_request_t request, int64_t deadline_ns);

#define QOC_PASS(call_)                                                        \
	do {                                                                   \
		if ((call_) != 0) {                                            \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,     \
				#call_);                                       \
			return 1;                                              \
		}                                                              \
	} while (0)

#endif
