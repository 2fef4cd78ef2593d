/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* nanosleep under -std=c11 */
#include "libqoffload/client/exchange.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "libqoffload/base/clock.h"
#include "libqoffload/base/error.h"

#define VERDICT_TEXT_BYTES 504

struct verdict {
	int32_t error;
	uint32_t secondhand; /* 1: it only heard of another rank's */
	char text[VERDICT_TEXT_BYTES];
};

int64_t qoi_team_deadline(const struct qo_team *team)
{
	return qoi_clock_after(qoi_clock_ns(),
			       team->context->config.connect_timeout);
}

static int told(const struct qo_team *team, uint32_t rank, uint32_t sequence,
		int error)
{
	if (error == -ETIMEDOUT)
		return qoi_fail(error,
				"rank %u: rank %u did not come to "
				"collective call %u of team %016llx in "
				"QO_CONNECT_TIMEOUT",
				team->rank, rank, sequence,
				(unsigned long long)team->id);
	if (error == -ECONNRESET || error == -EPIPE)
		return qoi_fail(error,
				"rank %u: peer lost: rank %u, before "
				"collective call %u",
				team->rank, rank, sequence);
	return error;
}

static int send_all(const struct qoi_exchange *exchange, int64_t deadline)
{
	struct qo_team *team = exchange->team;
	const struct qo_control_tag tag = { team->id, exchange->sequence,
					    exchange->kind };
	int first = 0;

	for (uint32_t i = 1; i < team->count; i++) {
		uint32_t rank = (team->rank + i) % team->count;
		struct qo_conn *conn = team->conns[rank];
		size_t bytes;
		const void *data =
			exchange->message(exchange->arg, rank, &bytes);
		int error = conn->endpoint->provider->ops->control_send(
			conn, &tag, data, bytes, exchange->window, deadline);

		if (error != 0 && first == 0)
			first = told(team, rank, exchange->sequence, error);
	}
	return first;
}

static int refused(struct qo_team *team, uint32_t rank, uint32_t sequence,
		   const void *data)
{
	struct qoi_refusal refusal;

	team->secondhand = 1;
	memcpy(&refusal, data, sizeof(refusal));
	if (refusal.error >= 0)
		return qoi_fail(-EBADMSG,
				"rank %u sent a refusal without an "
				"error",
				rank);
	return qoi_fail(refusal.error,
			"rank %u: rank %u cannot take part in "
			"collective call %u: %s",
			team->rank, rank, sequence,
			qo_error_string(refusal.error));
}

/* Between two looks while nothing else is to do. */
#define LOOK_NS 50000

/*
 * Takes a message.  Without an agent's thread, what a peer still needs of us
 * before it can send must be moved here.
 */
static int recv_message(struct qo_team *team, struct qo_conn *conn,
			const struct qo_control_tag *tag, size_t *bytes_out,
			struct qo_remote **remote_out, int64_t deadline)
{
	const struct qo_provider_ops *ops = conn->endpoint->provider->ops;
	const struct timespec pause = { 0, LOOK_NS };
	struct qoi_agent *agent = &team->context->agent;

	while (!agent->threaded && qoi_clock_ns() < deadline) {
		int error = ops->control_recv(conn, tag, team->control,
					      QO_CONTROL_BYTES_MAX, bytes_out,
					      remote_out, 0);

		if (error != -ETIMEDOUT)
			return error;
		if (qoi_agent_try_cycle(agent) <= 0)
			nanosleep(&pause, NULL);
	}
	return ops->control_recv(conn, tag, team->control, QO_CONTROL_BYTES_MAX,
				 bytes_out, remote_out, deadline);
}

static int recv_one(const struct qoi_exchange *exchange, uint32_t rank,
		    int64_t deadline)
{
	struct qo_team *team = exchange->team;
	const struct qo_control_tag tag = { team->id, exchange->sequence,
					    exchange->kind };
	struct qo_conn *conn = team->conns[rank];
	struct qo_remote *remote = NULL;
	size_t bytes = 0;
	int error = recv_message(team, conn, &tag, &bytes, &remote, deadline);

	if (error != 0)
		return told(team, rank, exchange->sequence, error);
	if (bytes != sizeof(struct qoi_refusal))
		return exchange->take(exchange->arg, rank, team->control, bytes,
				      remote);
	if (remote != NULL)
		conn->endpoint->provider->ops->remote_release(remote);
	return refused(team, rank, exchange->sequence, team->control);
}

