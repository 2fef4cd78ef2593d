/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* F_GET_SEALS */
#include "libqoffload/daemon/closer.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libqoffload/base/log.h"

struct waiting {
	struct waiting *next;
	int fd;
};

/* One for the process: it outlives every daemon in it. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct waiting *first; /* a descriptor each, of which there are few */
	int runs;	       /* 1: there is a thread; -1: there can be none */
	pid_t owner;	       /* a forked child has no such thread */
} closer = { .lock = PTHREAD_MUTEX_INITIALIZER,
	     .more = PTHREAD_COND_INITIALIZER };

static void *closer_main(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&closer.lock);
	for (;;) {
		struct waiting *waiting;

		while (closer.first == NULL)
			pthread_cond_wait(&closer.more, &closer.lock);
		waiting = closer.first;
		closer.first = waiting->next;
		pthread_mutex_unlock(&closer.lock);
		close(waiting->fd);
		free(waiting);
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
	closer.owner = getpid();
	if (error == 0)
		pthread_detach(thread);
	else
		qoi_log_warn("no thread to close descriptors: %s",
			     strerror(error));
}

void qoi_closer_take(int fd)
{
	struct waiting *waiting;

	/* Shared memory has nothing to wait for. */
	if (fcntl(fd, F_GET_SEALS) >= 0) {
		close(fd);
		return;
	}
	waiting = malloc(sizeof(*waiting));
	if (waiting == NULL)
		return;
	waiting->fd = fd;
	pthread_mutex_lock(&closer.lock);
	if (closer.runs == 0 || closer.owner != getpid())
		closer_start();
	waiting->next = closer.first;
	closer.first = waiting;
	pthread_cond_signal(&closer.more);
	pthread_mutex_unlock(&closer.lock);
}
