/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libqoffload/base/config.h"
#include "libqoffload/base/config_value.h"
#include "libqoffload/base/error.h"
#include "libqoffload/base/log.h"
#include "tests/unit/capture.h"

extern char **environ;

static struct capture capture;

/* The variables of whoever runs the tests are not part of them. */
static int clear_variables(void **state)
{
	(void)state;
	for (size_t i = 0; environ[i] != NULL;) {
		char name[128];
		size_t length = strcspn(environ[i], "=");

		if (strncmp(environ[i], "QO_", 3) != 0 ||
		    length >= sizeof(name)) {
			i++;
			continue;
		}
		memcpy(name, environ[i], length);
		name[length] = '\0';
		unsetenv(name);
	}
	qoi_log_set_level(QOI_LOG_WARN);
	return 0;
}

/* The one way in which settings are given here: a single one, or none. */
static int init_with(struct qoi_config *config, const char *setting)
{
	const char *const settings[] = { setting, NULL };
	int code;

	capture_start(&capture);
	code = qoi_config_init(config, settings);
	capture_stop(&capture);
	return code;
}

static void expect_refusal(const char *setting, const char *detail)
{
	struct qoi_config config;

	assert_int_equal(init_with(&config, setting), -EINVAL);
	assert_string_equal(qo_error_detail(), detail);
	/* Nothing is left that somebody would have to free. */
	assert_null(config.provider);
}

static void defaults_are_those_of_the_tables(void **state)
{
	struct qoi_config config;

	(void)state;
	assert_int_equal(init_with(&config, NULL), 0);
	assert_int_equal(config.log_level, QOI_LOG_WARN);
	assert_int_equal(config.agent, QOI_CONFIG_AGENT_AUTO);
	assert_string_equal(config.agent_cpu, "auto");
	assert_int_equal(config.agent_idle, QOI_CONFIG_IDLE_ADAPTIVE);
	assert_int_equal(config.agent_spin_ns, 20000);
	assert_int_equal(config.agent_yield_ns, 50000);
	assert_string_equal(config.agent_socket, "auto");
	assert_string_equal(config.agent_program, "auto");
	assert_string_equal(config.agent_job, "auto");
	assert_int_equal(config.agent_timeout, 10000000000);
	assert_int_equal(config.agent_lanes, 4);
	assert_int_equal(config.agent_memory, QOI_CONFIG_MEMORY_AUTO);
	assert_int_equal(config.agent_direct, QOI_CONFIG_SWITCH_AUTO);
	assert_int_equal(config.wait_spin_ns, 50000);
	assert_int_equal(config.wait_yield_ns, 200000);
	assert_string_equal(config.provider, "self,shm");
	assert_int_equal(config.request_count, 4096);
	assert_int_equal(config.connect_timeout, 30000000000);
	assert_int_equal(config.fini_timeout, 5000000000);
	assert_int_equal(config.shm_chunk_bytes, 32768);
	assert_int_equal(config.shm_get, QOI_CONFIG_SWITCH_AUTO);
	assert_int_equal(config.shm_get_bytes, 16384);
	assert_string_equal(config.coll_barrier, "auto");
	assert_int_equal(config.coll_flat_bytes, 32768);
	assert_int_equal(config.coll_flat_ranks, 16);
	assert_int_equal(config.fault_kill_after, 0);
	qoi_config_fini(&config);
}

/* Field by field, so that an offset given twice is found. */
static void every_entry_sets_a_field_of_its_own(void **state)
{
	char text[QOI_CONFIG_FORM_BYTES];
	struct qoi_config config;
	size_t table_count, bytes = 0;
	const struct qoi_config_table *tables = qoi_config_tables(&table_count);

	(void)state;
	assert_int_equal(init_with(&config, NULL), 0);
	for (size_t t = 0; t < table_count; t++) {
		for (size_t i = 0; i < tables[t].count; i++) {
			const struct qoi_config_entry *entry =
				&tables[t].entries[i];

			qoi_config_value_text(&config, entry, text);
			assert_string_equal(text, entry->default_text);
			bytes += entry->type == QOI_CONFIG_CHOICE ? 4 : 8;
		}
	}
	/* All fields are there, up to padding after the lone ints. */
	assert_true(bytes <= sizeof(config));
	assert_true(sizeof(config) - bytes <= 4 * sizeof(int));
	qoi_config_fini(&config);
}

