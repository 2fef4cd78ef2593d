/* SPDX-License-Identifier: BSD-3-Clause */
/* qo_agentd: the agent of a node as a process of its own. */
#define _GNU_SOURCE
#include <config.h>

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#ifdef HAVE_SYSTEMD
#include <systemd/sd-daemon.h>
#endif

#include <qoffload/context.h>

#include "libqoffload/base/config.h"
#include "libqoffload/base/error.h"
#include "libqoffload/daemon/daemon.h"

#define EXIT_BAD_INPUT 2
#define KEY_PRIVATE 256
#define KEY_DRAIN 257
#define KEY_NO_CROSS 258

#define NS_PER_S UINT64_C(1000000000)
/*
 * A private daemon leaves then, whose starter died before it connected, or
 * that was so slow to start that its job has come and gone.
 */
#define GRACE_NS (10 * NS_PER_S)
#define DRAIN_S_DEFAULT 10
#define DRAIN_S_MAX 86400
#define JOBS_MAX 65536

#define SETTINGS_MAX 4
#define SETTING_CHARS 255

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

const char *argp_program_version = "qo_agentd (libqoffload) " TEXT(
	QO_VERSION_MAJOR) "." TEXT(QO_VERSION_MINOR) "." TEXT(QO_VERSION_PATCH);

struct options {
	/* What the command line sets of the configuration; ends with NULL. */
	const char *settings[SETTINGS_MAX + 1];
	char texts[SETTINGS_MAX][SETTING_CHARS + 1];
	uint32_t setting_count;
	uint32_t jobs_max;
	uint32_t drain_s;
	int private;
	int no_cross;
};

