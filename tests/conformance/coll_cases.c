/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every operation by every algorithm against a serial reference: in place and
 * separate, zero to many elements, permuted blocks with gaps, odd addresses,
 * arguments that are scribbled over after the init, several posts of one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libqoffload/coll/schedule.h"
#include "tests/conformance/data.h"
#include "tests/conformance/suite.h"

#define POSTS 3
#define RANKS_MAX 9
/* More than any kind has: the last ones start over. */
#define ALGORITHMS 4

static const char *const variables[QOI_COLL_KIND_COUNT] = {
	[QOI_ALLTOALL] = "QO_COLL_ALLTOALL",
	[QOI_ALLTOALLV] = "QO_COLL_ALLTOALLV",
	[QOI_ALLGATHER] = "QO_COLL_ALLGATHER",
	[QOI_ALLGATHERV] = "QO_COLL_ALLGATHERV",
	[QOI_ALLREDUCE] = "QO_COLL_ALLREDUCE",
	[QOI_BCAST] = "QO_COLL_BCAST",
	[QOI_BARRIER] = "QO_COLL_BARRIER",
};

/* One operation that is being tried. */
struct trial {
	struct qot_rank *rank;
	qo_context_t context;
	qo_team_t team;
	uint32_t kind;
	uint32_t in_place;
	uint32_t root;
	int32_t type;
	int32_t reduce;
	uint64_t count;
	uint64_t send_counts[RANKS_MAX], send_places[RANKS_MAX];
	uint64_t recv_counts[RANKS_MAX], recv_places[RANKS_MAX];
	uint64_t send_extent, recv_extent; /* elements */
	struct qoc_image send, recv, want;
	qo_op_t op;
};

/* How many elements rank `from` has for rank `to`. */
static uint64_t pair_count(const struct trial *trial, uint32_t from, uint32_t to)
{
	uint64_t a = from, b = to;

	if (trial->kind == QOI_ALLGATHERV)
		return trial->count * ((a + 1) % 3) + a;
	/* In place what comes is as long as what goes. */
	if (trial->in_place && a > b) {
		a = to;
		b = from;
	}
	return trial->count * ((a * 3 + b) % 4) + (a + b) % 2;
}

/* Blocks in an order that is not that of ranks, with gaps between them. */
static uint64_t places_lay(uint32_t ranks, const uint64_t *counts,
			   uint64_t *places)
{
	uint64_t at = 1;

	for (uint32_t i = 0; i < ranks; i++) {
		uint32_t block = (ranks - 1 - i + ranks / 2) % ranks;

		places[block] = at;
		at += counts[block] + 1 + block % 3;
	}
	return at;
}

static void places_even(uint32_t ranks, uint64_t count, uint64_t *counts,
			uint64_t *places)
{
	for (uint32_t i = 0; i < ranks; i++) {
		counts[i] = count;
		places[i] = i * count;
	}
}

static void trial_lay(struct trial *trial)
{
	uint32_t ranks = trial->rank->count;
	uint32_t me = trial->rank->rank;

	switch (trial->kind) {
	case QOI_ALLTOALLV:
	case QOI_ALLGATHERV:
		for (uint32_t i = 0; i < ranks; i++) {
			trial->send_counts[i] = pair_count(trial, me, i);
			trial->recv_counts[i] = pair_count(trial, i, me);
		}
		trial->recv_extent = places_lay(ranks, trial->recv_counts,
						trial->recv_places);
		trial->send_extent = trial->send_counts[0];
		if (trial->kind == QOI_ALLTOALLV)
			trial->send_extent = places_lay(
				ranks, trial->send_counts, trial->send_places);
		break;
	case QOI_ALLTOALL:
	case QOI_ALLGATHER:
		places_even(ranks, trial->count, trial->send_counts,
			    trial->send_places);
		places_even(ranks, trial->count, trial->recv_counts,
			    trial->recv_places);
		trial->recv_extent = ranks * trial->count;
		trial->send_extent = trial->kind == QOI_ALLTOALL
					     ? ranks * trial->count
					     : trial->count;
		break;
	default:
		trial->send_extent = trial->recv_extent = trial->count;
		break;
	}
}

