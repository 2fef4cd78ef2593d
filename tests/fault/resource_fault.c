/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two ranks, threads of one process, go through the whole life of a context;
 * in turn N the Nth allocation or system call of the library fails, for N from
 * 0 until nothing fails any more.  Each call must succeed or tell an error of
 * the list, in bounded time, and at the end nothing may be held: no memory,
 * no mapping, no descriptor.
 * Usage: resource_fault [AGENT [FIRST [LAST]]]
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/fault/wrap.h"
#include "tests/support/ranks.h"

#define RANKS 2
#define WAIT_NS INT64_C(100000000)
#define TURNS_MAX 5000
#define LIMIT_S 280

/* The out-of-band allgather; a rank that is out of it says so. */
struct meeting {
	uint8_t blocks[RANKS][4096];
	size_t bytes;
	uint32_t came;
	uint32_t gone;
};

struct side {
	uint32_t rank;
	struct meeting *meeting;
	void *recv;
	qo_context_t context;
	int wrong;
};

static int gather_start(const void *send, void *recv, size_t bytes, void *arg,
			void **request_out)
{
	struct side *side = arg;

	memcpy(side->meeting->blocks[side->rank], send, bytes);
	__atomic_store_n(&side->meeting->bytes, bytes, __ATOMIC_RELEASE);
	__atomic_add_fetch(&side->meeting->came, 1, __ATOMIC_ACQ_REL);
	side->recv = recv;
	*request_out = side;
	return 0;
}

static int gather_test(void *request, void *arg)
{
	struct side *side = arg;
	struct meeting *meeting = side->meeting;
	size_t bytes = __atomic_load_n(&meeting->bytes, __ATOMIC_ACQUIRE);

	(void)request;
	if (__atomic_load_n(&meeting->came, __ATOMIC_ACQUIRE) == RANKS) {
		for (uint32_t i = 0; i < RANKS; i++)
			memcpy((uint8_t *)side->recv + i * bytes,
			       meeting->blocks[i], bytes);
		return 0;
	}
	return __atomic_load_n(&meeting->gone, __ATOMIC_ACQUIRE) != 0
		       ? -ECONNABORTED
		       : -EAGAIN;
}

static int is_listed(int error)
{
	switch (error) {
#define LISTED(name, text) case -name:
		QO_ERROR_MAP(LISTED)
#undef LISTED
		return 1;
	default:
		return error == 0;
	}
}

/* Notes an error that is not one, or has no text; gives it back. */
static int judged(struct side *side, const char *call, int error)
{
	if (error == 0 || (is_listed(error) && qo_error_detail()[0] != '\0'))
		return error;
	fprintf(stderr, "rank %u: %s gave %d, text '%s'\n", side->rank, call,
		error, qo_error_detail());
	side->wrong = 1;
	return error;
}

static int64_t soon(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec + WAIT_NS;
}

/* Whatever it ends with, but it ends; the other rank may have nothing. */
static void request_end(struct side *side, qo_request_t request)
{
	struct qo_status status;
	int error = qo_wait(request, soon(), &status);

	if (error != 0 && error != -ETIMEDOUT)
		judged(side, "wait", error);
}

static void op_run(struct side *side, qo_team_t team, int which)
{
	static uint64_t send[RANKS][64], recv[RANKS][64];
	uint64_t counts[RANKS] = { 3, 4 };
	uint64_t places[RANKS] = { 0, 8 };
	struct qo_blocks to = { recv[side->rank], counts, places };
	qo_request_t request;
	qo_op_t op;
	int error;

	if (which == 0)
		error = qo_allreduce_init(team, send[side->rank],
					  recv[side->rank], 40, QO_UINT64,
					  QO_SUM, &op);
	else
		error = qo_allgatherv_init(team, send[side->rank],
					   counts[side->rank], &to, QO_UINT64,
					   &op);
	if (judged(side, "init", error) != 0)
		return;
	if (judged(side, "post", qo_post(op, &request)) == 0)
		request_end(side, request);
	/* Busy when the other has none: then the context's end takes it. */
	judged(side, "op_destroy", qo_op_destroy(op));
}

static void mesh_run(struct side *side, qo_team_t team)
{
	const struct qo_edge edges[] = { { 0, 1, 0, 64, 2, 0 },
					 { 1, 0, 0, 64, 2, 0 },
					 { 0, 0, 1, 8, 1, 0 } };
	qo_request_t request;
	qo_mesh_t mesh;
	int error = qo_mesh_create(team, edges, 3, &mesh);

	if (judged(side, "mesh_create", error) != 0)
		return;
	error = qo_mesh_post(mesh, 0, NULL, 0, QO_NO_DEADLINE, &request);
	if (judged(side, "mesh_post", error) == 0)
		request_end(side, request);
	judged(side, "mesh_destroy", qo_mesh_destroy(mesh));
}

