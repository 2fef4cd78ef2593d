/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every thread of rank 1 is stopped after it has posted, while it stands in
 * the middle of collectives of several stages.  What it owes goes on without
 * it: the others' requests end, and when it goes on, its result is there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/conformance/data.h"
#include "tests/daemon/stand.h"

#define RANKS 4
#define VICTIM 1
#define FREEZER 0
/* Of elements of 8 bytes: within a slot, a message, several pieces. */
static const uint64_t counts[] = { 1, 2000, 50000 };
#define COUNT_MAX 50000
#define SIZES (sizeof(counts) / sizeof(counts[0]))
/* From the freeze to the end of the others' requests. */
#define LIMIT_MS 5000

/* Words that the ranks share. */
enum { POSTED, FROZEN, ENDED, THAWED, VICTIM_PID };

struct plan {
	const char *way; /* to the buffers */
	/* Each has rank 1 between others; root is the broadcast's. */
	const char *algorithms[8];
	uint32_t root;
};

/* One operation, and what it should bring. */
struct piece {
	qo_op_t op;
	uint64_t count;
	uint64_t *send, *recv;
	void (*fill)(struct qot_rank *rank, struct piece *piece, uint64_t turn);
	int (*right)(struct qot_rank *rank, const struct piece *piece,
		     uint64_t turn);
	uint32_t root;
};

static uint64_t value_of(uint64_t turn, uint64_t from, uint64_t to, uint64_t i)
{
	return qoc_seed(turn, from * RANKS + to, i) >> 8;
}

static void bcast_fill(struct qot_rank *rank, struct piece *piece, uint64_t turn)
{
	for (uint64_t i = 0; i < piece->count; i++)
		piece->recv[i] = rank->rank == piece->root
					 ? value_of(turn, piece->root, 0, i)
					 : 0;
}

static int bcast_right(struct qot_rank *rank, const struct piece *piece,
		       uint64_t turn)
{
	for (uint64_t i = 0; i < piece->count; i++)
		QOT_CHECK(rank,
			  piece->recv[i] == value_of(turn, piece->root, 0, i));
	return 0;
}

static void own_fill(struct qot_rank *rank, struct piece *piece, uint64_t turn)
{
	for (uint64_t i = 0; i < piece->count; i++)
		piece->send[i] = value_of(turn, rank->rank, 0, i);
}

static int gather_right(struct qot_rank *rank, const struct piece *piece,
			uint64_t turn)
{
	for (uint32_t from = 0; from < RANKS; from++)
		for (uint64_t i = 0; i < piece->count; i++)
			QOT_CHECK(rank, piece->recv[from * piece->count + i] ==
						value_of(turn, from, 0, i));
	return 0;
}

static int reduce_right(struct qot_rank *rank, const struct piece *piece,
			uint64_t turn)
{
	for (uint64_t i = 0; i < piece->count; i++) {
		uint64_t sum = 0;

		for (uint32_t from = 0; from < RANKS; from++)
			sum += value_of(turn, from, 0, i);
		QOT_CHECK(rank, piece->recv[i] == sum);
	}
	return 0;
}

static void each_fill(struct qot_rank *rank, struct piece *piece, uint64_t turn)
{
	for (uint32_t to = 0; to < RANKS; to++)
		for (uint64_t i = 0; i < piece->count; i++)
			piece->send[to * piece->count + i] =
				value_of(turn, rank->rank, to, i);
}

static int each_right(struct qot_rank *rank, const struct piece *piece,
		      uint64_t turn)
{
	for (uint32_t from = 0; from < RANKS; from++)
		for (uint64_t i = 0; i < piece->count; i++)
			QOT_CHECK(rank,
				  piece->recv[from * piece->count + i] ==
					  value_of(turn, from, rank->rank, i));
	return 0;
}

static void none_fill(struct qot_rank *rank, struct piece *piece, uint64_t turn)
{
	(void)rank;
	(void)piece;
	(void)turn;
}

static int none_right(struct qot_rank *rank, const struct piece *piece,
		      uint64_t turn)
{
	(void)rank;
	(void)piece;
	(void)turn;
	return 0;
}

#define PIECES 5

