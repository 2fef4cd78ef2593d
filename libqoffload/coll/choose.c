/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of algorithms, and which one is taken when none is asked for. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "libqoffload/base/error.h"
#include "libqoffload/coll/build.h"

#define ALGORITHMS_MAX 3

/* Used when the caller has no limits of its own. */
#define FLAT_BYTES 4096u
#define FLAT_RANKS 8u
/* Up to here a round trip costs more than moving the bytes log(count) times. */
#define BRUCK_BYTES 256u
/* Up to here fewer rounds win; beyond, fewer bytes per rank. */
#define FEW_ROUNDS_BYTES (64u * 1024)

/* What every rank knows alike.  in_place is not: it is each rank's affair. */
struct known {
	uint64_t bytes; /* of the largest message of a flat exchange */
	bool near;	/* few enough ranks to write to each directly */
	bool flat;	/* and few enough bytes */
};

struct kind {
	const char *name;
	const char *(*choose)(struct known known);
	const char *algorithms[ALGORITHMS_MAX + 1]; /* NULL-terminated */
	void (*builds[ALGORITHMS_MAX])(struct qoi_build *build);
};

/*
 * Where bytes only move, going straight to each rank is best at any size on
 * one node: every byte is copied once.  A reduction has less to do in stages.
 */
static const char *choose_alltoall(struct known known)
{
	if (known.near)
		return "flat";
	return known.bytes <= BRUCK_BYTES ? "bruck" : "pairwise";
}

/* Only the count of ranks is common knowledge: each rank has its own counts. */
static const char *choose_alltoallv(struct known known)
{
	return known.near ? "flat" : "pairwise";
}

static const char *choose_allgather(struct known known)
{
	if (known.near)
		return "flat";
	return known.bytes <= FEW_ROUNDS_BYTES ? "doubling" : "ring";
}

static const char *choose_allgatherv(struct known known)
{
	return known.near ? "flat" : "ring";
}

static const char *choose_allreduce(struct known known)
{
	if (known.flat)
		return "flat";
	return known.bytes <= FEW_ROUNDS_BYTES ? "doubling" : "ring";
}

static const char *choose_bcast(struct known known)
{
	if (known.near)
		return "flat";
	return known.bytes <= FEW_ROUNDS_BYTES ? "binomial" : "chain";
}

static const char *choose_barrier(struct known known)
{
	return known.near ? "flat" : "dissemination";
}

static const struct kind kinds[QOI_COLL_KIND_COUNT] = {
	[QOI_ALLTOALL] = { "alltoall",
			   choose_alltoall,
			   { "flat", "pairwise", "bruck" },
			   { qoi_alltoall_flat, qoi_alltoall_pairwise,
			     qoi_alltoall_bruck } },
	[QOI_ALLTOALLV] = { "alltoallv",
			    choose_alltoallv,
			    { "flat", "pairwise" },
			    { qoi_alltoall_flat, qoi_alltoall_pairwise } },
	[QOI_ALLGATHER] = { "allgather",
			    choose_allgather,
			    { "flat", "ring", "doubling" },
			    { qoi_allgather_flat, qoi_allgather_ring,
			      qoi_allgather_doubling } },
	[QOI_ALLGATHERV] = { "allgatherv",
			     choose_allgatherv,
			     { "flat", "ring" },
			     { qoi_allgather_flat, qoi_allgather_ring } },
	[QOI_ALLREDUCE] = { "allreduce",
			    choose_allreduce,
			    { "flat", "doubling", "ring" },
			    { qoi_allreduce_flat, qoi_allreduce_doubling,
			      qoi_allreduce_ring } },
	[QOI_BCAST] = { "bcast",
			choose_bcast,
			{ "flat", "binomial", "chain" },
			{ qoi_bcast_flat, qoi_bcast_binomial, qoi_bcast_chain } },
	[QOI_BARRIER] = { "barrier",
			  choose_barrier,
			  { "flat", "dissemination" },
			  { qoi_barrier_flat, qoi_barrier_dissemination } },
};

const char *qoi_coll_kind_name(uint32_t kind)
{
	return kind < QOI_COLL_KIND_COUNT ? kinds[kind].name : NULL;
}

const char *const *qoi_coll_algorithms(uint32_t kind)
{
	return kind < QOI_COLL_KIND_COUNT ? kinds[kind].algorithms : NULL;
}

static uint64_t largest_message(const struct qoi_coll *coll)
{
	uint64_t largest = 0;

	switch (coll->kind) {
	case QOI_ALLTOALLV:
	case QOI_BARRIER:
		return 0;
	case QOI_ALLGATHERV:
		for (uint32_t i = 0; i < coll->count; i++)
			if (coll->recv_counts[i] > largest)
				largest = coll->recv_counts[i];
		return largest * qoi_type_bytes(coll->type);
	default:
		return coll->elements * qoi_type_bytes(coll->type);
	}
}

static const char *choose_auto(const struct qoi_coll *coll,
			       const struct qoi_coll_limits *limits)
{
	static const struct qoi_coll_limits defaults = { FLAT_BYTES,
							 FLAT_RANKS };
	struct known known = { .bytes = largest_message(coll) };

	if (limits == NULL)
		limits = &defaults;
	known.near = coll->count <= limits->flat_ranks;
	known.flat = known.near && known.bytes <= limits->flat_bytes;
	return kinds[coll->kind].choose(known);
}

static int algorithm_index(const struct kind *kind, const char *name)
{
	for (int i = 0; kind->algorithms[i] != NULL; i++)
		if (strcmp(kind->algorithms[i], name) == 0)
			return i;
	return -1;
}

static void tell_unknown(const struct kind *kind, const char *name)
{
	char list[128] = "auto";
	size_t used = strlen(list);

	for (int i = 0; kind->algorithms[i] != NULL; i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used,
					 ", %s", kind->algorithms[i]);
	(void)qoi_fail(-EINVAL, "%s has no algorithm '%s': use one of %s",
		       kind->name, name, list);
}

const char *qoi_coll_choose(const struct qoi_coll *coll, const char *algorithm,
			    const struct qoi_coll_limits *limits)
{
	const struct kind *kind = &kinds[coll->kind];
	int index;

	if (algorithm == NULL || strcmp(algorithm, "auto") == 0)
		algorithm = choose_auto(coll, limits);
	index = algorithm_index(kind, algorithm);
	if (index < 0) {
		tell_unknown(kind, algorithm);
		return NULL;
	}
	/* Doubling needs a power of two; every rank sees that alike. */
	if (coll->kind == QOI_ALLGATHER &&
	    kind->builds[index] == qoi_allgather_doubling &&
	    !qoi_coll_is_power_of_two(coll->count))
		return "ring";
	return kind->algorithms[index];
}

void qoi_coll_build(struct qoi_build *build, const char *algorithm)
{
	const struct kind *kind = &kinds[build->coll->kind];

	kind->builds[algorithm_index(kind, algorithm)](build);
}