static void the_environment_goes_before_the_default(void **state)
{
	struct qoi_config config;

	(void)state;
	setenv("QO_AGENT", "inline", 1);
	setenv("QO_COLL_ALLTOALL", "pairwise", 1);
	assert_int_equal(init_with(&config, NULL), 0);
	assert_int_equal(config.agent, QOI_CONFIG_AGENT_INLINE);
	assert_string_equal(config.coll_alltoall, "pairwise");
	assert_string_equal(config.coll_alltoallv, "auto");
	qoi_config_fini(&config);
}

static void a_setting_goes_before_the_environment(void **state)
{
	struct qoi_config config;

	(void)state;
	/* Not even read: a setting that is good hides a variable that isn't. */
	setenv("QO_AGENT", "nonsense", 1);
	assert_int_equal(init_with(&config, "QO_AGENT=thread"), 0);
	assert_int_equal(config.agent, QOI_CONFIG_AGENT_THREAD);
	qoi_config_fini(&config);
}

static void the_last_of_several_settings_counts(void **state)
{
	const char *const settings[] = { "QO_PROVIDER=self", "QO_SHM_GET=on",
					 "QO_PROVIDER=shm", NULL };
	struct qoi_config config;

	(void)state;
	assert_int_equal(qoi_config_init(&config, settings), 0);
	assert_string_equal(config.provider, "shm");
	assert_int_equal(config.shm_get, QOI_CONFIG_SWITCH_ON);
	qoi_config_fini(&config);
}

static void strings_are_the_configs_own(void **state)
{
	struct qoi_config config;
	char setting[] = "QO_PROVIDER=self";

	(void)state;
	assert_int_equal(init_with(&config, setting), 0);
	memset(setting, 'x', sizeof(setting) - 1);
	assert_string_equal(config.provider, "self");
	qoi_config_fini(&config);
}

static void a_bad_value_names_the_variable_the_value_and_the_form(void **state)
{
	(void)state;
	expect_refusal("QO_AGENT=fast",
		       "QO_AGENT=fast: want one of auto, inline, thread, "
		       "process");
	expect_refusal("QO_FAULT_DROP=101",
		       "QO_FAULT_DROP=101: want a whole number, 0 to 100");
	expect_refusal("QO_SHM_CHUNK_BYTES=32q",
		       "QO_SHM_CHUNK_BYTES=32q: want bytes (k, m or g may "
		       "follow), 1k to 16m");
	expect_refusal("QO_CONNECT_TIMEOUT=30",
		       "QO_CONNECT_TIMEOUT=30: want a time (ns, us, ms or s "
		       "may follow; else ns), 1ms to 3600s");
	expect_refusal("QO_AGENT_CPU=3-1",
		       "QO_AGENT_CPU=3-1: want auto, none or a cpu list such "
		       "as 0,2-4");
	expect_refusal("QO_PROVIDER=", "QO_PROVIDER=: want a name");
}

static void a_bad_variable_of_the_environment_is_refused_in_one_line(void **state)
{
	struct qoi_config config;

	(void)state;
	setenv("QO_REQUEST_COUNT", "0", 1);
	assert_int_equal(init_with(&config, NULL), -EINVAL);
	assert_string_equal(capture.text,
			    "qo: error QO_REQUEST_COUNT=0: want a whole "
			    "number, 16 to 1048576\n");
}

static void a_setting_that_is_unknown_is_refused(void **state)
{
	(void)state;
	expect_refusal("QO_AGNET=thread",
		       "setting QO_AGNET is unknown; did you mean QO_AGENT?");
	expect_refusal("QO_AGENT", "setting \"QO_AGENT\": want QO_NAME=value");
}

