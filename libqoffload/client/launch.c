/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "libqoffload/client/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libqoffload/base/error.h"
#include "libqoffload/base/log.h"

/* Where close_range() is missing: as many as may be open. */
#define DESCRIPTORS_MAX 65536
/* How long to wait for the news that the program runs, or why not. */
#define OUTCOME_MS 1000

/* What the new process needs, all of it made before. */
struct launch {
	char *const *argv;
	char **environment;
	int pipe[2]; /* tells why it could not be run */
	int null_fd; /* what it gets for 0, 1 and 2 */
	rlim_t fd_limit;
	int stays; /* 1: in the folder of this process */
};

/*
 * As fork(), but the parent gets no signal when it ends, and whoever waits for
 * just any child does not see it.  No handlers of fork run: see the rules.
 */
static pid_t clone_quietly(void)
{
	return (pid_t)syscall(SYS_clone, 0UL, NULL, NULL, NULL, NULL);
}

/* From here on, only what may be called in a signal handler. */

static void signals_reset(void)
{
	struct sigaction plain = { .sa_handler = SIG_DFL };
	sigset_t none;

	/* An ignored one would be ignored by the program too. */
	for (int i = 1; i < NSIG; i++)
		sigaction(i, &plain, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void descriptors_close(const struct launch *launch)
{
	int keep = launch->pipe[1];

	for (int i = 0; i < 3; i++)
		dup2(launch->null_fd, i);
	if (keep > 3)
		syscall(SYS_close_range, 3U, (unsigned)keep - 1, 0U);
	if (syscall(SYS_close_range, (unsigned)keep + 1, ~0U, 0U) == 0)
		return;
	for (int fd = 3; fd < (int)launch->fd_limit; fd++) {
		if (fd != keep)
			close(fd);
	}
}

static void tell(const struct launch *launch, int error)
{
	/* Who would hear it reads the end of the pipe instead. */
	if (write(launch->pipe[1], &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

static void run(const struct launch *launch)
{
	pid_t pid;

	setsid();
	/* Nobody's child: whoever adopts orphans waits for it. */
	pid = clone_quietly();
	if (pid < 0)
		tell(launch, errno);
	if (pid != 0)
		_exit(0);
	signals_reset();
	descriptors_close(launch);
	/* A folder that it stands in can't be taken away; a name may need it. */
	if (launch->stays || chdir("/") == 0)
		execve(launch->argv[0], launch->argv, launch->environment);
	tell(launch, errno);
}

/* Until here. */

static int start(struct launch *launch)
{
	sigset_t all, before;
	pid_t pid;
	int error;

	/* No handler of the application may run over there. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = clone_quietly();
	error = errno;
	if (pid == 0)
		run(launch);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (pid < 0) {
		errno = error;
		return qoi_fail(-EAGAIN, "no process for the agent: %m");
	}
	while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		continue;
	return 0;
}

/*
 * 0 when it runs, else why not.  Another child of the application may hold the
 * pipe open for long: then whether it runs will show when we connect.
 */
static int outcome(struct launch *launch)
{
	struct pollfd news = { .fd = launch->pipe[0], .events = POLLIN };
	int error = 0;

	close(launch->pipe[1]);
	launch->pipe[1] = -1;
	if (poll(&news, 1, OUTCOME_MS) <= 0 ||
	    read(news.fd, &error, sizeof(error)) != (ssize_t)sizeof(error))
		return 0;
	errno = error;
	return qoi_fail(qoi_error_from_errno(error),
			"the agent %s can't be run: %m", launch->argv[0]);
}

/* Out of the way of 0, 1 and 2, which the application may have closed. */
static int descriptor_raise(int fd)
{
	int raised;

	if (fd < 0 || fd > 2)
		return fd;
	raised = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	close(fd);
	return raised;
}

static int descriptors_open(struct launch *launch)
{
	launch->null_fd =
		descriptor_raise(open("/dev/null", O_RDWR | O_CLOEXEC));
	if (launch->null_fd < 0)
		return qoi_fail(-ENOMEM, "open /dev/null: %m");
	if (pipe2(launch->pipe, O_CLOEXEC) != 0) {
		close(launch->null_fd);
		return qoi_fail(-ENOMEM, "pipe2: %m; see `ulimit -n`");
	}
	launch->pipe[1] = descriptor_raise(launch->pipe[1]);
	if (launch->pipe[1] >= 0)
		return 0;
	close(launch->pipe[0]);
	close(launch->null_fd);
	return qoi_fail(-ENOMEM, "fcntl: %m; see `ulimit -n`");
}

static rlim_t descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
	    limit.rlim_cur > DESCRIPTORS_MAX)
		return DESCRIPTORS_MAX;
	return limit.rlim_cur;
}

int qoi_launch_agent(const struct qoi_config *config, const char *name)
{
	char path[QOI_CONFIG_PATH_BYTES];
	char *const argv[] = { path, (char *)"--private", (char *)"--socket",
			       (char *)(uintptr_t)name, NULL };
	struct launch launch = {
		.argv = argv,
		.environment = qoi_config_environment(),
		.fd_limit = descriptor_limit(),
		/* A relative path is one from here. */
		.stays = name[0] != '@' && name[0] != '/',
	};
	int error = qoi_config_program(config, path);

	if (error != 0)
		return error;
	error = descriptors_open(&launch);
	if (error != 0)
		return error;
	error = start(&launch);
	if (error == 0)
		error = outcome(&launch);
	if (error == 0)
		qoi_log_info("agent: started %s at %s", path, name);
	close(launch.pipe[0]);
	if (launch.pipe[1] >= 0)
		close(launch.pipe[1]);
	close(launch.null_fd);
	return error;
}