static int pieces_make(struct qot_rank *rank, qo_team_t team,
		       struct piece *pieces, uint64_t count, uint64_t *send,
		       uint64_t *recv)
{
	const struct plan *plan = qoc_env(rank)->param;
	const struct piece models[PIECES] = {
		{ .fill = bcast_fill, .right = bcast_right },
		{ .fill = own_fill, .right = gather_right },
		{ .fill = own_fill, .right = reduce_right },
		{ .fill = each_fill, .right = each_right },
		{ .fill = none_fill, .right = none_right },
	};

	for (int i = 0; i < PIECES; i++) {
		pieces[i] = models[i];
		pieces[i].count = count;
		pieces[i].root = plan->root;
		pieces[i].send = send;
		pieces[i].recv = recv;
	}
	QOT_CHECK(rank, qo_bcast_init(team, recv, count, QO_UINT64, plan->root,
				      &pieces[0].op) == 0);
	QOT_CHECK(rank, qo_allgather_init(team, send, recv, count, QO_UINT64,
					  &pieces[1].op) == 0);
	QOT_CHECK(rank, qo_allreduce_init(team, send, recv, count, QO_UINT64,
					  QO_SUM, &pieces[2].op) == 0);
	QOT_CHECK(rank, qo_alltoall_init(team, send, recv, count, QO_UINT64,
					 &pieces[3].op) == 0);
	QOT_CHECK(rank, qo_barrier_init(team, &pieces[4].op) == 0);
	return 0;
}

/* Some microseconds, another number each time. */
static void moment_pass(uint64_t seed)
{
	int64_t until = qoc_now() + (int64_t)(qoc_seed(seed, 1, 2) % 300000);

	while (qoc_now() < until)
		;
}

/*
 * The victim posts and is stopped somewhere behind that: idle in some turns,
 * in its wait in others.
 */
static int victim_turn(struct qot_rank *rank, struct piece *piece, uint64_t turn)
{
	qo_request_t request;

	piece->fill(rank, piece, turn);
	QOT_CHECK(rank, qo_post(piece->op, &request) == 0);
	qod_word_set(rank, POSTED, turn);
	if (turn % 2 == 0)
		QOC_PASS(qod_word_await(rank, THAWED, turn));
	QOC_PASS(qoc_wait_done(request, qoc_in_ms(2 * LIMIT_MS)));
	return piece->right(rank, piece, turn);
}

/* By the freezer: once the victim has posted, at some moment. */
static int freeze(struct qot_rank *rank, uint64_t turn)
{
	QOC_PASS(qod_word_await(rank, POSTED, turn));
	moment_pass(turn);
	QOC_PASS(qot_freeze((pid_t)qod_word(rank, VICTIM_PID)));
	qod_word_set(rank, FROZEN, turn);
	return 0;
}

/* By the freezer: once `others` ranks have ended this turn. */
static int thaw(struct qot_rank *rank, uint64_t turn, uint64_t others)
{
	QOC_PASS(qod_word_await(rank, ENDED, turn * others));
	QOC_PASS(qot_thaw((pid_t)qod_word(rank, VICTIM_PID)));
	qod_word_set(rank, THAWED, turn);
	return 0;
}

/* The others post before or after the freeze, and end before the thaw. */
static int other_turn(struct qot_rank *rank, struct piece *piece, uint64_t turn)
{
	int early = turn % 3 == 2;
	qo_request_t request;

	piece->fill(rank, piece, turn);
	if (early)
		QOT_CHECK(rank, qo_post(piece->op, &request) == 0);
	if (rank->rank == FREEZER)
		QOC_PASS(freeze(rank, turn));
	QOC_PASS(qod_word_await(rank, FROZEN, turn));
	if (!early)
		QOT_CHECK(rank, qo_post(piece->op, &request) == 0);
	QOC_PASS(qoc_wait_done(request, qoc_in_ms(LIMIT_MS)));
	QOC_PASS(piece->right(rank, piece, turn));
	qod_word_add(rank, ENDED);
	return rank->rank == FREEZER ? thaw(rank, turn, RANKS - 1) : 0;
}

