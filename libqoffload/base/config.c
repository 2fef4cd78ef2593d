/* SPDX-License-Identifier: BSD-3-Clause */
/* The only reader of the environment. */
#define _GNU_SOURCE /* environ */
#include "libqoffload/base/config.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libqoffload/base/config_value.h"
#include "libqoffload/base/error.h"
#include "libqoffload/base/log.h"

#define PREFIX "QO_"
#define TEST_PREFIX "QO_TEST_"
/* A variable with a longer name than this is unknown, and shown cut. */
#define NAME_CHARS 63

static pthread_mutex_t warned_lock = PTHREAD_MUTEX_INITIALIZER;
static int warned;

/* The part of @text before '=', at most NAME_CHARS of it. */
static void copy_name(const char *text, char name_out[NAME_CHARS + 1])
{
	size_t length = strcspn(text, "=");

	if (length > NAME_CHARS)
		length = NAME_CHARS;
	memcpy(name_out, text, length);
	name_out[length] = '\0';
}

static size_t min_of_3(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;

	return least < c ? least : c;
}

/* Levenshtein's distance, one row at a time. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t row[NAME_CHARS + 1];
	size_t b_length = strnlen(b, NAME_CHARS);

	for (size_t j = 0; j <= b_length; j++)
		row[j] = j;
	for (size_t i = 0; i < strnlen(a, NAME_CHARS); i++) {
		size_t diagonal = row[0];

		row[0] = i + 1;
		for (size_t j = 0; j < b_length; j++) {
			size_t above = row[j + 1];

			row[j + 1] = min_of_3(diagonal + (a[i] != b[j]),
					      above + 1, row[j] + 1);
			diagonal = above;
		}
	}
	return row[b_length];
}

static const char *closest_name(const char *name)
{
	size_t table_count, best = SIZE_MAX;
	const struct qoi_config_table *tables = qoi_config_tables(&table_count);
	const char *closest = "";

	for (size_t t = 0; t < table_count; t++) {
		for (size_t i = 0; i < tables[t].count; i++) {
			const char *known = tables[t].entries[i].name;
			size_t distance = edit_distance(name, known);

			if (distance < best) {
				best = distance;
				closest = known;
			}
		}
	}
	return closest;
}

const struct qoi_config_entry *qoi_config_find(const char *name)
{
	size_t table_count;
	const struct qoi_config_table *tables = qoi_config_tables(&table_count);

	for (size_t t = 0; t < table_count; t++) {
		for (size_t i = 0; i < tables[t].count; i++) {
			if (strcmp(tables[t].entries[i].name, name) == 0)
				return &tables[t].entries[i];
		}
	}
	return NULL;
}

/* Every setting must be a known variable: the program itself wrote it. */
static int check_settings(const char *const *settings)
{
	for (size_t i = 0; settings != NULL && settings[i] != NULL; i++) {
		char name[NAME_CHARS + 1];

		if (strchr(settings[i], '=') == NULL)
			return qoi_fail(-EINVAL,
					"setting \"%s\": want QO_NAME=value",
					settings[i]);
		copy_name(settings[i], name);
		if (qoi_config_find(name) == NULL)
			return qoi_fail(-EINVAL,
					"setting %s is unknown; did you mean %s?",
					name, closest_name(name));
	}
	return 0;
}

/* The value of @name among the settings, the last one counts; or NULL. */
static const char *find_setting(const char *const *settings, const char *name)
{
	size_t length = strlen(name);
	const char *value = NULL;

	for (size_t i = 0; settings != NULL && settings[i] != NULL; i++) {
		if (strncmp(settings[i], name, length) == 0 &&
		    settings[i][length] == '=')
			value = settings[i] + length + 1;
	}
	return value;
}

static int set_entry(struct qoi_config *config,
		     const struct qoi_config_entry *entry,
		     const char *const *settings)
{
	char form[QOI_CONFIG_FORM_BYTES];
	const char *text = find_setting(settings, entry->name);
	int code;

	if (text == NULL)
		text = getenv(entry->name);
	if (text == NULL)
		text = entry->default_text;
	code = qoi_config_value_set(config, entry, text);
	if (code == -ENOMEM)
		return qoi_fail(code, "no memory for the value of %s",
				entry->name);
	if (code != 0) {
		qoi_config_value_form(entry, form);
		return qoi_fail(code, "%s=%.80s: want %s", entry->name, text,
				form);
	}
	return 0;
}

