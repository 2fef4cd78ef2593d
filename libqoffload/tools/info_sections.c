/* SPDX-License-Identifier: BSD-3-Clause */
#include <config.h>

#include "libqoffload/tools/info_sections.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include <qoffload/context.h>

#include "libqoffload/base/config.h"
#include "libqoffload/base/config_value.h"
#include "libqoffload/base/error.h"
#include "libqoffload/base/topology.h"
#include "libqoffload/shm/layout.h"
#include "libqoffload/shm/probe.h"

#define PROBE_ROUNDS UINT64_C(2000000)
/* An agent that hasn't started after a second is shown as it is. */
#define START_NAP_NS 1000000
#define START_NAPS_MAX 1000

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define VERSION_TEXT                                                           \
	TEXT(QO_VERSION_MAJOR)                                                 \
	"." TEXT(QO_VERSION_MINOR) "." TEXT(QO_VERSION_PATCH)

#ifdef __clang__
#define COMPILER_TEXT __VERSION__
#else
#define COMPILER_TEXT "gcc " __VERSION__
#endif

#ifdef QO_TRACE
#define TRACE_TEXT "compiled in"
#else
#define TRACE_TEXT "compiled out"
#endif

#ifdef QO_DEBUG_HOOKS
#define HOOKS_TEXT "compiled in"
#else
#define HOOKS_TEXT "compiled out"
#endif

/* jansson gives NULL for one reason only. */
static int give(json_t *object, json_t **object_out)
{
	if (object == NULL)
		return qoi_fail(-ENOMEM, "no memory for the answer");
	*object_out = object;
	return 0;
}

int info_collect_version(const struct info_options *options, json_t **object_out)
{
	char hash[32];

	(void)options;
	snprintf(hash, sizeof(hash), "0x%016llx",
		 (unsigned long long)QOI_LAYOUT_HASH);
	return give(json_pack("{s:s, s:i, s:s, s:s, s:s, s:s}", "version",
			      VERSION_TEXT, "layout_version",
			      (int)QOI_LAYOUT_VERSION, "layout_hash", hash,
			      "compiler", COMPILER_TEXT, "trace", TRACE_TEXT,
			      "fail_points", HOOKS_TEXT),
		    object_out);
}

static const char *placement_warning(const struct qoi_placement *placement)
{
	if (placement->outside != 0)
		return "the cpu asked for is not allowed";
	if (placement->shares_rank_core != 0)
		return "the agent and the rank share a core";
	return NULL;
}

static json_t *topology_object(const struct qoi_topology *topology,
			       const char *wanted,
			       const struct qoi_placement *placement)
{
	struct qoi_topology_counts counts;

	qoi_topology_count(topology, &counts);
	return json_pack(
		"{s:s, s:i, s:i, s:i, s:i, s:s, s:i, s:i, s:s, s:i, s:s, "
		"s:b, s:b, s:s*}",
		"machine",
		qoi_topology_is_real(topology) != 0 ? "this one" : "described",
		"packages", (int)counts.packages, "last_level_caches",
		(int)counts.caches, "cores", (int)counts.cores, "cpus",
		(int)counts.cpus, "allowed_cpus", placement->allowed,
		"allowed_count", (int)qoi_topology_allowed_count(topology),
		"rank_cpu", placement->rank_cpu, "agent_cpu_wanted", wanted,
		"agent_cpu", placement->cpu, "reason", placement->reason,
		"shares_cache", placement->shares_rank_cache, "shares_core",
		placement->shares_rank_core, "warning",
		placement_warning(placement));
}

int info_collect_topology(const struct info_options *options,
			  json_t **object_out)
{
	struct qoi_config config;
	struct qoi_topology *topology;
	struct qoi_placement placement;
	int rank_cpu = options->rank_cpu;
	int code = qoi_config_init(&config, NULL);

	if (code != 0)
		return code;
	code = qoi_topology_create(&topology);
	if (code != 0)
		goto out_config;
	if (rank_cpu == INFO_RANK_CPU_HERE)
		rank_cpu = qoi_topology_current_cpu(topology);
	code = qoi_topology_pick_agent_cpu(topology, config.agent_cpu, rank_cpu,
					   &placement);
	if (code == 0)
		code = give(topology_object(topology, config.agent_cpu,
					    &placement),
			    object_out);
	qoi_topology_destroy(topology);
out_config:
	qoi_config_fini(&config);
	return code;
}

/* What the system says of the agent's thread, not what the agent says. */
static int add_real_cpus(const struct qo_agent_info *info, json_t *object)
{
	char cpus[QOI_TOPOLOGY_TEXT_BYTES];
	struct qoi_topology *topology;
	int code, rank_cpu;

	if (info->thread_id <= 0)
		return 0;
	code = qoi_topology_create(&topology);
	if (code != 0)
		return code;
	rank_cpu = qoi_topology_current_cpu(topology);
	code = qoi_topology_thread_cpus(topology, info->thread_id, cpus);
	if (code == 0)
		json_object_set_new(object, "bound_to", json_string(cpus));
	json_object_set_new(object, "rank_cpu", json_integer(rank_cpu));
	if (qoi_topology_same_core(topology, rank_cpu, info->cpu) != 0)
		json_object_set_new(
			object, "warning",
			json_string("the agent and the rank share a core"));
	qoi_topology_destroy(topology);
	/* A described machine knows nothing of our threads: no failure. */
	return code == -EOPNOTSUPP ? 0 : code;
}

