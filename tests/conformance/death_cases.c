/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank is killed in the middle: what needs it fails and says so on every
 * survivor, what doesn't goes on, nobody hangs and nothing is left behind.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "tests/conformance/suite.h"

/* Who dies: rank 1. */
#define VICTIM 1
/* From its death to the end of the requests that needed it. */
#define BOUND_MS 3000
#define MANY 60000

/* Each way of going round the ranks: who isn't a neighbour must hear too. */
static const char *const flat[] = { "QO_COLL_ALLREDUCE=flat",
				    "QO_COLL_BARRIER=flat", NULL };
static const char *const ring[] = { "QO_COLL_ALLREDUCE=ring",
				    "QO_COLL_BARRIER=dissemination", NULL };
static const char *const doubling[] = { "QO_COLL_ALLREDUCE=doubling",
					"QO_COLL_BARRIER=dissemination", NULL };

static void die(void)
{
	kill(getpid(), SIGKILL);
	for (;;)
		pause();
}

/* Waits for an end, without a deadline, and checks whom it blames. */
static int lost(struct qot_rank *rank, qo_request_t request)
{
	struct qo_status status = { 0 };
	char text[128];

	QOT_CHECK(rank, qo_wait(request, QO_NO_DEADLINE, &status) == 0);
	QOT_CHECK(rank, status.state == QO_FAILED);
	QOT_CHECK(rank, status.error == -ECONNRESET);
	QOT_CHECK(rank, status.rank == VICTIM);
	QOT_CHECK(rank, qo_status_describe(&status, text, sizeof(text)) == 0);
	QOT_CHECK(rank, strstr(text, "rank 1") != NULL);
	/* It stays so. */
	QOT_CHECK(rank, qo_test(request, &status) == 0);
	QOT_CHECK(rank, status.state == QO_FAILED);
	return 0;
}

/* A post of what needs the victim is refused, or fails. */
static int post_lost(struct qot_rank *rank, qo_op_t op)
{
	qo_request_t request;
	int error = qo_post(op, &request);

	if (error == 0)
		return lost(rank, request);
	QOT_CHECK(rank, error == -ECONNRESET);
	QOT_CHECK(rank, strstr(qo_error_detail(), "rank 1") != NULL);
	return 0;
}

struct objects {
	qo_context_t context;
	qo_team_t team, part;
	qo_op_t reduce, barrier, apart;
	struct qoc_room room; /* MANY values, then one of `apart` */
};

static int objects_make(struct qot_rank *rank, struct objects *objects)
{
	const char *const *extra = qoc_env(rank)->param;
	uint64_t *values;

	QOC_PASS(qoc_join(rank, extra, &objects->context, &objects->team));
	QOC_PASS(qoc_room_take(rank, objects->context,
			       (MANY + 1) * sizeof(*values), &objects->room));
	values = objects->room.address;
	QOT_CHECK(rank, qo_team_split(objects->team, rank->rank == VICTIM, 0,
				      &objects->part) == 0);
	QOT_CHECK(rank,
		  qo_allreduce_init(objects->team, QO_IN_PLACE, values, MANY,
				    QO_UINT64, QO_SUM, &objects->reduce) == 0);
	QOT_CHECK(rank, qo_barrier_init(objects->team, &objects->barrier) == 0);
	QOT_CHECK(rank, qo_allreduce_init(objects->part, QO_IN_PLACE,
					  &values[MANY], 1, QO_UINT64, QO_SUM,
					  &objects->apart) == 0);
	return 0;
}

static int objects_free(struct qot_rank *rank, struct objects *objects)
{
	QOT_CHECK(rank, qo_op_destroy(objects->reduce) == 0);
	QOT_CHECK(rank, qo_op_destroy(objects->barrier) == 0);
	QOT_CHECK(rank, qo_op_destroy(objects->apart) == 0);
	QOT_CHECK(rank, qo_team_destroy(objects->part) == 0);
	qoc_room_free(&objects->room);
	return qoc_leave(rank, objects->context, objects->team);
}

/* Rank 1 dies after some posts; when, in the operation, is left to chance. */
static int killed_in_operation(struct qot_rank *rank)
{
	struct objects objects;
	int entries = qot_shm_entries();
	int64_t since;

	QOC_PASS(objects_make(rank, &objects));
	QOC_PASS(qot_run_op(objects.reduce));
	/* What it owes may still be with it. */
	qot_meet_progress(rank, objects.context);
	if (rank->rank == VICTIM)
		die();
	since = qoc_now();
	QOC_PASS(post_lost(rank, objects.barrier));
	QOC_PASS(post_lost(rank, objects.reduce));
	QOT_CHECK(rank, qoc_now() - since < BOUND_MS * INT64_C(1000000));
	QOC_PASS(post_lost(rank, objects.reduce));
	/* Those who live, among themselves. */
	for (int i = 0; i < 20; i++)
		QOC_PASS(qot_run_op(objects.apart));
	QOT_CHECK(rank, qot_shm_entries() <= entries);
	return objects_free(rank, &objects);
}