static uint64_t block_seed(uint64_t post, uint32_t from, uint32_t to)
{
	return qoc_seed(post, from, to);
}

/* What this rank has for rank i goes to where i's block is in `image`. */
static void blocks_fill(const struct trial *trial, uint64_t post,
			struct qoc_image *image, const uint64_t *counts,
			const uint64_t *places)
{
	size_t bytes = qoc_type_bytes(trial->type);

	for (uint32_t i = 0; i < trial->rank->count; i++)
		qoc_fill(image->base + places[i] * bytes, trial->type,
			 counts[i], block_seed(post, trial->rank->rank, i));
}

static int is_to_each(uint32_t kind)
{
	return kind == QOI_ALLTOALL || kind == QOI_ALLTOALLV;
}

static int is_gather(uint32_t kind)
{
	return kind == QOI_ALLGATHER || kind == QOI_ALLGATHERV;
}

/* Fills what goes in, for this post; the receive side otherwise untouched. */
static void input_fill(struct trial *trial, uint64_t post)
{
	size_t bytes = qoc_type_bytes(trial->type);
	uint32_t me = trial->rank->rank;
	uint64_t seed = block_seed(post, me, 0);

	qoc_image_clear(&trial->recv);
	if (is_to_each(trial->kind)) {
		if (trial->in_place)
			blocks_fill(trial, post, &trial->recv,
				    trial->recv_counts, trial->recv_places);
		else
			blocks_fill(trial, post, &trial->send,
				    trial->send_counts, trial->send_places);
	} else if (is_gather(trial->kind) && trial->in_place) {
		qoc_fill(trial->recv.base + trial->recv_places[me] * bytes,
			 trial->type, trial->recv_counts[me], seed);
	} else if (trial->kind == QOI_BCAST) {
		if (me == trial->root)
			qoc_fill(trial->recv.base, trial->type, trial->count,
				 seed);
	} else {
		qoc_fill(trial->in_place ? trial->recv.base : trial->send.base,
			 trial->type, trial->send_extent, seed);
	}
}

static void want_reduce(struct trial *trial, uint64_t post)
{
	size_t bytes = qoc_type_bytes(trial->type);
	uint8_t *part = malloc(trial->count * bytes + 1);

	for (uint32_t i = 0; i < trial->rank->count; i++) {
		uint8_t *to = i == 0 ? trial->want.base : part;

		qoc_fill(to, trial->type, trial->count, block_seed(post, i, 0));
		if (i != 0)
			qoc_fold(trial->want.base, part, trial->type,
				 trial->reduce, trial->count);
	}
	free(part);
}

static void want_fill(struct trial *trial, uint64_t post)
{
	size_t bytes = qoc_type_bytes(trial->type);
	uint32_t me = trial->rank->rank;

	qoc_image_clear(&trial->want);
	if (trial->kind == QOI_ALLREDUCE) {
		want_reduce(trial, post);
		return;
	}
	if (trial->kind == QOI_BCAST) {
		qoc_fill(trial->want.base, trial->type, trial->count,
			 block_seed(post, trial->root, 0));
		return;
	}
	for (uint32_t i = 0; i < trial->rank->count; i++)
		qoc_fill(trial->want.base + trial->recv_places[i] * bytes,
			 trial->type, trial->recv_counts[i],
			 block_seed(post, i, is_gather(trial->kind) ? 0 : me));
}

static void *base_or_null(const struct qoc_image *image)
{
	return image->bytes == 0 ? NULL : image->base;
}

