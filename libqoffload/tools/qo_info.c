/* SPDX-License-Identifier: BSD-3-Clause */
/* qo_info: what this build is, and what it would do on this machine. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libqoffload/base/config.h"
#include "libqoffload/tools/info_sections.h"
#include "libqoffload/tools/info_status.h"

#define EXIT_BAD_INPUT 2
#define KEY_PROBE 256
#define KEY_JSON 257
#define KEY_CHECK 258
#define KEY_SOCKET 259

struct section {
	const char *name;
	int (*collect)(const struct info_options *options, json_t **object_out);
	int key;	/* of its option */
	int in_default; /* shown as text when nothing is asked for */
	int in_all;	/* likewise, as JSON */
};

static const struct section sections[] = {
	{ "version", info_collect_version, 'v', 1, 1 },
	{ "topology", info_collect_topology, 't', 1, 1 },
	{ "agent", info_collect_agent, 'a', 1, 1 },
	{ "config", info_collect_config, 'c', 0, 1 },
	{ "probe", info_collect_probe, KEY_PROBE, 0, 1 },
	{ "status", info_status_collect, 's', 0, 0 },
};
#define SECTION_COUNT (sizeof(sections) / sizeof(sections[0]))

struct options {
	int asked[SECTION_COUNT];
	int asked_any;
	int json;
	int check;
	struct info_options info;
};

static const struct argp_option argp_options[] = {
	{ "version", 'v', NULL, 0,
	  "Version, build options and the hash of the shared layout", 0 },
	{ "topology", 't', NULL, 0,
	  "The machine, the cpus allowed, and where the agent would run", 0 },
	{ "agent", 'a', NULL, 0,
	  "Start an agent as qo_init() does, and ask it what it is", 0 },
	{ "config", 'c', NULL, 0, "All QO_* variables, as markdown tables", 0 },
	{ "probe", KEY_PROBE, NULL, 0,
	  "Try which store widths are atomic here (takes up to seconds)", 0 },
	{ "status", 's', NULL, 0,
	  "Ask the running qo_agentd: its counts, clients and errors", 0 },
	{ "check", KEY_CHECK, NULL, 0,
	  "Status 0 when qo_agentd answers and its counts agree, else 1 with "
	  "the reason",
	  0 },
	{ "socket", KEY_SOCKET, "NAME", 0,
	  "With -s and --check: where qo_agentd listens", 0 },
	{ "json", KEY_JSON, NULL, 0,
	  "Print JSON; all sections when none is asked for", 0 },
	{ "rank-cpu", 'r', "CPU", 0,
	  "With -t: decide for a rank that runs on CPU", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static void parse_rank_cpu(struct argp_state *state, const char *text,
			   int *cpu_out)
{
	char *end;
	long cpu;

	errno = 0;
	cpu = strtol(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || cpu < 0 || cpu > 65535)
		argp_error(state, "--rank-cpu=%s: want a cpu number", text);
	*cpu_out = (int)cpu;
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
	struct options *options = state->input;

	if (key == KEY_JSON) {
		options->json = 1;
		return 0;
	}
	if (key == KEY_CHECK) {
		options->check = 1;
		return 0;
	}
	if (key == KEY_SOCKET) {
		options->info.socket = text;
		return 0;
	}
	if (key == 'r') {
		parse_rank_cpu(state, text, &options->info.rank_cpu);
		return 0;
	}
	for (size_t i = 0; i < SECTION_COUNT; i++) {
		if (sections[i].key == key) {
			options->asked[i] = 1;
			options->asked_any = 1;
			return 0;
		}
	}
	return ARGP_ERR_UNKNOWN;
}

static size_t longest_key(json_t *object)
{
	size_t longest = 0;
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value)
	{
		if (strlen(key) > longest)
			longest = strlen(key);
	}
	return longest;
}

static void print_value(json_t *value)
{
	if (json_is_string(value))
		printf("%s\n", json_string_value(value));
	else if (json_is_integer(value))
		printf("%" JSON_INTEGER_FORMAT "\n", json_integer_value(value));
	else if (json_is_real(value))
		printf("%.3f\n", json_real_value(value));
	else
		printf("%s\n", json_is_true(value) ? "yes" : "no");
}

/*
 * An object of values, or of objects of values: no deeper.  Who has arrays
 * prints them.
 */
static void print_object(const char *name, json_t *object, int indent)
{
	int width = (int)longest_key(object);
	const char *key;
	json_t *value;

	printf("%*s%s:\n", indent, "", name);
	indent += 2;
	json_object_foreach(object, key, value)
	{
		if (json_is_object(value)) {
			print_object(key, value, indent);
			continue;
		}
		if (json_is_array(value))
			continue;
		printf("%*s%-*s  ", indent, "", width, key);
		print_value(value);
	}
}

static int is_wanted(const struct options *options, size_t index)
{
	if (options->asked_any != 0)
		return options->asked[index];
	return options->json != 0 ? sections[index].in_all
				  : sections[index].in_default;
}

static int show_text(const struct section *section,
		     const struct info_options *options)
{
	json_t *object;
	int code;

	/* The tables don't depend on what is set: they are how to set it. */
	if (section->collect == info_collect_config) {
		qoi_config_print(stdout);
		return 0;
	}
	code = section->collect(options, &object);
	if (code != 0)
		return code;
	print_object(section->name, object, 0);
	if (section->collect == info_status_collect)
		info_status_print_tables(object);
	json_decref(object);
	return 0;
}

static int show_json(const struct options *options)
{
	json_t *all = json_object();
	int code = 0;

	for (size_t i = 0; i < SECTION_COUNT && code == 0; i++) {
		json_t *object;

		if (is_wanted(options, i) == 0)
			continue;
		code = sections[i].collect(&options->info, &object);
		if (code == 0)
			json_object_set_new(all, sections[i].name, object);
	}
	if (code == 0 && json_dumpf(all, stdout, JSON_INDENT(2)) == 0)
		putchar('\n');
	json_decref(all);
	return code;
}

static int show(const struct options *options)
{
	int code = 0;

	if (options->check != 0)
		return info_status_check(&options->info);
	if (options->json != 0)
		return show_json(options);
	for (size_t i = 0; i < SECTION_COUNT && code == 0; i++) {
		if (is_wanted(options, i) != 0)
			code = show_text(&sections[i], &options->info);
	}
	return code;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = argp_options,
		.parser = parse_option,
		.doc = "Show what this libqoffload is and what it would do "
		       "here.\vWithout a section: version, topology and agent. "
		       "A bad QO_* variable ends it with status 2.",
	};
	struct options options = { .info = { .rank_cpu = INFO_RANK_CPU_HERE } };
	int code;

	argp_err_exit_status = EXIT_BAD_INPUT;
	argp_parse(&argp, argc, argv, 0, NULL, &options);
	code = show(&options);
	if (fflush(stdout) != 0 || ferror(stdout) != 0) {
		perror("qo_info: stdout");
		return EXIT_FAILURE;
	}
	if (code == -EINVAL)
		return EXIT_BAD_INPUT;
	return code == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