static int frozen_rank(struct qot_rank *rank)
{
	const struct plan *plan = qoc_env(rank)->param;
	uint64_t turns = qod_long() ? 40 : 8;
	struct piece pieces[PIECES];
	struct qoc_room room;
	qo_context_t context;
	uint64_t turn = 0;
	qo_team_t team;

	QOC_PASS(qoc_join(rank, plan->algorithms, &context, &team));
	QOC_PASS(qoc_room_take(rank, context, 2 * RANKS * COUNT_MAX * 8, &room));
	if (rank->rank == VICTIM)
		qod_word_set(rank, VICTIM_PID, (uint64_t)getpid());
	for (size_t s = 0; s < SIZES; s++) {
		QOC_PASS(pieces_make(
			rank, team, pieces, counts[s], room.address,
			(uint64_t *)room.address + RANKS * COUNT_MAX));
		for (uint64_t i = 0; i < turns * PIECES; i++) {
			struct piece *piece = &pieces[i % PIECES];

			qot_meet(rank);
			turn++;
			if (rank->rank == VICTIM)
				QOC_PASS(victim_turn(rank, piece, turn));
			else
				QOC_PASS(other_turn(rank, piece, turn));
		}
		qot_meet(rank);
		for (int i = 0; i < PIECES; i++)
			QOT_CHECK(rank, qo_op_destroy(pieces[i].op) == 0);
	}
	qoc_room_free(&room);
	return qoc_leave(rank, context, team);
}

static int frozen(const void *param)
{
	const struct plan *plan = param;
	struct qod_stand stand;
	int failed;

	if (qod_open(&stand, NULL, NULL) != 0)
		return 1;
	qod_set_way(&stand, plan->way);
	failed = qod_run(&stand, RANKS, frozen_rank, plan, 0);
	return failed + qod_close(&stand);
}

static const struct qo_edge edges[] = { { VICTIM, 0, 0, 64, 2, 0 },
					{ VICTIM, 2, 0, 64, 2, 0 },
					{ VICTIM, 3, 0, 64, 2, 0 },
					{ 2, 3, 0, 64, 2, 0 } };
#define EDGES 4

/* What has come in, in place. */
static int seams_right(struct qot_rank *rank, qo_request_t request,
		       uint64_t turn)
{
	for (uint32_t e = 0; e < EDGES; e++) {
		struct qo_view view;
		uint64_t first, last;

		if (edges[e].destination != rank->rank)
			continue;
		QOT_CHECK(rank, qo_mesh_arrived(request, e, &view) == 0);
		QOT_CHECK(rank, view.bytes == 64 && view.round == turn - 1);
		memcpy(&first, view.data, 8);
		memcpy(&last, (const uint8_t *)view.data + 56, 8);
		QOT_CHECK(rank, first == turn + edges[e].source);
		QOT_CHECK(rank, last == first);
	}
	return 0;
}

static int mesh_turn(struct qot_rank *rank, qo_mesh_t mesh, uint64_t turn)
{
	uint64_t data[8] = { turn + rank->rank, 0, 0, 0, 0, 0, 0,
			     turn + rank->rank };
	struct qo_seam seams[EDGES];
	qo_request_t request;
	size_t count = 0;

	for (uint32_t e = 0; e < EDGES; e++) {
		if (edges[e].source == rank->rank)
			seams[count++] = (struct qo_seam){ e, 64, data };
	}
	if (rank->rank == FREEZER)
		QOC_PASS(freeze(rank, turn));
	if (rank->rank != VICTIM)
		QOC_PASS(qod_word_await(rank, FROZEN, turn));
	QOT_CHECK(rank, qo_mesh_post(mesh, turn - 1, seams, count,
				     QO_NO_DEADLINE, &request) == 0);
	if (rank->rank == VICTIM) {
		qod_word_set(rank, POSTED, turn);
		QOC_PASS(qod_word_await(rank, THAWED, turn));
	}
	QOC_PASS(qoc_wait_done(request, qoc_in_ms(LIMIT_MS)));
	QOC_PASS(seams_right(rank, request, turn));
	QOT_CHECK(rank, qo_mesh_release(request) == 0);
	if (rank->rank != VICTIM)
		qod_word_add(rank, ENDED);
	return rank->rank == FREEZER ? thaw(rank, turn, RANKS - 1) : 0;
}

/* Seams that were posted before the freeze are there to be read. */
static int mesh_rank(struct qot_rank *rank)
{
	qo_context_t context;
	qo_mesh_t mesh;
	qo_team_t team;

	QOC_PASS(qoc_join(rank, NULL, &context, &team));
	QOT_CHECK(rank, qo_mesh_create(team, edges, EDGES, &mesh) == 0);
	if (rank->rank == VICTIM)
		qod_word_set(rank, VICTIM_PID, (uint64_t)getpid());
	for (uint64_t turn = 1; turn <= 30; turn++) {
		qot_meet(rank);
		QOC_PASS(mesh_turn(rank, mesh, turn));
	}
	qot_meet(rank);
	QOC_PASS(qoc_mesh_destroy(rank, context, mesh));
	return qoc_leave(rank, context, team);
}