/* In the middle of large transfers, by its own clock. */
static int killed_under_way(struct qot_rank *rank)
{
	struct objects objects;
	struct qo_status status;
	qo_request_t request;
	int64_t until;

	QOC_PASS(objects_make(rank, &objects));
	qot_meet_progress(rank, objects.context);
	until = qoc_in_ms(10);
	for (;;) {
		int error;

		if (rank->rank == VICTIM && qoc_now() > until)
			die();
		error = qo_post(objects.reduce, &request);
		if (error == -ECONNRESET)
			break;
		QOT_CHECK(rank, error == 0);
		if (rank->rank == VICTIM && qoc_now() > until)
			die();
		QOT_CHECK(rank, qo_wait(request, QO_NO_DEADLINE, &status) == 0);
		if (status.state == QO_DONE)
			continue;
		QOT_CHECK(rank, status.error == -ECONNRESET);
		QOT_CHECK(rank, status.rank == VICTIM);
		break;
	}
	QOT_CHECK(rank, qoc_now() - until < BOUND_MS * INT64_C(1000000));
	for (int i = 0; i < 20; i++)
		QOC_PASS(qot_run_op(objects.apart));
	return objects_free(rank, &objects);
}

/* An edge from the victim, one to it, and one between the others. */
static int killed_in_mesh(struct qot_rank *rank)
{
	const struct qo_edge edges[] = { { VICTIM, 0, 0, 8, 2, 0 },
					 { 2, VICTIM, 0, 8, 2, 0 },
					 { 0, 2, 0, 8, 2, 0 } };
	struct qo_view view;
	qo_context_t context;
	qo_request_t request;
	qo_mesh_t mesh;
	qo_team_t team;

	QOC_PASS(qoc_join(rank, NULL, &context, &team));
	QOT_CHECK(rank, qo_mesh_create(team, edges, 3, &mesh) == 0);
	QOT_CHECK(rank,
		  qo_mesh_post(mesh, 0, NULL, 0, QO_NO_DEADLINE, &request) == 0);
	QOC_PASS(qoc_wait_done(request, QO_NO_DEADLINE));
	QOT_CHECK(rank, qo_mesh_release(request) == 0);
	qot_meet_progress(rank, context);
	if (rank->rank == VICTIM)
		die();
	QOT_CHECK(rank,
		  qo_mesh_post(mesh, 1, NULL, 0, QO_NO_DEADLINE, &request) == 0);
	if (rank->rank == 0) {
		QOC_PASS(lost(rank, request));
		QOT_CHECK(rank,
			  qo_mesh_arrived(request, 0, &view) == -ECONNRESET);
	} else {
		struct qo_status status;

		/* What comes in is from a living one; what goes out is lost. */
		QOT_CHECK(rank, qo_wait(request, QO_NO_DEADLINE, &status) == 0);
		QOT_CHECK(rank,
			  status.state == QO_DONE || status.rank == VICTIM);
		while (qo_mesh_arrived(request, 2, &view) == -EAGAIN)
			qo_progress(context);
		QOT_CHECK(rank, view.edge == 2 && view.round == 1);
	}
	QOT_CHECK(rank, qo_mesh_release(request) == 0);
	QOC_PASS(qoc_mesh_destroy(rank, context, mesh));
	return qoc_leave(rank, context, team);
}

/* While the others are still setting up: an error on each, in time. */
static int killed_in_setup(struct qot_rank *rank)
{
	static const char *const brief[] = { "QO_CONNECT_TIMEOUT=2s", NULL };
	struct qo_edge edge = { 0, 2, 0, 8, 2, 0 };
	qo_context_t context;
	qo_mesh_t mesh;
	qo_team_t team;
	qo_op_t op;
	int error;

	QOC_PASS(qoc_join(rank, brief, &context, &team));
	if (rank->rank == VICTIM)
		die();
	error = qo_barrier_init(team, &op);
	QOT_CHECK(rank, error == -ECONNRESET);
	QOT_CHECK(rank, strstr(qo_error_detail(), "rank 1") != NULL);
	error = qo_mesh_create(team, &edge, 1, &mesh);
	QOT_CHECK(rank, error == -ECONNRESET);
	return qoc_leave(rank, context, team);
}

/* Puts are lost, and the connection with them: nobody waits for ever. */
static int puts_dropped(struct qot_rank *rank)
{
	static const char *const drop[] = { "QO_FAULT_DROP=2", NULL };
	struct qo_status status = { 0 };
	qo_context_t context;
	qo_request_t request;
	qo_team_t team;
	int error = 0;
	qo_op_t op;

	if (!qoc_env(rank)->faulty)
		return 0;
	QOC_PASS(qoc_join(rank, drop, &context, &team));
	QOT_CHECK(rank, qo_barrier_init(team, &op) == 0);
	for (int i = 0; i < 5000 && error == 0; i++) {
		error = qo_post(op, &request);
		if (error != 0)
			break;
		QOT_CHECK(rank, qo_wait(request, QO_NO_DEADLINE, &status) == 0);
		error = status.error;
	}
	/* The other end of it may be told by one that gave up and left. */
	QOT_CHECK(rank, error == -ECONNRESET || error == -EPIPE);
	QOT_CHECK(rank, qo_op_destroy(op) == 0);
	return qoc_leave(rank, context, team);
}

#define DIES (UINT64_C(1) << VICTIM)

const struct qoc_case qoc_death_cases[] = {
	{ "killed_flat", 2, 4, killed_in_operation, flat, DIES },
	{ "killed_ring", 5, 5, killed_in_operation, ring, DIES },
	{ "killed_doubling", 5, 5, killed_in_operation, doubling, DIES },
	{ "killed_under_way", 2, 4, killed_under_way, ring, DIES },
	{ "killed_in_mesh", 3, 3, killed_in_mesh, NULL, DIES },
	{ "puts_dropped", 2, 4, puts_dropped, NULL, 0 },
	{ "killed_in_setup", 3, 4, killed_in_setup, NULL, DIES },
	{ NULL, 0, 0, NULL, NULL, 0 },
};
