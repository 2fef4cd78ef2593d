/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests under way.  Every session gets its turn, and in it takes a few
 * commands and moves a few of its halves, so that nobody's flood holds up
 * another.  A half that waits for a peer is out of the ring until that peer
 * has published something for it.
 */
#include <errno.h>
#include <string.h>

#include "libqoffload/base/error.h"
#include "libqoffload/base/fail_point.h"
#include "libqoffload/daemon/half.h"
#include "libqoffload/shm/completion.h"

/* What one turn takes and moves: little, for others may wait for their turn. */
#define TURN_COMMANDS 2
#define TURN_HALVES 2
/*
 * What a half may move in one go: a small exchange waits for no more.  Less in
 * a cycle, and in a piece, while clients outside of its group are busy too.
 */
#define PIECE_BYTES (UINT64_C(64) << 10)
#define CONTENDED_BYTES (UINT64_C(32) << 10)

static void half_wake(struct qoi_half *half)
{
	struct qoi_half *first = half->session->active;

	if (half->active || !half->pending)
		return;
	half->active = 1;
	if (first == NULL) {
		half->next = half;
		half->previous = half;
		half->session->active = half;
		return;
	}
	half->next = first;
	half->previous = first->previous;
	first->previous->next = half;
	first->previous = half;
}

void qoi_half_rest(struct qoi_half *half)
{
	struct qoi_session *session = half->session;

	if (!half->active)
		return;
	half->active = 0;
	if (half->next == half) {
		session->active = NULL;
		return;
	}
	half->previous->next = half->next;
	half->next->previous = half->previous;
	if (session->active == half)
		session->active = half->next;
}

/* The peers for which it published something have something to do. */
static void peers_wake(struct qoi_half *half)
{
	struct qoi_group *group = half->group;

	for (uint32_t rank = 0; rank < group->count; rank++) {
		struct qoi_channel *channel = half->channels[rank];

		if (channel == NULL || !channel->rung)
			continue;
		channel->rung = 0;
		if (group->halves[rank] != NULL)
			half_wake(group->halves[rank]);
	}
}

static void bell_ring(struct qoi_bell *bell)
{
	/* After the publish; and only when somebody sleeps. */
	if ((qoi_bell_wanted(bell, QOI_BELL_AGENT_DATA + 1) &
	     QOI_BELL_WAKE_WAITERS) != 0)
		qoi_bell_ring_waiters(bell);
}

/* error: 0 or a negative errno; rank: to blame. */
static void half_complete(struct qoi_half *half, int error, uint32_t rank)
{
	struct qoi_session *session = half->session;
	struct qoi_daemon *daemon = session->daemon;
	uint64_t word = qoi_completion_pack(
		error == 0 ? QOI_COMPLETION_DONE : QOI_COMPLETION_FAILED,
		(uint32_t)-error, error == 0 ? QOI_COMPLETION_RANK_NONE : rank,
		half->generation);

	if (half->pending) {
		half->pending = 0;
		session->pending--;
		daemon->pending--;
	}
	qoi_half_rest(half);
	if (error == 0) {
		session->counts.completions++;
		daemon->counts.completions++;
	} else {
		session->counts.failures++;
		daemon->counts.failures++;
	}
	QOI_FAIL_POINT("half_completed");
	qoi_attach_complete(qoi_attach_completion(&session->places,
						  session->segment.base,
						  half->completion),
			    word, half->generation);
	bell_ring(session->bell);
}

/*
 * It failed without a death: over a buffer that is not there, or a message
 * that does not fit.  Nothing more will come of it, so the others are told as
 * if the rank that is to blame had died.
 */
