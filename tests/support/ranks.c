/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "tests/support/ranks.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCK_BYTES 4096

/* One allgather: everyone writes its block, then counts itself in. */
struct qot_gather {
	uint32_t arrived;
	uint32_t met;
	uint8_t blocks[QOT_RANKS_MAX][BLOCK_BYTES];
};

struct pending {
	struct qot_rank *rank;
	void *recv;
	size_t bytes;
};

static int gather_start(const void *send, void *recv, size_t bytes, void *arg,
			void **request_out)
{
	struct qot_rank *rank = arg;
	struct pending *pending;

	if (bytes > BLOCK_BYTES)
		return -EMSGSIZE;
	pending = malloc(sizeof(*pending));
	*pending = (struct pending){ rank, recv, bytes };
	memcpy(rank->gather->blocks[rank->rank], send, bytes);
	__atomic_add_fetch(&rank->gather->arrived, 1, __ATOMIC_ACQ_REL);
	*request_out = pending;
	return 0;
}

static int gather_test(void *request, void *arg)
{
	struct pending *pending = request;
	struct qot_rank *rank = arg;
	uint32_t arrived =
		__atomic_load_n(&rank->gather->arrived, __ATOMIC_ACQUIRE);

	if (arrived % rank->count != 0 || arrived == 0)
		return -EAGAIN;
	for (uint32_t i = 0; i < rank->count; i++)
		memcpy((uint8_t *)pending->recv + i * pending->bytes,
		       rank->gather->blocks[i], pending->bytes);
	return 0;
}

static int gather_free(void *request, void *arg)
{
	struct qot_rank *rank = arg;

	free(request);
	/* Nobody starts the next one before everyone has read this one. */
	qot_meet(rank);
	return 0;
}

struct qo_oob qot_oob(struct qot_rank *rank)
{
	return (struct qo_oob){
		.size = sizeof(struct qo_oob),
		.rank = rank->rank,
		.count = rank->count,
		.arg = rank,
		.allgather = gather_start,
		.test = gather_test,
		.free = gather_free,
	};
}

void qot_meet(struct qot_rank *rank)
{
	uint32_t *met = &rank->gather->met;
	uint32_t mine = __atomic_add_fetch(met, 1, __ATOMIC_ACQ_REL);
	uint32_t goal = (mine + rank->count - 1) / rank->count * rank->count;

	while ((int32_t)(__atomic_load_n(met, __ATOMIC_ACQUIRE) - goal) < 0)
		sched_yield();
}

int qot_join(struct qot_rank *rank, const char *const *settings,
	     qo_context_t *context_out, qo_team_t *team_out)
{
	struct qo_init_params params = QO_INIT_PARAMS_INIT;
	struct qo_oob oob = qot_oob(rank);
	int error;

	params.settings = settings;
	error = qo_init(&params, context_out);
	if (error != 0)
		return error;
	return qo_team_create(*context_out, &oob, team_out);
}

int qot_run_op(qo_op_t op)
{
	qo_request_t request;
	struct qo_status status;
	int error = qo_post(op, &request);

	if (error == 0)
		error = qo_wait(request, QO_NO_DEADLINE, &status);
	if (error != 0 || status.state != QO_DONE) {
		fprintf(stderr, "operation: %d %s\n", error, qo_error_detail());
		return 1;
	}
	return 0;
}

static struct qot_gather *gather_open(void)
{
	void *memory = mmap(NULL, sizeof(struct qot_gather),
			    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			    -1, 0);

	if (memory == MAP_FAILED) {
		perror("mmap");
		exit(99);
	}
	return memory;
}

int qot_run_processes(uint32_t count, qot_rank_fn fn, void *arg)
{
	struct qot_gather *gather = gather_open();
	pid_t pids[QOT_RANKS_MAX];
	int failed = 0;

	fflush(NULL);
	for (uint32_t i = 0; i < count; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			struct qot_rank rank = { i, count, gather, arg };
			int result = fn(&rank);

			fflush(NULL);
			_exit(result == 0 ? 0 : 1);
		}
	}
	for (uint32_t i = 0; i < count; i++) {
		int status = 0;

		if (waitpid(pids[i], &status, 0) < 0 || !WIFEXITED(status) ||
		    WEXITSTATUS(status) != 0) {
			fprintf(stderr, "rank %u of %u: status %x\n", i, count,
				(unsigned)status);
			failed++;
		}
	}
	munmap(gather, sizeof(*gather));
	return failed;
}

struct thread_rank {
	struct qot_rank rank;
	qot_rank_fn fn;
	int result;
};

static void *thread_main(void *arg)
{
	struct thread_rank *rank = arg;

	rank->result = rank->fn(&rank->rank);
	return NULL;
}

int qot_run_threads(uint32_t count, qot_rank_fn fn, void *arg)
{
	struct thread_rank ranks[QOT_RANKS_MAX];
	struct qot_gather *gather = gather_open();
	pthread_t threads[QOT_RANKS_MAX];
	int failed = 0;

	for (uint32_t i = 0; i < count; i++) {
		ranks[i] = (struct thread_rank){ { i, count, gather, arg }, fn,
						 0 };
		pthread_create(&threads[i], NULL, thread_main, &ranks[i]);
	}
	for (uint32_t i = 0; i < count; i++) {
		pthread_join(threads[i], NULL);
		failed += ranks[i].result != 0;
	}
	munmap(gather, sizeof(*gather));
	return failed;
}