static void warn_unknown_once(void)
{
	int first;

	pthread_mutex_lock(&warned_lock);
	first = warned == 0;
	warned = 1;
	pthread_mutex_unlock(&warned_lock);
	for (char **variable = environ; first != 0 && *variable != NULL;
	     variable++) {
		char name[NAME_CHARS + 1];

		if (strncmp(*variable, PREFIX, strlen(PREFIX)) != 0 ||
		    strncmp(*variable, TEST_PREFIX, strlen(TEST_PREFIX)) == 0)
			continue;
		copy_name(*variable, name);
		if (qoi_config_find(name) == NULL)
			qoi_log_warn("%s is unknown and ignored; "
				     "did you mean %s?",
				     name, closest_name(name));
	}
}

int qoi_config_init(struct qoi_config *config, const char *const *settings)
{
	size_t table_count;
	const struct qoi_config_table *tables = qoi_config_tables(&table_count);
	int code = check_settings(settings);

	memset(config, 0, sizeof(*config));
	for (size_t t = 0; t < table_count; t++) {
		for (size_t i = 0; i < tables[t].count && code == 0; i++)
			code = set_entry(config, &tables[t].entries[i],
					 settings);
	}
	if (code != 0) {
		qoi_config_fini(config);
		return code;
	}
	qoi_log_set_level(config->log_level);
	warn_unknown_once();
	return 0;
}

void qoi_config_fini(struct qoi_config *config)
{
	size_t table_count;
	const struct qoi_config_table *tables = qoi_config_tables(&table_count);

	for (size_t t = 0; t < table_count; t++) {
		for (size_t i = 0; i < tables[t].count; i++) {
			const struct qoi_config_entry *entry =
				&tables[t].entries[i];
			char **field = (char **)((char *)config + entry->offset);

			if (entry->type == QOI_CONFIG_STRING ||
			    entry->type == QOI_CONFIG_CPU_LIST)
				free(*field);
		}
	}
	memset(config, 0, sizeof(*config));
}

static const char *variable_or_null(const char *name)
{
	const char *value = getenv(name);

	return value != NULL && value[0] != '\0' ? value : NULL;
}

void qoi_config_job(const struct qoi_config *config,
		    char job_out[QOI_CONFIG_JOB_BYTES])
{
	static const char *const launchers[] = { "PMIX_NAMESPACE", "PMI_JOBID",
						 "SLURM_JOB_ID" };
	const char *step = variable_or_null("SLURM_STEP_ID");
	const char *job = NULL;
	size_t i = 0;

	if (strcmp(config->agent_job, "auto") != 0) {
		snprintf(job_out, QOI_CONFIG_JOB_BYTES, "%s", config->agent_job);
		return;
	}
	for (; i < 3 && job == NULL; i++)
		job = variable_or_null(launchers[i]);
	if (job == NULL)
		job = "0";
	/* Two steps of one batch job are two jobs for us. */
	if (i == 3 && step != NULL && strcmp(job, "0") != 0)
		snprintf(job_out, QOI_CONFIG_JOB_BYTES, "%s.%s", job, step);
	else
		snprintf(job_out, QOI_CONFIG_JOB_BYTES, "%s", job);
}

char **qoi_config_environment(void)
{
	return environ;
}

/* The first folder of PATH that has it; 1 found. */
static int path_search(const char *name, char path_out[QOI_CONFIG_PATH_BYTES])
{
	const char *folder = variable_or_null("PATH");

	while (folder != NULL) {
		const char *end = strchrnul(folder, ':');
		int length = snprintf(path_out, QOI_CONFIG_PATH_BYTES, "%.*s/%s",
				      (int)(end - folder), folder, name);

		/* An empty folder would be the current one: never that. */
		if (end != folder && length < QOI_CONFIG_PATH_BYTES &&
		    access(path_out, X_OK) == 0)
			return 1;
		folder = *end == ':' ? end + 1 : NULL;
	}
	return 0;
}

int qoi_config_program(const struct qoi_config *config,
		       char path_out[QOI_CONFIG_PATH_BYTES])
{
	const char *wanted = config->agent_program;
	int automatic = strcmp(wanted, "auto") == 0;

	if (automatic)
		wanted = QOI_BINDIR "/qo_agentd";
	if (strlen(wanted) < QOI_CONFIG_PATH_BYTES && access(wanted, X_OK) == 0) {
		snprintf(path_out, QOI_CONFIG_PATH_BYTES, "%s", wanted);
		return 0;
	}
	if (automatic && path_search("qo_agentd", path_out))
		return 0;
	return qoi_fail(-ENOENT,
			automatic ? "no program qo_agentd at %s or in PATH: "
				    "set QO_AGENT_PROGRAM to its path"
				  : "QO_AGENT_PROGRAM=%s is no program that "
				    "can be started",
			wanted);
}

const char *qoi_config_fail_point(void)
{
	return getenv("QO_TEST_FAIL_POINT");
}