static void half_fail(struct qoi_half *half, int error)
{
	struct qoi_group *group = half->group;
	uint32_t blamed = half->exec.error_rank;

	if (error != -ECONNRESET)
		qoi_error_log_add(&group->daemon->errors,
				  "an operation failed without a death: %s",
				  qo_error_string(error));
	if (group->conns[blamed].fate == 0) {
		group->conns[blamed].fate = -ECONNRESET;
		group->losses++;
	}
	half_complete(half, error, blamed);
	for (uint32_t i = 0; i < group->count; i++) {
		if (group->halves[i] != NULL)
			qoi_half_peer_gone(group->halves[i]);
	}
}

/* A rank has left: ends what can't end by itself any more. */
static void half_judge(struct qoi_half *half)
{
	int fate = qoi_exec_orphaned(&half->exec);

	if (fate == 0)
		return;
	qoi_exec_give_up(&half->exec, fate);
	peers_wake(half);
	half_complete(half, fate, half->exec.error_rank);
}

/* The agent is about to end, and one of the ranks comes too late. */
static void group_abort(struct qoi_group *group)
{
	for (uint32_t i = 0; i < group->count; i++) {
		struct qoi_half *half = group->halves[i];

		if (half == NULL || !half->pending)
			continue;
		half->exec.error_rank = half->rank;
		qoi_exec_give_up(&half->exec, -ECONNABORTED);
		half_complete(half, -ECONNABORTED, QOI_COMPLETION_RANK_NONE);
	}
}

void qoi_half_start(struct qoi_half *half, uint32_t generation)
{
	struct qoi_session *session = half->session;
	struct qoi_daemon *daemon = session->daemon;

	session->counts.posts++;
	daemon->counts.posts++;
	half->generation = generation;
	if (daemon->stop_ns != 0) {
		group_abort(half->group);
		half_complete(half, -ECONNABORTED, QOI_COMPLETION_RANK_NONE);
		return;
	}
	if (!half->group->tied) {
		half_complete(half, -EPROTO, QOI_COMPLETION_RANK_NONE);
		return;
	}
	if (half->exec.error != 0) {
		half_complete(half, half->exec.error, half->exec.error_rank);
		return;
	}
	qoi_exec_start(&half->exec);
	half->exec.held = half->local != 0;
	half->pending = 1;
	session->pending++;
	daemon->pending++;
	half_wake(half);
	QOI_FAIL_POINT("half_started");
}

static void moved_count(struct qoi_half *half, uint64_t bytes)
{
	struct qoi_session *session = half->session;
	struct qoi_daemon *daemon = session->daemon;

	session->counts.bytes_moved += bytes;
	daemon->counts.bytes_moved += bytes;
	if (half->bulk)
		daemon->bulk_left -=
			bytes < daemon->bulk_left ? bytes : daemon->bulk_left;
}

/*
 * Only copies within the rank are left: 1 when they are ours to do, 0 when a
 * thread of the client has them, for which no one else waits.
 */
static int local_claim(struct qoi_half *half)
{
	struct qoi_session *session = half->session;

	return qoi_attach_local_claim(
		qoi_attach_completion(&session->places, session->segment.base,
				      half->completion),
		half->generation, QOI_LOCAL_DAEMON);
}

/* As qoi_exec_advance(), with the copies within the rank last. */
static int advance(struct qoi_half *half, struct qoi_budget *budget)
{
	struct qoi_exec *exec = &half->exec;
	int result = qoi_exec_advance(exec, budget);

	if (result != 0 || !exec->held || exec->left != half->local)
		return result;
	if (!local_claim(half))
		return 1;
	exec->held = 0;
	return budget->bytes == 0 ? 0 : qoi_exec_advance(exec, budget);
}

