/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * conformance FILE.prov [AGENT [CASE]]: runs every case under each agent with
 * the settings of the file.  Its lines are:
 *   ranks N          the largest team that the provider can make
 *   agents A B       values of QO_AGENT
 *   set QO_X=value   a setting; fault is one of them that injects faults
 *   skip CASE WHY    a case that this provider may leave out
 * Exit status: 0 all passed, 1 a case failed, 2 bad usage or file.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/conformance/suite.h"

#define SKIPS_MAX 32
#define AGENTS_MAX 4
/* The whole program. */
#define LIMIT_S 280

struct prov {
	uint32_t ranks;
	uint32_t faulty;
	char *settings[QOC_SETTINGS_MAX];
	uint32_t setting_count;
	char *agents[AGENTS_MAX];
	uint32_t agent_count;
	char *skips[SKIPS_MAX];
	uint32_t skip_count;
};

struct totals {
	uint32_t run;
	uint32_t failed;
	uint32_t skipped;
};

static const struct qoc_case *const groups[] = {
	qoc_coll_cases,	   qoc_reduce_cases,	 qoc_mismatch_cases,
	qoc_mesh_cases,	   qoc_mesh_error_cases, qoc_team_cases,
	qoc_request_cases, qoc_thread_cases,	 qoc_progress_cases,
	qoc_death_cases,   qoc_limit_cases,	 qoc_size_cases,
};

static int line_take(struct prov *prov, char *line)
{
	char *word = strtok(line, " \t\n");

	if (word == NULL || word[0] == '#')
		return 0;
	if (strcmp(word, "ranks") == 0) {
		word = strtok(NULL, " \t\n");
		if (word == NULL)
			return -1;
		prov->ranks = (uint32_t)strtoul(word, NULL, 10);
		return 0;
	}
	if (strcmp(word, "agents") == 0) {
		while ((word = strtok(NULL, " \t\n")) != NULL &&
		       prov->agent_count < AGENTS_MAX)
			prov->agents[prov->agent_count++] = strdup(word);
		return 0;
	}
	if (strcmp(word, "set") == 0 &&
	    prov->setting_count < QOC_SETTINGS_MAX - 1) {
		word = strtok(NULL, "\n");
		if (word == NULL)
			return -1;
		if (strncmp(word, "QO_FAULT_", 9) == 0)
			prov->faulty = 1;
		prov->settings[prov->setting_count++] = strdup(word);
		return 0;
	}
	if (strcmp(word, "skip") == 0 && prov->skip_count < SKIPS_MAX) {
		word = strtok(NULL, "\n");
		/* A reason is due. */
		if (word == NULL || strchr(word, ' ') == NULL)
			return -1;
		prov->skips[prov->skip_count++] = strdup(word);
		return 0;
	}
	return -1;
}

static int prov_read(const char *path, struct prov *prov)
{
	char line[256];
	int number = 0;
	FILE *file = fopen(path, "r");

	if (file == NULL) {
		perror(path);
		return -1;
	}
	while (fgets(line, sizeof(line), file) != NULL) {
		number++;
		if (line_take(prov, line) == 0)
			continue;
		fprintf(stderr, "%s:%d: not understood\n", path, number);
		fclose(file);
		return -1;
	}
	fclose(file);
	return prov->agent_count == 0 || prov->ranks == 0 ? -1 : 0;
}

static const char *skip_reason(const struct prov *prov, const char *name)
{
	size_t length = strlen(name);

	for (uint32_t i = 0; i < prov->skip_count; i++) {
		if (strncmp(prov->skips[i], name, length) == 0 &&
		    prov->skips[i][length] == ' ')
			return prov->skips[i] + length + 1;
	}
	return NULL;
}

static void env_fill(struct qoc_env *env, const struct prov *prov,
		     const char *agent, char *setting, size_t bytes)
{
	uint32_t count = 0;

	memset(env, 0, sizeof(*env));
	for (uint32_t i = 0; i < prov->setting_count; i++)
		env->settings[count++] = prov->settings[i];
	snprintf(setting, bytes, "QO_AGENT=%s", agent);
	env->settings[count++] = setting;
	env->settings[count] = NULL;
	env->inlined = strcmp(agent, "inline") == 0;
	env->faulty = prov->faulty;
}

static void case_run(const struct qoc_case *one, struct qoc_env *env,
		     uint32_t ranks, const char *agent, struct totals *totals)
{
	size_t bytes = QOC_SHARED_WORDS * sizeof(uint64_t);
	char what[128];
	int64_t since = qoc_now();
	int failed;

	snprintf(what, sizeof(what), "%s, %s, %u ranks", one->name, agent,
		 ranks);
	env->param = one->param;
	env->shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (env->shared == MAP_FAILED) {
		perror("mmap");
		exit(99);
	}
	qot_limit(LIMIT_S, what);
	failed = qot_run_mortals(ranks, one->fn, env, one->mortals);
	munmap(env->shared, bytes);
	totals->run++;
	totals->failed += failed != 0;
	printf("%-4s %s (%lld ms)\n", failed != 0 ? "FAIL" : "ok", what,
	       (long long)((qoc_now() - since) / 1000000));
	fflush(stdout);
}

static void group_run(const struct qoc_case *group, const struct prov *prov,
		      struct qoc_env *env, const char *agent, const char *only,
		      struct totals *totals)
{
	for (const struct qoc_case *one = group; one->name != NULL; one++) {
		const char *reason = skip_reason(prov, one->name);

		if (only != NULL && strstr(one->name, only) == NULL)
			continue;
		if (reason != NULL) {
			printf("skip %s: %s\n", one->name, reason);
			totals->skipped++;
			continue;
		}
		for (uint32_t ranks = one->ranks_min;
		     ranks <= one->ranks_max && ranks <= prov->ranks; ranks++)
			case_run(one, env, ranks, agent, totals);
	}
}

/* For AddressSanitizer: an allocation that fails is a part of the tests. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

int main(int argc, char **argv)
{
	static struct prov prov;
	struct totals totals = { 0 };
	struct qoc_env env;
	char setting[64];

	if (argc < 2 || prov_read(argv[1], &prov) != 0) {
		fprintf(stderr, "usage: conformance FILE.prov [AGENT [CASE]]\n");
		return 2;
	}
	for (uint32_t a = 0; a < prov.agent_count; a++) {
		const char *agent = prov.agents[a];

		if (argc > 2 && strcmp(argv[2], agent) != 0)
			continue;
		env_fill(&env, &prov, agent, setting, sizeof(setting));
		for (size_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++)
			group_run(groups[g], &prov, &env, agent,
				  argc > 3 ? argv[3] : NULL, &totals);
	}
	printf("%s: %u run, %u failed, %u skipped\n", argv[1], totals.run,
	       totals.failed, totals.skipped);
	return totals.failed != 0 || totals.run == 0;
}