int qoi_exchange_run(const struct qoi_exchange *exchange)
{
	struct qo_team *team = exchange->team;
	int64_t deadline = qoi_team_deadline(team);
	int first;

	team->secondhand = 0;
	first = send_all(exchange, deadline);
	for (uint32_t i = 1; i < team->count; i++) {
		uint32_t rank = (team->rank + team->count - i) % team->count;
		int error = recv_one(exchange, rank, deadline);

		if (first == 0)
			first = error;
	}
	if (exchange->window != NULL)
		exchange->window->endpoint->provider->ops->window_offered(
			exchange->window);
	return first;
}

struct verdicts {
	struct verdict own;
	struct verdict worst;
	uint32_t worst_rank;
};

static const void *verdict_message(void *arg, uint32_t rank, size_t *bytes_out)
{
	const struct verdicts *verdicts = arg;

	(void)rank;
	*bytes_out = sizeof(verdicts->own);
	return &verdicts->own;
}

/* Whether one says more about the cause than another. */
static int verdict_outranks(const struct verdict *verdict, uint32_t rank,
			    const struct verdicts *verdicts)
{
	if (verdict->error >= 0)
		return 0;
	if (verdicts->worst_rank == UINT32_MAX ||
	    verdict->secondhand < verdicts->worst.secondhand)
		return 1;
	return verdict->secondhand == verdicts->worst.secondhand &&
	       rank < verdicts->worst_rank;
}

static void verdict_weigh(struct verdicts *verdicts,
			  const struct verdict *verdict, uint32_t rank)
{
	if (!verdict_outranks(verdict, rank, verdicts))
		return;
	verdicts->worst = *verdict;
	verdicts->worst_rank = rank;
}

static int verdict_take(void *arg, uint32_t rank, const void *data,
			size_t bytes, struct qo_remote *remote)
{
	struct verdict verdict;

	(void)remote;
	if (bytes != sizeof(verdict))
		return qoi_fail(-EBADMSG, "rank %u sent a verdict of %zu bytes",
				rank, bytes);
	memcpy(&verdict, data, sizeof(verdict));
	verdict.secondhand = verdict.secondhand != 0;
	verdict.text[sizeof(verdict.text) - 1] = '\0';
	verdict_weigh(arg, &verdict, rank);
	return 0;
}

/* text: what this rank has to say of its error. */
static int verdict_run(struct qo_team *team, uint32_t sequence, int error,
		       uint32_t secondhand, const char *text)
{
	struct verdicts verdicts = {
		.own = { .error = error, .secondhand = secondhand },
		.worst_rank = UINT32_MAX,
	};
	struct qoi_exchange exchange = {
		.team = team,
		.kind = QOI_CONTROL_VERDICT,
		.sequence = sequence,
		.arg = &verdicts,
		.message = verdict_message,
		.take = verdict_take,
	};
	int failed;

	if (error != 0)
		snprintf(verdicts.own.text, sizeof(verdicts.own.text), "%s",
			 text);
	verdict_weigh(&verdicts, &verdicts.own, team->rank);
	failed = qoi_exchange_run(&exchange);
	if (verdicts.worst_rank == UINT32_MAX)
		return failed;
	return qoi_fail(verdicts.worst.error, "%s", verdicts.worst.text);
}

int qoi_exchange_verdict(struct qo_team *team, uint32_t sequence, int error)
{
	return verdict_run(team, sequence, error, team->secondhand,
			   qo_error_detail());
}

static const void *refusal_message(void *arg, uint32_t rank, size_t *bytes_out)
{
	(void)rank;
	*bytes_out = sizeof(struct qoi_refusal);
	return arg;
}

/* What the others say does not matter here. */
static int refusal_take(void *arg, uint32_t rank, const void *data,
			size_t bytes, struct qo_remote *remote)
{
	(void)arg;
	(void)rank;
	(void)data;
	(void)bytes;
	if (remote != NULL)
		remote->conn->endpoint->provider->ops->remote_release(remote);
	return 0;
}

int qoi_exchange_refuse(struct qo_team *team, uint32_t kind, uint32_t sequence,
			int error)
{
	struct qoi_refusal refusal = { .error = error };
	struct qoi_exchange exchange = {
		.team = team,
		.kind = kind,
		.sequence = sequence,
		.arg = &refusal,
		.message = refusal_message,
		.take = refusal_take,
	};

	char text[VERDICT_TEXT_BYTES];

	/* What others say meanwhile would hide it. */
	snprintf(text, sizeof(text), "%s", qo_error_detail());
	qoi_exchange_run(&exchange);
	return verdict_run(team, sequence, error, 0, text);
}
