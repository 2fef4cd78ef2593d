/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What ranks tell each other when they set something up together: one message
 * from each to each, then a verdict that is the same on all of them.
 */
#ifndef QOI_EXCHANGE_H
#define QOI_EXCHANGE_H

#include "libqoffload/client/handle.h"

/* Kinds of control messages; see struct qo_control_tag. */
#define QOI_CONTROL_SPLIT 1
#define QOI_CONTROL_OP 2
#define QOI_CONTROL_MESH 3
#define QOI_CONTROL_VERDICT 4

struct qoi_exchange {
	struct qo_team *team;
	uint32_t kind;
	uint32_t sequence;
	struct qo_window *window; /* offered to all, or NULL */
	void *arg;
	/* The message to a rank: where it is, how long. */
	const void *(*message)(void *arg, uint32_t rank, size_t *bytes_out);
	/*
	 * Takes a rank's message; owns remote (may be NULL) from then on.
	 * Returns 0 or a negative errno, told through qoi_fail().
	 */
	int (*take)(void *arg, uint32_t rank, const void *data, size_t bytes,
		    struct qo_remote *remote);
};

/*
 * A message of these bytes alone says that its sender cannot take part.
 */
struct qoi_refusal {
	int32_t error;
};

/* Returns the first error; goes on with the other ranks nevertheless. */
int qoi_exchange_run(const struct qoi_exchange *exchange);

/*
 * Tells all ranks how it went here, with this thread's error detail, and
 * hears how it went there.  Returns 0 when it went well everywhere, else an
 * error of one rank, told alike on all of them: that of the lowest rank that
 * found something itself, before those that only heard of it.
 */
int qoi_exchange_verdict(struct qo_team *team, uint32_t sequence, int error);

/*
 * In place of an exchange of this kind, where this rank cannot take part for
 * lack of memory or for a bad argument: the others hear of it, and all stay in
 * step.  Allocates nothing.  Returns error, or that of a lower rank.
 */
int qoi_exchange_refuse(struct qo_team *team, uint32_t kind, uint32_t sequence,
			int error);

#endif