/* Moves by one piece at the most; 1 when it moved or ended. */
static int move(struct qoi_half *half, uint64_t share)
{
	struct qoi_budget budget = { .bytes = share, .in_cycle = 1 };
	const uint32_t *revoked = half->session->far.revoked;
	int result;

	/* We may have stood still since the cycle began. */
	if (revoked != NULL && qoi_observe32(revoked) != 0)
		return 0;
	result = advance(half, &budget);
	moved_count(half, share - budget.bytes);
	peers_wake(half);
	QOI_FAIL_POINT("half_moved");
	if (result == 1) {
		half_complete(half, 0, 0);
		return 1;
	}
	if (result < 0) {
		half_fail(half, result);
		return 1;
	}
	/* With budget left, nothing but a peer can move it on. */
	if (budget.bytes != 0)
		qoi_half_rest(half);
	if (half->group->losses != 0)
		half_judge(half);
	return budget.steps != 0 || budget.bytes != share;
}

int qoi_half_move(struct qoi_half *half)
{
	struct qoi_daemon *daemon = half->session->daemon;
	uint64_t share = PIECE_BYTES;

	if (!half->bulk)
		return move(half, share);
	if (daemon->busy_clients > half->group->count &&
	    daemon->bulk_left > CONTENDED_BYTES)
		daemon->bulk_left = CONTENDED_BYTES;
	if (daemon->bulk_left < share)
		share = daemon->bulk_left;
	return share == 0 ? 0 : move(half, share);
}

void qoi_half_peer_gone(struct qoi_half *half)
{
	if (!half->pending)
		return;
	/* What had come, or was taken, before the loss counts. */
	half_wake(half);
	move(half, PIECE_BYTES);
}

static void command_bad(struct qoi_session *session, const char *what)
{
	session->counts.commands_bad++;
	session->daemon->counts.commands_bad++;
	qoi_error_log_add(&session->daemon->errors, "client, process %d: %s",
			  (int)session->far.pid, what);
}

static void command_take(struct qoi_session *session,
			 const struct qoi_command *command)
{
	struct qoi_half *half;

	if (command->op_slot >= session->half_room ||
	    session->halves[command->op_slot] == NULL) {
		command_bad(session, "a command for no operation of its");
		return;
	}
	half = session->halves[command->op_slot];
	if (half->pending) {
		command_bad(session, "a post before the last one ended");
		return;
	}
	qoi_half_start(half, command->generation);
}

/* Returns 1 when the lane gave a command. */
static int lane_take(struct qoi_session *session, struct qoi_consumer *lane)
{
	struct qoi_command command;
	struct qoi_message message;
	int error = qoi_consumer_peek(lane, &message);

	if (error == -EAGAIN)
		return 0;
	if (error != 0 || message.bytes != sizeof(command) ||
	    message.kind != QOI_COMMAND_POST) {
		/* It is passed over, or it would be there for ever. */
		command_bad(session, "bytes in a lane that are no command");
		qoi_consumer_release(lane);
		return 1;
	}
	memcpy(&command, message.payload, sizeof(command));
	qoi_consumer_release(lane);
	command_take(session, &command);
	return 1;
}

static int commands_take(struct qoi_session *session)
{
	uint32_t lanes = session->offer.lane_count;
	uint32_t quiet = 0;
	int taken = 0;

	while (quiet < lanes && taken < TURN_COMMANDS) {
		uint32_t lane = session->lane_next++ % lanes;

		if (lane_take(session, &session->lanes[lane])) {
			quiet = 0;
			taken++;
		} else {
			quiet++;
		}
	}
	return taken;
}

void qoi_session_start_posted(struct qoi_session *session)
{
	uint64_t room =
		(uint64_t)session->offer.lane_count * session->offer.lane_slots;
	int taken;

	do {
		taken = commands_take(session);
		room -= (uint64_t)taken < room ? (uint64_t)taken : room;
	} while (taken != 0 && room != 0);
}

int qoi_session_turn(struct qoi_session *session)
{
	int done = commands_take(session);

	if (done != 0)
		session->busy_cycle = session->daemon->counts.cycles;
	for (uint32_t i = 0; i < TURN_HALVES && session->active != NULL; i++) {
		struct qoi_half *half = session->active;

		session->active = half->next;
		done += qoi_half_move(half);
	}
	return done;
}
