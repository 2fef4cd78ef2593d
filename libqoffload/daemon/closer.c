/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* F_GET_SEALS */
#include "libqoffload/daemon/closer.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "libqoffload/base/log.h"

#define WAITING_MAX 4096

/* One for the process: it outlives every daemon in it. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t more;
	int fds[WAITING_MAX]; /* ring */
	uint32_t first;
	uint32_t count;
	int runs; /* 1: there is a thread; -1: there can be none */
} closer = { .lock = PTHREAD_MUTEX_INITIALIZER,
	     .more = PTHREAD_COND_INITIALIZER };

static void *closer_main(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&closer.lock);
	for (;;) {
		int fd;

		while (closer.count == 0)
			pthread_cond_wait(&closer.more, &closer.lock);
		fd = closer.fds[closer.first];
		closer.first = (closer.first + 1) % WAITING_MAX;
		closer.count--;
		pthread_mutex_unlock(&closer.lock);
		close(fd);
		pthread_mutex_lock(&closer.lock);
	}
	return NULL;
}

/* Holding the lock. */
static void closer_start(void)
{
	sigset_t all, before;
	pthread_t thread;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	error = pthread_create(&thread, NULL, closer_main, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	closer.runs = error == 0 ? 1 : -1;
	if (error == 0)
		pthread_detach(thread);
	else
		qoi_log_warn("no thread to close descriptors: %s",
			     strerror(error));
}

void qoi_closer_take(int fd)
{
	/* Shared memory has nothing to wait for. */
	if (fcntl(fd, F_GET_SEALS) >= 0) {
		close(fd);
		return;
	}
	pthread_mutex_lock(&closer.lock);
	if (closer.runs == 0)
		closer_start();
	if (closer.runs > 0 && closer.count < WAITING_MAX) {
		closer.fds[(closer.first + closer.count) % WAITING_MAX] = fd;
		closer.count++;
		pthread_cond_signal(&closer.more);
	}
	pthread_mutex_unlock(&closer.lock);
}