static int trial_init(struct trial *trial)
{
	uint64_t counts[4][RANKS_MAX];
	void *send = trial->in_place ? QO_IN_PLACE : base_or_null(&trial->send);
	void *recv = base_or_null(&trial->recv);
	struct qo_blocks from = { send, counts[0], counts[1] };
	struct qo_blocks to = { recv, counts[2], counts[3] };
	uint64_t own = trial->send_counts[0];
	int error;

	memcpy(counts[0], trial->send_counts, sizeof(counts[0]));
	memcpy(counts[1], trial->send_places, sizeof(counts[0]));
	memcpy(counts[2], trial->recv_counts, sizeof(counts[0]));
	memcpy(counts[3], trial->recv_places, sizeof(counts[0]));
	if (trial->in_place)
		from.counts = from.displacements = NULL;
	switch (trial->kind) {
	case QOI_ALLTOALL:
		error = qo_alltoall_init(trial->team, send, recv, trial->count,
					 trial->type, &trial->op);
		break;
	case QOI_ALLTOALLV:
		error = qo_alltoallv_init(trial->team, &from, &to, trial->type,
					  &trial->op);
		break;
	case QOI_ALLGATHER:
		error = qo_allgather_init(trial->team, send, recv, trial->count,
					  trial->type, &trial->op);
		break;
	case QOI_ALLGATHERV:
		error = qo_allgatherv_init(trial->team, send, own, &to,
					   trial->type, &trial->op);
		break;
	case QOI_ALLREDUCE:
		error = qo_allreduce_init(trial->team, send, recv, trial->count,
					  trial->type, trial->reduce,
					  &trial->op);
		break;
	default:
		error = qo_bcast_init(trial->team, recv, trial->count,
				      trial->type, trial->root, &trial->op);
		break;
	}
	/* They were copied. */
	memset(counts, 0xee, sizeof(counts));
	return error;
}

static int trial_posts(struct trial *trial, const char *what)
{
	for (uint64_t post = 0; post < POSTS; post++) {
		input_fill(trial, post);
		want_fill(trial, post);
		if (qot_run_op(trial->op) != 0 ||
		    qoc_image_compare(&trial->recv, &trial->want, what) != 0) {
			fprintf(stderr, "rank %u: post %u of %s\n",
				trial->rank->rank, (unsigned)post, what);
			return 1;
		}
	}
	return 0;
}

static int trial_run(struct trial *trial)
{
	size_t bytes = qoc_type_bytes(trial->type);
	size_t offset = bytes == 1 ? 0 : trial->rank->rank * 2 + 1;
	char what[96];
	int failed = 1;

	snprintf(what, sizeof(what), "%s of %llu x %s%s root %u",
		 qoi_coll_kind_name(trial->kind),
		 (unsigned long long)trial->count, qoi_type_name(trial->type),
		 trial->in_place ? " in place" : "", trial->root);
	trial_lay(trial);
	QOC_PASS(qoc_image_make(trial->rank, trial->context, &trial->send,
				trial->send_extent * bytes, offset));
	QOC_PASS(qoc_image_make(trial->rank, trial->context, &trial->recv,
				trial->recv_extent * bytes, offset));
	QOC_PASS(qoc_image_make(trial->rank, trial->context, &trial->want,
				trial->recv_extent * bytes, offset));
	if (trial_init(trial) != 0)
		fprintf(stderr, "%s: %s\n", what, qo_error_detail());
	else
		failed = trial_posts(trial, what) ||
			 qo_op_destroy(trial->op) != 0;
	qoc_image_free(&trial->send);
	qoc_image_free(&trial->recv);
	qoc_image_free(&trial->want);
	return failed;
}

/* Sizes around what fits a slot, a chunk, and a read from the peer. */
static const struct {
	uint64_t count;
	int32_t type;
} shapes[] = {
	{ 0, QO_INT32 },     { 1, QO_UINT8 },	 { 3, QO_INT16 },
	{ 5, QO_DOUBLE },    { 300, QO_UINT64 }, { 5000, QO_INT64 },
	{ 30011, QO_FLOAT },
};