static void numbers_are_taken_with_their_suffixes_and_nothing_else(void **state)
{
	static const struct {
		const char *name;
		const char *text;
		int64_t want; /* negative: refused */
	} cases[] = {
		{ "QO_SHM_GET_BYTES", "0", 0 },
		{ "QO_SHM_GET_BYTES", "3", 3 },
		{ "QO_SHM_GET_BYTES", "3k", 3072 },
		{ "QO_SHM_GET_BYTES", "3K", 3072 },
		{ "QO_SHM_GET_BYTES", "2m", 2097152 },
		{ "QO_SHM_GET_BYTES", "1g", 1073741824 },
		{ "QO_SHM_GET_BYTES", "2g", -1 },
		{ "QO_SHM_GET_BYTES", "17179869184g", -1 },
		{ "QO_SHM_GET_BYTES", "99999999999999999999", -1 },
		{ "QO_SHM_GET_BYTES", "1 k", -1 },
		{ "QO_SHM_GET_BYTES", "1kk", -1 },
		{ "QO_SHM_GET_BYTES", "k", -1 },
		{ "QO_SHM_GET_BYTES", "1us", -1 },
		{ "QO_AGENT_SPIN_NS", "7", 7 },
		{ "QO_AGENT_SPIN_NS", "7ns", 7 },
		{ "QO_AGENT_SPIN_NS", "7us", 7000 },
		{ "QO_AGENT_SPIN_NS", "7ms", 7000000 },
		{ "QO_AGENT_SPIN_NS", "1s", 1000000000 },
		{ "QO_AGENT_SPIN_NS", "2s", -1 },
		{ "QO_AGENT_SPIN_NS", "1m", -1 },
		{ "QO_FAULT_DELAY", "100", 100 },
		{ "QO_FAULT_DELAY", "-1", -1 },
		{ "QO_FAULT_DELAY", "+1", -1 },
		{ "QO_FAULT_DELAY", " 1", -1 },
		{ "QO_FAULT_DELAY", "0x10", -1 },
		{ "QO_FAULT_DELAY", "1.5", -1 },
		{ "QO_FAULT_DELAY", "", -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct qoi_config config = { 0 };
		const struct qoi_config_entry *entry =
			qoi_config_find(cases[i].name);
		int code;

		assert_non_null(entry);
		code = qoi_config_value_set(&config, entry, cases[i].text);
		if (code != (cases[i].want < 0 ? -EINVAL : 0))
			fail_msg("%s=%s: %d", cases[i].name, cases[i].text,
				 code);
		if (code == 0)
			assert_int_equal(
				*(uint64_t *)((char *)&config + entry->offset),
				cases[i].want);
	}
}

static void cpu_lists_are_checked_by_their_form(void **state)
{
	static const char *const good[] = { "auto", "none", "0", "0,2-4",
					    "1500-2047" };
	static const char *const bad[] = { "",	    "0,",  ",0",   "1-",
					   "-1",    "a",   "2-1",  "0;1",
					   "0-1-2", "0x3", "65536" };
	const struct qoi_config_entry *entry = qoi_config_find("QO_AGENT_CPU");
	struct qoi_config config = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(qoi_config_value_set(&config, entry, good[i]),
				 0);
		assert_string_equal(config.agent_cpu, good[i]);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(qoi_config_value_set(&config, entry, bad[i]),
				 -EINVAL);
	assert_string_equal(config.agent_cpu, "1500-2047");
	qoi_config_fini(&config);
}

static void the_log_level_is_set(void **state)
{
	struct qoi_config config;

	(void)state;
	assert_int_equal(init_with(&config, "QO_LOG_LEVEL=debug"), 0);
	assert_int_equal(qoi_log_level(), QOI_LOG_DEBUG);
	qoi_config_fini(&config);
}

static void
a_table_line_shows_variable_default_form_unit_and_meaning(void **state)
{
	char text[CAPTURE_BYTES];
	FILE *file = tmpfile();
	size_t length;

	(void)state;
	assert_non_null(file);
	qoi_config_print(file);
	rewind(file);
	length = fread(text, 1, sizeof(text) - 1, file);
	text[length] = '\0';
	fclose(file);
	assert_non_null(strstr(text, "\n| `QO_FAULT_DROP` | `0` | a whole "
				     "number, 0 to 100 | percent | puts that "
				     "are lost |\n"));
}

static void expect_job(const char *setting, const char *job)
{
	char text[QOI_CONFIG_JOB_BYTES];
	struct qoi_config config;

	assert_int_equal(init_with(&config, setting), 0);
	qoi_config_job(&config, text);
	assert_string_equal(text, job);
	qoi_config_fini(&config);
}

static void the_jobs_name_is_the_launchers_unless_one_is_set(void **state)
{
	(void)state;
	unsetenv("PMIX_NAMESPACE");
	unsetenv("PMI_JOBID");
	unsetenv("SLURM_JOB_ID");
	unsetenv("SLURM_STEP_ID");
	expect_job(NULL, "0");
	setenv("SLURM_STEP_ID", "2", 1);
	expect_job(NULL, "0");
	setenv("SLURM_JOB_ID", "77", 1);
	expect_job(NULL, "77.2");
	unsetenv("SLURM_STEP_ID");
	expect_job(NULL, "77");
	setenv("PMI_JOBID", "pmi", 1);
	setenv("PMIX_NAMESPACE", "", 1);
	expect_job(NULL, "pmi");
	setenv("PMIX_NAMESPACE", "pmix", 1);
	expect_job(NULL, "pmix");
	expect_job("QO_AGENT_JOB=mine", "mine");
}

static void the_daemons_program_is_the_one_set_or_found_in_path(void **state)
{
	char path[QOI_CONFIG_PATH_BYTES];
	char folder[] = "/tmp/qo-config-XXXXXX";
	char program[64], search[128];
	struct qoi_config config;
	FILE *file;

	(void)state;
	assert_int_equal(init_with(&config, "QO_AGENT_PROGRAM=/nowhere/x"), 0);
	assert_int_equal(qoi_config_program(&config, path), -ENOENT);
	assert_string_equal(qo_error_detail(),
			    "QO_AGENT_PROGRAM=/nowhere/x is no program that "
			    "can be started");
	qoi_config_fini(&config);
	assert_int_equal(init_with(&config, "QO_AGENT_PROGRAM=/bin/sh"), 0);
	assert_int_equal(qoi_config_program(&config, path), 0);
	assert_string_equal(path, "/bin/sh");
	qoi_config_fini(&config);

	if (access(QOI_BINDIR "/qo_agentd", X_OK) == 0)
		return; /* One that is installed goes before PATH. */
	assert_non_null(mkdtemp(folder));
	snprintf(program, sizeof(program), "%s/qo_agentd", folder);
	snprintf(search, sizeof(search), "/nowhere::%s", folder);
	setenv("PATH", search, 1);
	assert_int_equal(init_with(&config, NULL), 0);
	assert_int_equal(qoi_config_program(&config, path), -ENOENT);
	file = fopen(program, "w");
	assert_non_null(file);
	fclose(file);
	assert_int_equal(chmod(program, 0700), 0);
	assert_int_equal(qoi_config_program(&config, path), 0);
	assert_string_equal(path, program);
	qoi_config_fini(&config);
	unlink(program);
	rmdir(folder);
}

/* Runs first: the warning is given once in the life of a process. */
static void unknown_variables_warn_once_and_name_the_closest(void **state)
{
	struct qoi_config config;

	(void)state;
	setenv("QO_AGENT_CPUS", "1", 1);
	setenv("QO_COL_BCAST", "flat", 1);
	setenv("QO_TEST_SEED", "1", 1);
	setenv("QOTHER", "1", 1);
	assert_int_equal(init_with(&config, NULL), 0);
	assert_non_null(strstr(capture.text,
			       "qo: warn QO_AGENT_CPUS is unknown and ignored; "
			       "did you mean QO_AGENT_CPU?\n"));
	assert_non_null(strstr(capture.text,
			       "qo: warn QO_COL_BCAST is unknown and ignored; "
			       "did you mean QO_COLL_BCAST?\n"));
	assert_null(strstr(capture.text, "QO_TEST_SEED"));
	assert_null(strstr(capture.text, "QOTHER"));
	qoi_config_fini(&config);
	assert_int_equal(init_with(&config, NULL), 0);
	assert_string_equal(capture.text, "");
	qoi_config_fini(&config);
}

#define TEST(function)                                                         \
	cmocka_unit_test_setup_teardown(function, clear_variables,             \
					clear_variables)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(unknown_variables_warn_once_and_name_the_closest),
		TEST(defaults_are_those_of_the_tables),
		TEST(every_entry_sets_a_field_of_its_own),
		TEST(the_environment_goes_before_the_default),
		TEST(a_setting_goes_before_the_environment),
		TEST(the_last_of_several_settings_counts),
		TEST(strings_are_the_configs_own),
		TEST(a_bad_value_names_the_variable_the_value_and_the_form),
		TEST(a_bad_variable_of_the_environment_is_refused_in_one_line),
		TEST(a_setting_that_is_unknown_is_refused),
		TEST(numbers_are_taken_with_their_suffixes_and_nothing_else),
		TEST(cpu_lists_are_checked_by_their_form),
		TEST(the_jobs_name_is_the_launchers_unless_one_is_set),
		TEST(the_daemons_program_is_the_one_set_or_found_in_path),
		TEST(the_log_level_is_set),
		TEST(a_table_line_shows_variable_default_form_unit_and_meaning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