static const char *kind_text(int32_t kind)
{
	static const char *const texts[] = {
		[QO_AGENT_INLINE] = "inline",
		[QO_AGENT_THREAD] = "thread",
		[QO_AGENT_PROCESS] = "process",
	};

	if (kind < QO_AGENT_INLINE || kind > QO_AGENT_PROCESS)
		return "unknown";
	return texts[kind];
}

static int agent_object(const struct qo_agent_info *info, json_t **object_out)
{
	json_t *object = NULL;
	int code = give(json_pack("{s:s, s:i, s:s, s:s, s:s, s:i, s:s, s:s, s:I,"
				  " s:I, s:I}",
				  "kind", kind_text(info->kind), "agent_pid",
				  (int)info->agent_pid, "memory", info->memory,
				  "progress",
				  info->async_progress != 0
					  ? "asynchronous"
					  : "no async progress: only in calls",
				  "idle", info->idle, "cpu", (int)info->cpu,
				  "allowed_cpus", info->allowed_cpus, "reason",
				  info->reason, "request_slots",
				  (json_int_t)info->request_slots,
				  "duty_cycles", (json_int_t)info->duty_cycles,
				  "sleep_count", (json_int_t)info->sleep_count),
			&object);

	if (code != 0)
		return code;
	code = add_real_cpus(info, object);
	if (code != 0)
		json_decref(object);
	else
		*object_out = object;
	return code;
}

/*
 * The agent tells its thread only once that runs, which may be after
 * qo_init() has returned.
 */
static int query_started(qo_context_t context, struct qo_agent_info *info_out)
{
	const struct timespec nap = { 0, START_NAP_NS };
	int code = qo_agent_query(context, info_out);

	for (int nap_count = 0; code == 0 && nap_count < START_NAPS_MAX;
	     nap_count++) {
		if (info_out->kind != QO_AGENT_THREAD || info_out->thread_id > 0)
			break;
		nanosleep(&nap, NULL);
		code = qo_agent_query(context, info_out);
	}
	return code;
}

int info_collect_agent(const struct info_options *options, json_t **object_out)
{
	struct qo_agent_info info = QO_AGENT_INFO_INIT;
	qo_context_t context;
	int code = qo_init(NULL, &context);

	(void)options;
	if (code != 0)
		return code;
	code = query_started(context, &info);
	if (code == 0)
		code = agent_object(&info, object_out);
	qo_fini(context);
	return code;
}

static const char *probe_verdict(int code, const struct qoi_probe_result *result)
{
	if (code == -EOPNOTSUPP)
		return "no such access here";
	if (result->torn != 0)
		return "torn: not atomic";
	if (result->changes == 0)
		return "nothing seen: try on an idle machine";
	return "atomic, as far as seen";
}

int info_collect_probe(const struct info_options *options, json_t **object_out)
{
	static const uint32_t widths[] = { 8, 16 };
	json_t *object = json_object();

	(void)options;
	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		struct qoi_probe_result result = { 0, 0, 0 };
		char key[32];
		int code = qoi_probe_atomic(widths[i], PROBE_ROUNDS, &result);

		if (code != 0 && code != -EOPNOTSUPP) {
			json_decref(object);
			return code;
		}
		snprintf(key, sizeof(key), "width_%u_bytes", widths[i]);
		json_object_set_new(object, key,
				    json_pack("{s:s, s:I, s:I, s:I}", "verdict",
					      probe_verdict(code, &result),
					      "reads", (json_int_t)result.reads,
					      "changes",
					      (json_int_t)result.changes,
					      "torn", (json_int_t)result.torn));
	}
	return give(object, object_out);
}

static json_t *variable_object(const struct qoi_config *config,
			       const struct qoi_config_entry *entry)
{
	char form[QOI_CONFIG_FORM_BYTES], value[QOI_CONFIG_FORM_BYTES];

	qoi_config_value_form(entry, form);
	qoi_config_value_text(config, entry, value);
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "name", entry->name,
			 "value", value, "default", entry->default_text,
			 "accepts", form, "unit", entry->unit, "doc",
			 entry->doc);
}

int info_collect_config(const struct info_options *options, json_t **object_out)
{
	size_t table_count;
	const struct qoi_config_table *tables = qoi_config_tables(&table_count);
	struct qoi_config config;
	json_t *object = json_object();
	int code = qoi_config_init(&config, NULL);

	(void)options;
	if (code != 0) {
		json_decref(object);
		return code;
	}
	for (size_t t = 0; t < table_count; t++) {
		json_t *variables = json_array();

		for (size_t i = 0; i < tables[t].count; i++)
			json_array_append_new(
				variables,
				variable_object(&config, &tables[t].entries[i]));
		json_object_set_new(object, tables[t].component, variables);
	}
	qoi_config_fini(&config);
	return give(object, object_out);
}