static int kind_run(struct qot_rank *rank, qo_context_t context, qo_team_t team,
		    uint32_t kind)
{
	uint32_t roots = kind == QOI_BCAST ? rank->count : 1;
	uint32_t modes = kind == QOI_BCAST ? 1 : 2;
	size_t count = sizeof(shapes) / sizeof(shapes[0]);

	/* Where each piece is late, many pieces take long. */
	if (qoc_env(rank)->faulty && rank->count > 3)
		count--;
	for (size_t i = 0; i < count; i++) {
		for (uint32_t root = 0; root < roots; root++) {
			for (uint32_t mode = 0; mode < modes; mode++) {
				struct trial trial = {
					.rank = rank,
					.context = context,
					.team = team,
					.kind = kind,
					.root = root,
					.in_place = mode,
					.type = shapes[i].type,
					.count = shapes[i].count,
					.reduce = QO_SUM,
				};

				QOC_PASS(trial_run(&trial));
			}
		}
	}
	return 0;
}

/* Nobody is through before everybody was there. */
static int barrier_run(struct qot_rank *rank, qo_team_t team)
{
	uint64_t *posted = qoc_env(rank)->shared;
	qo_op_t op;

	QOT_CHECK(rank, qo_barrier_init(team, &op) == 0);
	for (uint64_t round = 1; round <= 20; round++) {
		if (rank->rank == round % rank->count)
			qoc_sleep_ms(1);
		__atomic_add_fetch(posted, 1, __ATOMIC_SEQ_CST);
		QOC_PASS(qot_run_op(op));
		QOT_CHECK(rank, __atomic_load_n(posted, __ATOMIC_SEQ_CST) >=
					round * rank->count);
	}
	QOT_CHECK(rank, qo_op_destroy(op) == 0);
	return 0;
}

static const char *algorithm_name(uint32_t kind, uint32_t number)
{
	const char *const *names = qoi_coll_algorithms(kind);
	uint32_t count = 0;

	while (names[count] != NULL)
		count++;
	return number == 0 ? "auto" : names[(number - 1) % count];
}

/* What was asked for is what is used. */
static int algorithm_is(struct qot_rank *rank, qo_team_t team,
			const char *wanted)
{
	char text[8192];
	qo_op_t op;

	QOT_CHECK(rank, qo_barrier_init(team, &op) == 0);
	QOT_CHECK(rank, qo_op_describe(op, text, sizeof(text)) == 0);
	QOT_CHECK(rank,
		  strcmp(wanted, "auto") == 0 || strstr(text, wanted) != NULL);
	QOT_CHECK(rank, qo_op_destroy(op) == 0);
	return 0;
}

static int algorithms_run(struct qot_rank *rank)
{
	uint32_t number = *(const uint32_t *)qoc_env(rank)->param;
	char texts[QOI_COLL_KIND_COUNT][64];
	const char *settings[QOI_COLL_KIND_COUNT + 1];
	qo_context_t context;
	qo_team_t team;

	for (uint32_t kind = 0; kind < QOI_COLL_KIND_COUNT; kind++) {
		snprintf(texts[kind], sizeof(texts[kind]), "%s=%s",
			 variables[kind], algorithm_name(kind, number));
		settings[kind] = texts[kind];
	}
	settings[QOI_COLL_KIND_COUNT] = NULL;
	QOC_PASS(qoc_join(rank, settings, &context, &team));
	QOC_PASS(algorithm_is(rank, team, algorithm_name(QOI_BARRIER, number)));
	for (uint32_t kind = 0; kind < QOI_COLL_KIND_COUNT; kind++) {
		if (kind == QOI_BARRIER)
			QOC_PASS(barrier_run(rank, team));
		else
			QOC_PASS(kind_run(rank, context, team, kind));
	}
	return qoc_leave(rank, context, team);
}

static const uint32_t numbers[ALGORITHMS] = { 0, 1, 2, 3 };

const struct qoc_case qoc_coll_cases[] = {
	{ "operations_auto", 1, 5, algorithms_run, &numbers[0], 0 },
	{ "operations_first", 1, 5, algorithms_run, &numbers[1], 0 },
	{ "operations_second", 1, 5, algorithms_run, &numbers[2], 0 },
	{ "operations_third", 1, 5, algorithms_run, &numbers[3], 0 },
	{ NULL, 0, 0, NULL, NULL, 0 },
};
