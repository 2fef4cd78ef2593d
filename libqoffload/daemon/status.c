/* SPDX-License-Identifier: BSD-3-Clause */
/* What observers see.  Looking changes nothing. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "libqoffload/base/clock.h"
#include "libqoffload/base/config.h"
#include "libqoffload/base/error.h"
#include "libqoffload/daemon/session.h"

static uint64_t cpu_ns(void)
{
	struct timespec used = { 0, 0 };

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * QOI_NS_PER_S + (uint64_t)used.tv_nsec;
}

/* Zeros fill it up; a name that is too long is cut, and still ends in one. */
static void text_fill(uint8_t *to, size_t room, const char *from)
{
	size_t bytes = strnlen(from, room - 1);

	memset(to, 0, room);
	memcpy(to, from, bytes);
}

static void idle_name(int idle, uint8_t *to, size_t room)
{
	const struct qoi_config_entry *entry = qoi_config_find("QO_AGENT_IDLE");

	text_fill(to, room, entry->choices[idle]);
}

static void fill_total(const struct qoi_daemon *daemon,
		       struct qoi_layout_attach_status_total *total)
{
	const struct qoi_daemon_counts *counts = &daemon->counts;

	total->clients = daemon->client_count;
	total->clients_ever = counts->clients_ever;
	total->clients_lost = counts->clients_lost;
	total->clients_refused = counts->clients_refused;
	total->jobs = daemon->job_count;
	total->groups = daemon->group_count;
	total->regions = daemon->region_count;
	total->errors = daemon->errors.count;
	total->region_bytes = daemon->region_bytes;
	total->pending = daemon->pending;
	total->cycles = counts->cycles;
	total->wakes = counts->wakes;
	total->sleeps = counts->sleeps;
	total->cpu_ns = cpu_ns();
	total->uptime_ns = (uint64_t)(qoi_clock_ns() - daemon->started_ns);
	total->posts = counts->posts;
	total->completions = counts->completions;
	total->failures = counts->failures;
	total->bytes_moved = counts->bytes_moved;
	total->commands_bad = counts->commands_bad;
	total->pid = (uint32_t)getpid();
	total->cpu = (uint32_t)daemon->placement.cpu;
	total->draining = daemon->stop_ns != 0;
	total->is_private = daemon->params.private != 0;
	idle_name(daemon->params.idle, total->idle, sizeof(total->idle));
}

/* Of itself, with its tables; its slots and regions have numbers of their own. */
static uint64_t memory_bytes(const struct qoi_session *session)
{
	return sizeof(*session) +
	       session->region_room * sizeof(*session->regions) +
	       session->region_count * sizeof(**session->regions) +
	       session->half_room * sizeof(*session->halves) +
	       session->half_bytes;
}

static void fill_client(const struct qoi_session *session,
			struct qoi_layout_attach_status_client *client)
{
	const struct qoi_session_counts *counts = &session->counts;

	client->index = session->number;
	client->pid = (uint32_t)session->far.pid;
	client->uid = session->uid;
	client->session = session->number;
	client->reach = session->reach;
	client->ops = session->half_count;
	client->regions = session->region_count;
	client->region_bytes = session->region_bytes;
	client->pending = session->pending;
	client->posts = counts->posts;
	client->completions = counts->completions;
	client->failures = counts->failures;
	client->bytes_moved = counts->bytes_moved;
	client->commands_bad = counts->commands_bad;
	client->attached_ns = (uint64_t)(qoi_clock_ns() - session->attached_ns);
	client->memory_bytes = memory_bytes(session);
	memcpy(client->job, session->job, sizeof(client->job));
}

/* The list is in the order of the numbers. */
static const struct qoi_session *client_from(const struct qoi_daemon *daemon,
					     uint32_t index)
{
	const struct qoi_session *session = daemon->sessions;

	while (session != NULL &&
	       (session->state != QOI_SESSION_LIVE || session->number < index))
		session = session->next;
	return session;
}

static void fill_error(const struct qoi_error_log *log, uint32_t index,
		       struct qoi_layout_attach_status_error *error)
{
	error->index = index;
	error->count = log->entries[index].times;
	text_fill(error->text, sizeof(error->text), log->entries[index].text);
}

void qoi_status_answer(struct qoi_daemon *daemon,
		       const struct qoi_layout_attach_status_ask *ask,
		       struct qoi_attach_message *answer)
{
	const struct qoi_session *session;

	qoi_attach_status_init(answer, ask->what, answer->header.token);
	switch (ask->what) {
	case QOI_STATUS_TOTAL:
		fill_total(daemon, &answer->body.total);
		break;
	case QOI_STATUS_CLIENT:
		session = client_from(daemon, ask->index);
		if (session == NULL)
			answer->body.client.what = 0;
		else
			fill_client(session, &answer->body.client);
		break;
	default:
		if (ask->index >= daemon->errors.count)
			answer->body.error.what = 0;
		else
			fill_error(&daemon->errors, ask->index,
				   &answer->body.error);
		break;
	}
}
