/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * conformance FILE.prov [AGENT [CASE]]: runs every case under each agent with
 * the settings of the file; see prov.h for what it may say.
 * Exit status: 0 all passed, 1 a case failed, 2 bad usage or file.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/conformance/prov.h"
#include "tests/conformance/server.h"

/* The whole program. */
#define LIMIT_S 280

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
	qoc_far_cases,
};

static void env_fill(struct qoc_env *env, const struct qoc_prov *prov,
		     const char *agent, struct qoc_server *server,
		     char *setting, size_t bytes)
{
	uint32_t count = 0;

	memset(env, 0, sizeof(*env));
	for (uint32_t i = 0; i < prov->setting_count; i++)
		env->settings[count++] = prov->settings[i];
	for (uint32_t i = 0; server->settings[i] != NULL; i++)
		env->settings[count++] = server->settings[i];
	snprintf(setting, bytes, "QO_AGENT=%s", agent);
	env->settings[count++] = setting;
	env->settings[count] = NULL;
	env->inlined = strcmp(agent, "inline") == 0;
	env->far = strcmp(agent, "process") == 0;
	env->alloc = prov->alloc;
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

static void group_run(const struct qoc_case *group, const struct qoc_prov *prov,
		      struct qoc_env *env, const char *agent, const char *only,
		      struct totals *totals)
{
	for (const struct qoc_case *one = group; one->name != NULL; one++) {
		const char *reason = qoc_prov_skip(prov, one->name);

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

/* All cases under one agent, and then what its daemon says. */
static void agent_run(const struct qoc_prov *prov, const char *agent,
		      const char *only, struct totals *totals)
{
	struct qoc_server server;
	struct qoc_env env;
	char setting[64];

	if (qoc_server_open(&server, prov, agent) != 0) {
		totals->failed++;
		return;
	}
	env_fill(&env, prov, agent, &server, setting, sizeof(setting));
	for (size_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++)
		group_run(groups[g], prov, &env, agent, only, totals);
	if (qoc_server_close(&server) != 0) {
		printf("FAIL the daemon, at the end\n");
		totals->failed++;
	}
}

int main(int argc, char **argv)
{
	static struct qoc_prov prov;
	struct totals totals = { 0 };

	if (argc < 2 || qoc_prov_read(argv[1], &prov) != 0) {
		fprintf(stderr, "usage: conformance FILE.prov [AGENT [CASE]]\n");
		return 2;
	}
	for (uint32_t a = 0; a < prov.agent_count; a++) {
		if (argc > 2 && strcmp(argv[2], prov.agents[a]) != 0)
			continue;
		agent_run(&prov, prov.agents[a], argc > 3 ? argv[3] : NULL,
			  &totals);
	}
	printf("%s: %u run, %u failed, %u skipped\n", argv[1], totals.run,
	       totals.failed, totals.skipped);
	return totals.failed != 0 || totals.run == 0;
}
