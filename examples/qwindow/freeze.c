/* SPDX-License-Identifier: BSD-3-Clause */
#include "examples/qwindow/freeze.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "examples/qwindow/clock.h"

#define STOP_LOOKS_MOST 20000
#define STOP_LOOK_NS 50000 /* from one to the next */
#define PATHS_BYTES 8192   /* of all threads; those beyond are not looked at */

/* What the helper tells when its rank goes on. */
struct account {
	int64_t begin_ns; /* 0: it was never seen to stand still */
	int64_t end_ns;
};

/*
 * Files that tell the state of each thread of this process, one after the
 * other, each with its zero.  They take different times to stop, each until
 * its core hears of it.  Returns the bytes used, 0: there are none to see.
 */
static size_t name_threads(char paths[PATHS_BYTES])
{
	DIR *folder = opendir("/proc/self/task");
	const struct dirent *entry;
	size_t used = 0;

	if (folder == NULL)
		return 0;
	while ((entry = readdir(folder)) != NULL) {
		size_t room = PATHS_BYTES - used;
		int length;

		if (entry->d_name[0] == '.')
			continue;
		length = snprintf(paths + used, room, "/proc/%d/task/%s/stat",
				  (int)getpid(), entry->d_name);
		if (length < 0 || (size_t)length >= room)
			break;
		used += (size_t)length + 1;
	}
	closedir(folder);
	return used;
}

/*
 * The state of a thread is the letter behind its name, which is in brackets
 * and may have any other bracket inside.
 */
static int is_still(const char *stat_path)
{
	char text[256];
	const char *bracket;
	int fd = open(stat_path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return errno == ENOENT; /* it has ended */
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (got <= 0)
		return 0;
	text[got] = '\0';
	bracket = strrchr(text, ')');
	return bracket != NULL && strncmp(bracket, ") T", 3) == 0;
}

static int await_stop(const char *paths, size_t bytes)
{
	struct timespec pause = { .tv_nsec = STOP_LOOK_NS };
	size_t at = 0;

	for (int look = 0; look < STOP_LOOKS_MOST && at < bytes;) {
		if (is_still(paths + at)) {
			at += strlen(paths + at) + 1;
		} else {
			pselect(0, NULL, NULL, NULL, &pause, NULL);
			look++;
		}
	}
	return at >= bytes;
}

/* A number may be another process's once the rank is gone. */
static void signal_rank(pid_t rank, int signal_number)
{
	if (getppid() == rank)
		kill(rank, signal_number);
}

/*
 * The helper.  Other threads of the rank may have held any lock at the fork:
 * only async-signal-safe calls.
 */
static void help(int socket, pid_t rank, int wait_ms)
{
	struct pollfd gone = { .fd = socket };
	struct account account = { 0 };
	char paths[PATHS_BYTES];
	ssize_t bytes = read(socket, paths, sizeof(paths));

	/* The rank may end before it comes to its window. */
	if (bytes <= 0)
		_exit(0);
	signal_rank(rank, SIGSTOP);
	if (await_stop(paths, (size_t)bytes)) {
		account.begin_ns = clock_now_ns();
		/* No event is asked for: it ends early only if the rank dies. */
		poll(&gone, 1, wait_ms);
		account.end_ns = clock_now_ns();
	}
	signal_rank(rank, SIGCONT);
	send(socket, &account, sizeof(account), MSG_NOSIGNAL);
	_exit(0);
}

int freeze_open(struct freeze *freeze)
{
	pid_t rank = getpid();
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return -errno;
	freeze->helper = fork();
	if (freeze->helper == 0) {
		close(ends[0]);
		help(ends[1], rank, (int)(freeze->duration_ns / 1000000));
	}
	close(ends[1]);
	if (freeze->helper < 0) {
		close(ends[0]);
		return -EAGAIN;
	}
	freeze->socket = ends[0];
	return 0;
}

/* The stop may interrupt it. */
static ssize_t read_again(int socket, void *data, size_t bytes)
{
	ssize_t got;

	do
		got = read(socket, data, bytes);
	while (got < 0 && errno == EINTR);
	return got;
}

int freeze_now(struct freeze *freeze)
{
	struct account account;
	char paths[PATHS_BYTES];
	size_t bytes = name_threads(paths);

	if (bytes == 0 ||
	    send(freeze->socket, paths, bytes, MSG_NOSIGNAL) != (ssize_t)bytes ||
	    read_again(freeze->socket, &account, sizeof(account)) !=
		    (ssize_t)sizeof(account) ||
	    account.begin_ns == 0)
		return -EIO;
	freeze->begin_ns = account.begin_ns;
	freeze->end_ns = account.end_ns;
	return 0;
}

void freeze_close(struct freeze *freeze)
{
	if (freeze->helper <= 0)
		return;
	/* The helper sees that, if it still waits. */
	close(freeze->socket);
	while (waitpid(freeze->helper, NULL, 0) < 0 && errno == EINTR)
		;
	freeze->helper = 0;
}
