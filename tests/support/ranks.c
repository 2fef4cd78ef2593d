/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "tests/support/ranks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCK_BYTES 4096
#define FAILED_GRACE_MS 3000

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

void qot_meet_progress(struct qot_rank *rank, qo_context_t context)
{
	uint32_t *met = &rank->gather->met;
	uint32_t mine = __atomic_add_fetch(met, 1, __ATOMIC_ACQ_REL);
	uint32_t goal = (mine + rank->count - 1) / rank->count * rank->count;

	while ((int32_t)(__atomic_load_n(met, __ATOMIC_ACQUIRE) - goal) < 0) {
		if (context != NULL)
			qo_progress(context);
		sched_yield();
	}
}

void qot_meet(struct qot_rank *rank)
{
	qot_meet_progress(rank, NULL);
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
	struct qo_status status = { 0 };
	char text[128];
	int error = qo_post(op, &request);

	if (error == 0)
		error = qo_wait(request, QO_NO_DEADLINE, &status);
	if (error != 0) {
		fprintf(stderr, "operation: %s (%s)\n", qo_error_string(error),
			qo_error_detail());
		return 1;
	}
	if (status.state == QO_DONE && status.error == 0)
		return 0;
	qo_status_describe(&status, text, sizeof(text));
	fprintf(stderr, "operation: %s\n", text);
	return 1;
}

static struct qot_gather *gather_open(void)
{
	void *memory =
		mmap(NULL, sizeof(struct qot_gather), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED) {
		perror("mmap");
		exit(99);
	}
	return memory;
}

struct qot_gather *qot_gather_map(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	void *memory = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, sizeof(struct qot_gather)) == 0)
		memory = mmap(NULL, sizeof(struct qot_gather),
			      PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		perror(path);
	if (fd >= 0)
		close(fd);
	return memory == MAP_FAILED ? NULL : memory;
}

static char hang_text[160];

static void hang_tell(int signal)
{
	ssize_t written = write(STDERR_FILENO, hang_text, strlen(hang_text));

	(void)signal;
	(void)written;
	_exit(QOT_EXIT_HANG);
}

void qot_limit(uint32_t seconds, const char *what)
{
	struct sigaction action = { .sa_handler = hang_tell };

	snprintf(hang_text, sizeof(hang_text), "HANG in %s\n", what);
	sigaction(SIGALRM, &action, NULL);
	alarm(seconds);
}

/* Where there is a leak sanitizer: _exit() would pass it by. */
void __lsan_do_leak_check(void) __attribute__((weak));

static int rank_main(struct qot_rank *rank, qot_rank_fn fn)
{
	int result;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* A fork inherits no alarm; the text it does. */
	alarm(QOT_LIMIT_S);
	result = fn(rank);
	fflush(NULL);
	if (result == 0 && __lsan_do_leak_check != NULL)
		__lsan_do_leak_check();
	return result == 0 ? 0 : 1;
}

/* Whether a rank ended as it should; tells when not. */
static int ended_well(int status, uint32_t rank, uint32_t count, int mortal)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && !mortal)
		return 1;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && mortal)
		return 1;
	if (WIFSIGNALED(status))
		fprintf(stderr, "rank %u of %u: signal %d (%s)\n", rank, count,
			WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		fprintf(stderr, "rank %u of %u: exit status %d%s\n", rank,
			count, WEXITSTATUS(status),
			mortal ? ", it should have been killed" : "");
	return 0;
}

/*
 * Waits for all ranks; those that are left FAILED_GRACE_MS after the first
 * failure are killed, since they wait for one that is gone.
 */
static int ranks_reap(pid_t *pids, uint32_t count, uint64_t mortals)
{
	uint32_t left = count;
	int grace_ms = FAILED_GRACE_MS;
	int failed = 0;

	while (left != 0) {
		for (uint32_t i = 0; i < count; i++) {
			int status;

			if (pids[i] == 0 ||
			    waitpid(pids[i], &status, WNOHANG) != pids[i])
				continue;
			pids[i] = 0;
			left--;
			failed +=
				!ended_well(status, i, count, mortals >> i & 1);
		}
		if (left != 0)
			usleep(1000);
		if (failed == 0 || grace_ms-- != 0)
			continue;
		for (uint32_t i = 0; i < count; i++)
			if (pids[i] != 0)
				kill(pids[i], SIGKILL);
	}
	return failed;
}

int qot_run_mortals(uint32_t count, qot_rank_fn fn, void *arg, uint64_t mortals)
{
	struct qot_gather *gather = gather_open();
	pid_t pids[QOT_RANKS_MAX];
	int failed;

	fflush(NULL);
	for (uint32_t i = 0; i < count; i++) {
		pids[i] = fork();
		if (pids[i] < 0) {
			perror("fork");
			exit(99);
		}
		if (pids[i] == 0) {
			struct qot_rank rank = { i, count, gather, arg };

			_exit(rank_main(&rank, fn));
		}
	}
	failed = ranks_reap(pids, count, mortals);
	munmap(gather, sizeof(*gather));
	return failed;
}

int qot_run_processes(uint32_t count, qot_rank_fn fn, void *arg)
{
	return qot_run_mortals(count, fn, arg, 0);
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
		ranks[i] =
			(struct thread_rank){ { i, count, gather, arg }, fn, 0 };
		pthread_create(&threads[i], NULL, thread_main, &ranks[i]);
	}
	for (uint32_t i = 0; i < count; i++) {
		pthread_join(threads[i], NULL);
		failed += ranks[i].result != 0;
	}
	munmap(gather, sizeof(*gather));
	return failed;
}

static int is_of_mpi(const char *name)
{
	static const char *const others[] = { "vader_segment", "sm_segment",
					      "osc",	       "mpich",
					      "ucx",	       "pmix",
					      "gds",	       "psm" };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (strncmp(name, others[i], strlen(others[i])) == 0)
			return 1;
	}
	return 0;
}

int qot_shm_entries(void)
{
	DIR *dir = opendir("/dev/shm");
	const struct dirent *entry;
	int count = 0;

	if (dir == NULL)
		return 0;
	while ((entry = readdir(dir)) != NULL)
		count += !is_of_mpi(entry->d_name);
	closedir(dir);
	return count;
}