static void team_run(struct side *side, qo_team_t team)
{
	qo_team_t part;

	op_run(side, team, 0);
	mesh_run(side, team);
	if (judged(side, "split", qo_team_split(team, 0, 0, &part)) == 0) {
		op_run(side, part, 1);
		judged(side, "team_destroy", qo_team_destroy(part));
	}
}

static void *side_main(void *arg)
{
	struct side *side = arg;
	struct qo_oob oob = { sizeof(oob),  side->rank,	 RANKS, side,
			      gather_start, gather_test, NULL };
	void *address;
	qo_team_t team;
	qo_mem_t mem;

	if (judged(side, "mem_alloc",
		   qo_mem_alloc(side->context, 5000, &address, &mem)) == 0)
		qo_mem_release(mem);
	if (judged(side, "team_create",
		   qo_team_create(side->context, &oob, &team)) != 0) {
		__atomic_store_n(&side->meeting->gone, 1, __ATOMIC_RELEASE);
		return NULL;
	}
	team_run(side, team);
	judged(side, "team_destroy", qo_team_destroy(team));
	return NULL;
}

static int sides_open(struct side *sides, const char *const *settings)
{
	struct qo_init_params params = QO_INIT_PARAMS_INIT;

	params.settings = settings;
	for (uint32_t i = 0; i < RANKS; i++) {
		int error = judged(&sides[i], "init",
				   qo_init(&params, &sides[i].context));

		if (error == 0)
			continue;
		if (i == 1)
			qo_fini(sides[0].context);
		return error;
	}
	return 0;
}

static void sides_run(struct side *sides)
{
	pthread_t threads[RANKS];

	for (uint32_t i = 0; i < RANKS; i++) {
		/* A failure here is the test's own: again. */
		while (pthread_create(&threads[i], NULL, side_main,
				      &sides[i]) != 0)
			;
	}
	for (uint32_t i = 0; i < RANKS; i++)
		pthread_join(threads[i], NULL);
	for (uint32_t i = 0; i < RANKS; i++)
		qo_fini(sides[i].context);
}

static int descriptor_count(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(dir) != NULL)
		count++;
	closedir(dir);
	return count;
}

/* Returns 1 when nothing failed any more, 0 go on, -1 wrong. */
static int turn_run(const char *const *settings, int64_t nth)
{
	int64_t blocks = qof_blocks(), maps = qof_maps();
	int descriptors = descriptor_count();
	struct meeting meeting = { .bytes = 0 };
	struct side sides[RANKS];
	const char *failed;
	int wrong;

	for (uint32_t i = 0; i < RANKS; i++)
		sides[i] = (struct side){ i, &meeting, NULL, NULL, 0 };
	qof_arm(nth);
	if (sides_open(sides, settings) == 0)
		sides_run(sides);
	failed = qof_disarm();
	wrong = sides[0].wrong || sides[1].wrong;
	if (qof_blocks() != blocks || qof_maps() != maps ||
	    descriptor_count() != descriptors) {
		fprintf(stderr,
			"held: %lld blocks, %lld mappings, %d "
			"descriptors\n",
			(long long)(qof_blocks() - blocks),
			(long long)(qof_maps() - maps),
			descriptor_count() - descriptors);
		wrong = 1;
	}
	if (wrong)
		fprintf(stderr, "FAIL when call %lld (%s) fails\n",
			(long long)nth, failed == NULL ? "none" : failed);
	return wrong ? -1 : failed == NULL;
}

int main(int argc, char **argv)
{
	char agent[64];
	const char *settings[] = { agent,
				   "QO_CONNECT_TIMEOUT=100ms",
				   "QO_FINI_TIMEOUT=50ms",
				   "QO_COLL_ALLREDUCE=ring",
				   "QO_REQUEST_COUNT=64",
				   NULL };
	int64_t nth = argc > 2 ? strtoll(argv[2], NULL, 10) : 0;
	int64_t last = argc > 3 ? strtoll(argv[3], NULL, 10) : TURNS_MAX;
	int failures = 0, result = 0;

	snprintf(agent, sizeof(agent), "QO_AGENT=%s",
		 argc > 1 ? argv[1] : "inline");
	qot_limit(LIMIT_S, "resource_fault");
	/* What is made once per process, before anything is counted. */
	if (turn_run(settings, INT64_MAX) < 0)
		return 1;
	for (; nth <= last && result != 1; nth++) {
		result = turn_run(settings, nth);
		failures += result < 0;
	}
	printf("%s: %lld turns, %d failures\n", agent, (long long)nth, failures);
	return failures != 0 || (argc <= 3 && result != 1);
}