static int mesh(const void *param)
{
	struct qod_stand stand;

	(void)param;
	if (qod_open(&stand, NULL, NULL) != 0)
		return 1;
	return qod_run(&stand, RANKS, mesh_rank, NULL, 0) + qod_close(&stand);
}

/*
 * The same under agent threads, as a control: what is behind the victim in the
 * chain waits for it.
 */
static int control_rank(struct qot_rank *rank)
{
	static const char *const chain[] = { "QO_COLL_BCAST=chain", NULL };
	uint64_t value = rank->rank == 0;
	struct qo_status status;
	qo_context_t context;
	qo_request_t request;
	qo_team_t team;
	qo_op_t op;

	QOC_PASS(qoc_join(rank, chain, &context, &team));
	QOT_CHECK(rank, qo_bcast_init(team, &value, 1, QO_UINT64, 0, &op) == 0);
	if (rank->rank == VICTIM)
		qod_word_set(rank, VICTIM_PID, (uint64_t)getpid());
	else if (rank->rank == FREEZER)
		QOC_PASS(freeze(rank, 1));
	if (rank->rank != VICTIM)
		QOC_PASS(qod_word_await(rank, FROZEN, 1));
	QOT_CHECK(rank, qo_post(op, &request) == 0);
	qod_word_set(rank, POSTED, 1);
	if (rank->rank == VICTIM)
		QOC_PASS(qod_word_await(rank, THAWED, 1));
	if (rank->rank > VICTIM) {
		QOT_CHECK(rank, qo_wait(request, qoc_in_ms(200), &status) ==
					-ETIMEDOUT);
		qod_word_add(rank, ENDED);
	}
	if (rank->rank == FREEZER)
		QOC_PASS(thaw(rank, 1, RANKS - 2));
	QOC_PASS(qoc_wait_done(request, qoc_in_ms(LIMIT_MS)));
	QOT_CHECK(rank, value == 1);
	qot_meet(rank);
	QOT_CHECK(rank, qo_op_destroy(op) == 0);
	return qoc_leave(rank, context, team);
}

static int control(const void *param)
{
	struct qod_stand stand = { 0 };

	(void)param;
	qod_settings(&stand);
	qod_set(&stand, "QO_AGENT", "thread");
	return qod_run(&stand, RANKS, control_rank, NULL, 0);
}

/* Each leaves rank 1 with something to pass on to others. */
#define LONG_WAYS                                                              \
	{                                                                      \
		"QO_COLL_BCAST=chain", "QO_COLL_ALLGATHER=ring",               \
			"QO_COLL_ALLREDUCE=ring", "QO_COLL_ALLTOALL=pairwise", \
			"QO_COLL_BARRIER=dissemination", NULL                  \
	}
#define SHORT_WAYS                                                              \
	{                                                                       \
		"QO_COLL_BCAST=binomial", "QO_COLL_ALLGATHER=doubling",         \
			"QO_COLL_ALLREDUCE=doubling", "QO_COLL_ALLTOALL=bruck", \
			"QO_COLL_BARRIER=dissemination", NULL                   \
	}
#define FLAT_WAYS                                                              \
	{                                                                      \
		"QO_AGENT_DIRECT=off", "QO_COLL_ALLREDUCE=flat", NULL          \
	}

static const struct plan plans[] = {
	{ "map", LONG_WAYS, 0 },    { "cross", LONG_WAYS, 0 },
	{ "stage", LONG_WAYS, 0 },  { "map", SHORT_WAYS, 3 },
	{ "cross", SHORT_WAYS, 3 }, { "stage", SHORT_WAYS, 3 },
	{ "stage", FLAT_WAYS, 0 },
};

static const struct qod_test tests[] = {
	{ "control_thread", control, NULL },
	{ "long_ways_map", frozen, &plans[0] },
	{ "long_ways_cross", frozen, &plans[1] },
	{ "long_ways_stage", frozen, &plans[2] },
	{ "short_ways_map", frozen, &plans[3] },
	{ "short_ways_cross", frozen, &plans[4] },
	{ "short_ways_stage", frozen, &plans[5] },
	{ "flat_stage", frozen, &plans[6] },
	{ "mesh", mesh, NULL },
	{ NULL, NULL, NULL },
};

int main(int argc, char **argv)
{
	return qod_main(argc, argv, tests, 200);
}
