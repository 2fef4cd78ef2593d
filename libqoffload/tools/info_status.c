/* SPDX-License-Identifier: BSD-3-Clause */
#include "libqoffload/tools/info_status.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "libqoffload/base/error.h"
#include "libqoffload/tools/info_watch.h"

/* More than a daemon has of either. */
#define ANSWERS_MAX 65536
#define TEXT_BYTES 256

/* Text from the other side: cut at its room, and printable. */
static void copy_text(const uint8_t *from, size_t room, char to_out[TEXT_BYTES])
{
	size_t i;

	for (i = 0; i < room && i < TEXT_BYTES - 1 && from[i] != 0; i++)
		to_out[i] = from[i] < ' ' || from[i] > '~' ? '?' : (char)from[i];
	to_out[i] = '\0';
}

static json_t *number(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *total_object(const struct info_watch *watch,
			    const struct qoi_layout_attach_status_total *total)
{
	char idle[TEXT_BYTES];

	copy_text(total->idle, sizeof(total->idle), idle);
	return json_pack(
		"{s:s, s:i, s:i, s:s, s:b, s:b, s:f, s:f, s:i, s:o, s:o, s:o,"
		" s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o,"
		" s:o}",
		"socket", watch->name, "pid", (int)total->pid, "cpu",
		(int)(int32_t)total->cpu, "idle", idle, "private",
		(int)(total->is_private != 0), "draining",
		(int)(total->draining != 0), "uptime_s",
		(double)total->uptime_ns / 1e9, "cpu_s",
		(double)total->cpu_ns / 1e9, "clients_now", (int)total->clients,
		"clients_ever", number(total->clients_ever), "clients_lost",
		number(total->clients_lost), "clients_refused",
		number(total->clients_refused), "jobs", (int)total->jobs,
		"operations", (int)total->groups, "regions",
		(int)total->regions, "region_bytes",
		number(total->region_bytes), "pending", number(total->pending),
		"posts", number(total->posts), "completions",
		number(total->completions), "failures", number(total->failures),
		"bytes_moved", number(total->bytes_moved), "commands_bad",
		number(total->commands_bad), "cycles", number(total->cycles),
		"sleeps", number(total->sleeps), "wakes", number(total->wakes));
}

static const char *reach_text(uint32_t reach)
{
	if ((reach & QOI_REACH_READ) != 0 && (reach & QOI_REACH_WRITE) != 0)
		return "cross";
	return reach == 0 ? "map" : "map, half";
}

static json_t *client_object(const struct qoi_layout_attach_status_client *client)
{
	char job[TEXT_BYTES];

	copy_text(client->job, sizeof(client->job), job);
	return json_pack(
		"{s:i, s:i, s:s, s:s, s:f, s:i, s:i, s:o, s:o, s:o, s:o, s:o,"
		" s:o, s:o, s:o}",
		"session", (int)client->session, "pid", (int)client->pid, "job",
		job, "reach", reach_text(client->reach), "attached_s",
		(double)client->attached_ns / 1e9, "operations",
		(int)client->ops, "regions", (int)client->regions,
		"region_bytes", number(client->region_bytes), "pending",
		number(client->pending), "posts", number(client->posts),
		"completions", number(client->completions), "failures",
		number(client->failures), "bytes_moved",
		number(client->bytes_moved), "commands_bad",
		number(client->commands_bad), "memory_bytes",
		number(client->memory_bytes));
}

static json_t *error_object(const struct qoi_layout_attach_status_error *error)
{
	char text[TEXT_BYTES];

	copy_text(error->text, sizeof(error->text), text);
	return json_pack("{s:o, s:s}", "count", number(error->count), "text",
			 text);
}

static json_t *item_object(uint32_t what,
			   const struct qoi_attach_message *answer)
{
	return what == QOI_STATUS_CLIENT ? client_object(&answer->body.client)
					 : error_object(&answer->body.error);
}

/* All of a kind, from index to index, for as long as there is a further one. */
static int collect_list(struct info_watch *watch, uint32_t what, json_t *list)
{
	uint32_t index = 0;

	for (uint32_t i = 0; i < ANSWERS_MAX; i++) {
		struct qoi_attach_message answer;
		int rc = info_watch_ask(watch, what, index, &answer);

		if (rc != 0)
			return rc;
		if (answer.body.client.what == 0)
			return 0;
		/* Both bodies have it in one place. */
		if (answer.body.client.index < index)
			break;
		index = answer.body.client.index + 1;
		if (json_array_append_new(list, item_object(what, &answer)) != 0)
			return qoi_fail(-ENOMEM, "no memory for the answer");
	}
	return qoi_fail(-EBADMSG, "the daemon at %s answers without an end",
			watch->name);
}

static int collect(struct info_watch *watch, json_t **object_out)
{
	struct qoi_attach_message answer;
	json_t *clients, *log, *object;
	int rc = info_watch_ask(watch, QOI_STATUS_TOTAL, 0, &answer);

	if (rc != 0)
		return rc;
	object = total_object(watch, &answer.body.total);
	clients = json_array();
	log = json_array();
	/* Owned by the object, also when it could not be made. */
	if (json_object_set_new(object, "clients", clients) != 0 ||
	    json_object_set_new(object, "error_log", log) != 0) {
		json_decref(object);
		return qoi_fail(-ENOMEM, "no memory for the answer");
	}
	rc = collect_list(watch, QOI_STATUS_CLIENT, clients);
	if (rc == 0)
		rc = collect_list(watch, QOI_STATUS_ERROR, log);
	if (rc != 0)
		json_decref(object);
	else
		*object_out = object;
	return rc;
}

int info_status_collect(const struct info_options *options, json_t **object_out)
{
	struct info_watch watch;
	int rc = info_watch_open(options->socket, &watch);

	if (rc != 0)
		return rc;
	rc = collect(&watch, object_out);
	info_watch_close(&watch);
	return rc;
}

static json_int_t value(json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static const char *text(json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static void print_clients(json_t *clients)
{
	size_t i;
	json_t *client;

	printf("  clients:\n");
	if (json_array_size(clients) == 0) {
		printf("    none\n");
		return;
	}
	printf("    %8s %-16s %-9s %6s %7s %8s %12s %12s %9s %14s\n", "pid",
	       "job", "reach", "ops", "regions", "pending", "posts", "done",
	       "failed", "bytes");
	json_array_foreach(clients, i, client)
	{
		printf("    %8lld %-16s %-9s %6lld %7lld %8lld %12lld %12lld "
		       "%9lld %14lld\n",
		       value(client, "pid"), text(client, "job"),
		       text(client, "reach"), value(client, "operations"),
		       value(client, "regions"), value(client, "pending"),
		       value(client, "posts"), value(client, "completions"),
		       value(client, "failures"), value(client, "bytes_moved"));
	}
}

void info_status_print_tables(json_t *object)
{
	json_t *log = json_object_get(object, "error_log");
	json_t *error;
	size_t i;

	print_clients(json_object_get(object, "clients"));
	printf("  error_log:\n");
	if (json_array_size(log) == 0)
		printf("    empty\n");
	json_array_foreach(log, i, error)
	{
		printf("    %8lld times: %s\n", value(error, "count"),
		       text(error, "text"));
	}
}

/* --- check --------------------------------------------------------------- */

static int check_counts(const struct info_watch *watch, const char *who,
			json_t *object)
{
	json_int_t posts = value(object, "posts");
	json_int_t done = value(object, "completions");
	json_int_t failed = value(object, "failures");
	json_int_t pending = value(object, "pending");

	if (done + failed + pending == posts)
		return 0;
	return qoi_fail(-EIO,
			"the counts of %s at %s disagree: %lld done + %lld "
			"failed + %lld pending, but %lld posted",
			who, watch->name, done, failed, pending, posts);
}

static int check_all(const struct info_watch *watch, json_t *object)
{
	json_t *client;
	size_t i;
	int rc = check_counts(watch, "the daemon", object);

	json_array_foreach(json_object_get(object, "clients"), i, client)
	{
		char who[64];

		snprintf(who, sizeof(who), "client %lld (process %lld)",
			 value(client, "session"), value(client, "pid"));
		if (rc == 0)
			rc = check_counts(watch, who, client);
	}
	return rc;
}

int info_status_check(const struct info_options *options)
{
	struct info_watch watch;
	json_t *object;
	int rc = info_watch_open(options->socket, &watch);

	if (rc != 0)
		return rc;
	rc = collect(&watch, &object);
	if (rc == 0) {
		rc = check_all(&watch, object);
		if (rc == 0)
			printf("qo_agentd at %s, process %lld: ok, %lld clients,"
			       " %lld posts, %lld pending\n",
			       watch.name, value(object, "pid"),
			       value(object, "clients_now"),
			       value(object, "posts"), value(object, "pending"));
		json_decref(object);
	}
	info_watch_close(&watch);
	return rc;
}