static const struct argp_option argp_options[] = {
	{ "socket", 's', "NAME", 0,
	  "Listen at NAME: a path, or @ and an abstract name (default: "
	  "QO_AGENT_SOCKET, else @qo-agentd.UID)",
	  0 },
	{ "cpu", 'c', "LIST", 0,
	  "Run on a cpu of LIST, such as 3 or 0,2-4; auto: a free core; none: "
	  "anywhere (default: QO_AGENT_CPU)",
	  0 },
	{ "idle", 'i', "STRATEGY", 0,
	  "What to do without work: adaptive, spin, yield or block (default: "
	  "QO_AGENT_IDLE)",
	  0 },
	{ "jobs", 'j', "N", 0,
	  "Serve at most N jobs at once (default: 0, any number)", 0 },
	{ "drain", KEY_DRAIN, "SECONDS", 0,
	  "After SIGTERM, give requests this long to end (default: " TEXT(
		  DRAIN_S_DEFAULT) ")",
	  0 },
	{ "no-cross", KEY_NO_CROSS, NULL, 0,
	  "Never copy from or to a client's memory: what is not of "
	  "qo_mem_alloc() is staged",
	  0 },
	{ "private", KEY_PRIVATE, NULL, 0,
	  "Leave with the last client: what QO_AGENT=process starts when no "
	  "daemon runs",
	  0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static uint32_t parse_number(struct argp_state *state, const char *option,
			     const char *text, unsigned long max)
{
	char *end;
	unsigned long number;

	errno = 0;
	number = strtoul(text, &end, 10);
	if (errno != 0 || text[0] < '0' || text[0] > '9' || *end != '\0' ||
	    number > max)
		argp_error(state, "--%s=%s: want a number from 0 to %lu",
			   option, text, max);
	return (uint32_t)number;
}

static void add_setting(struct argp_state *state, const char *name,
			const char *value)
{
	struct options *options = state->input;
	uint32_t i = options->setting_count;

	if (i == SETTINGS_MAX)
		argp_error(state, "an option was given too often");
	if (snprintf(options->texts[i], sizeof(options->texts[i]), "%s=%s",
		     name, value) > SETTING_CHARS)
		argp_error(state, "%.32s...: too long", value);
	options->settings[i] = options->texts[i];
	options->setting_count++;
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 's':
		add_setting(state, "QO_AGENT_SOCKET", text);
		return 0;
	case 'c':
		add_setting(state, "QO_AGENT_CPU", text);
		return 0;
	case 'i':
		add_setting(state, "QO_AGENT_IDLE", text);
		return 0;
	case 'j':
		options->jobs_max = parse_number(state, "jobs", text, JOBS_MAX);
		return 0;
	case KEY_DRAIN:
		options->drain_s =
			parse_number(state, "drain", text, DRAIN_S_MAX);
		return 0;
	case KEY_NO_CROSS:
		options->no_cross = 1;
		return 0;
	case KEY_PRIVATE:
		options->private = 1;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument: %s", text);
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Sockets must not get the numbers of what the starter had closed. */
static void fill_standard_fds(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
}

/*
 * A launcher binds its ranks, and a rank that starts a daemon would hand its
 * one core down.  The kernel cuts this to what the cgroup allows.
 */
static void undo_affinity(void)
{
	cpu_set_t all;

	memset(&all, 0xff, sizeof(all));
	(void)sched_setaffinity(0, sizeof(all), &all);
}

/* Signals that end it, as a descriptor; what was inherited is undone. */
static int open_signals(int *fd_out)
{
	sigset_t stops;
	int fd;

	sigemptyset(&stops);
	sigaddset(&stops, SIGTERM);
	sigaddset(&stops, SIGINT);
	/* An ignored signal would never arrive. */
	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	if (sigprocmask(SIG_SETMASK, &stops, NULL) != 0)
		return qoi_fail(-EIO, "sigprocmask: %m");
	fd = signalfd(-1, &stops, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return qoi_fail(-ENOMEM, "signalfd: %m (see ulimit -n)");
	*fd_out = fd;
	return 0;
}

#ifdef HAVE_SYSTEMD
/* The socket that systemd listens at for us, or -1 without. */
static int find_inherited(int *fd_out)
{
	int count = sd_listen_fds(1);

	if (count > 1)
		return qoi_fail(-EINVAL,
				"socket activation gave %d sockets, not one",
				count);
	*fd_out = count == 1 ? SD_LISTEN_FDS_START : -1;
	return 0;
}

static void notify(const char *state)
{
	(void)sd_notify(0, state);
}
#else
static int find_inherited(int *fd_out)
{
	*fd_out = -1;
	return 0;
}

static void notify(const char *state)
{
	(void)state;
}
#endif

static void say_ready(const struct qoi_daemon *daemon)
{
	/* Scripts wait for this line. */
	printf("qo_agentd: listening at %s\n", daemon->door.name);
	(void)fflush(stdout);
	notify("READY=1");
}

static int serve(const struct options *options, const struct qoi_config *config)
{
	char name[QOI_ATTACH_NAME_BYTES];
	struct qoi_daemon_params params = {
		.name = name,
		.listen_fd = -1,
		.cpu = config->agent_cpu,
		.idle = config->agent_idle,
		.spin_ns = config->agent_spin_ns,
		.yield_ns = config->agent_yield_ns,
		.jobs_max = options->jobs_max,
		.private = options->private,
		.no_cross = options->no_cross,
		.grace_ns = GRACE_NS,
		.drain_ns = options->drain_s * NS_PER_S,
	};
	struct qoi_daemon *daemon;
	int stop_fd = -1;
	int code = qoi_attach_name(config->agent_socket, NULL, name);

	if (code == 0)
		code = find_inherited(&params.listen_fd);
	if (code == 0)
		code = open_signals(&stop_fd);
	if (code != 0)
		return code;
	code = qoi_daemon_open(&params, &daemon);
	if (code == 0) {
		say_ready(daemon);
		qoi_daemon_run(daemon, stop_fd);
		notify("STOPPING=1");
		qoi_daemon_close(daemon);
	}
	close(stop_fd);
	return code;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = argp_options,
		.parser = parse_option,
		.doc = "Carry out the operations of libqoffload for all ranks "
		       "of this user on this node.\v"
		       "It stays in the foreground, and says \"listening at\" "
		       "on standard output once programs can attach; they do "
		       "with QO_AGENT=auto or process. SIGTERM and SIGINT end "
		       "it: it takes nobody more, lets what is under way end, "
		       "and exits. qo_info -s shows what it does. Status: 0, "
		       "1 failure, 2 bad options or a bad QO_* variable.",
	};
	struct options options = { .drain_s = DRAIN_S_DEFAULT };
	struct qoi_config config;
	int code;

	fill_standard_fds();
	argp_err_exit_status = EXIT_BAD_INPUT;
	argp_parse(&argp, argc, argv, 0, NULL, &options);
	undo_affinity();
	code = qoi_config_init(&config, options.settings);
	if (code != 0)
		return code == -EINVAL ? EXIT_BAD_INPUT : EXIT_FAILURE;
	code = serve(&options, &config);
	qoi_config_fini(&config);
	if (code == -EINVAL)
		return EXIT_BAD_INPUT;
	return code == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
