/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <qoffload/error.h>

#include "libqoffload/attach/address.h"

#define STRANGER_UID 65534
#define STARTERS 8
#define STARTS 20

static char folder[64];
static char path[QOI_ATTACH_NAME_BYTES];
static char abstract[QOI_ATTACH_NAME_BYTES];

static int make_names(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/qo-address-XXXXXX");
	if (mkdtemp(folder) == NULL)
		return -1;
	snprintf(path, sizeof(path), "%s/door", folder);
	/* The folder's name is nobody else's. */
	snprintf(abstract, sizeof(abstract), "@qo-test%s", folder);
	return 0;
}

/* Also what nothing may be left behind in. */
static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

static void assert_detail_has(const char *text)
{
	if (strstr(qo_error_detail(), text) == NULL)
		print_error("\"%s\" is not in: %s\n", text, qo_error_detail());
	assert_non_null(strstr(qo_error_detail(), text));
}

static void assert_connects(const char *name, struct qoi_attach_door *door)
{
	pid_t pid = -1;
	int fd, accepted;

	assert_int_equal(qoi_attach_connect(name, &fd, &pid), 0);
	assert_int_equal(pid, getpid());
	accepted = accept(door->fd, NULL, NULL);
	assert_true(accepted >= 0);
	close(accepted);
	close(fd);
}

static void assert_nobody(const char *name)
{
	pid_t pid;
	int fd;

	assert_int_equal(qoi_attach_connect(name, &fd, &pid), -ENOENT);
}

static void names_are_made_from_user_and_job(void **state)
{
	char name[QOI_ATTACH_NAME_BYTES];
	char other[QOI_ATTACH_NAME_BYTES];
	char wanted[64];

	(void)state;
	snprintf(wanted, sizeof(wanted), "@qo-agentd.%u", geteuid());
	assert_int_equal(qoi_attach_name("auto", NULL, name), 0);
	assert_string_equal(name, wanted);
	assert_int_equal(qoi_attach_name("auto", "", name), 0);
	assert_string_equal(name, wanted);
	assert_int_equal(qoi_attach_name("auto", "job 1", name), 0);
	assert_int_equal(strncmp(name, wanted, strlen(wanted)), 0);
	assert_int_equal(strlen(name), strlen(wanted) + 17);
	assert_int_equal(qoi_attach_name("auto", "job 2", other), 0);
	assert_string_not_equal(name, other);
	assert_int_equal(qoi_attach_name("auto", "job 1", other), 0);
	assert_string_equal(name, other);
	assert_int_equal(qoi_attach_name("@mine", "job 1", name), 0);
	assert_string_equal(name, "@mine");
}

static void names_that_do_not_fit_are_refused(void **state)
{
	char name[QOI_ATTACH_NAME_BYTES];
	char text[200];

	(void)state;
	assert_int_equal(qoi_attach_name("", NULL, name), -EINVAL);
	assert_int_equal(qoi_attach_name("@", NULL, name), -EINVAL);
	memset(text, 'x', sizeof(text));
	text[106] = '\0';
	assert_int_equal(qoi_attach_name(text, NULL, name), -EINVAL);
	assert_detail_has("105 characters");
	text[105] = '\0';
	assert_int_equal(qoi_attach_name(text, NULL, name), 0);
}

static void listen_and_connect(const char *name)
{
	struct qoi_attach_door door;

	assert_nobody(name);
	assert_int_equal(qoi_attach_listen(name, &door), 0);
	assert_string_equal(door.name, name);
	assert_true((fcntl(door.fd, F_GETFL) & O_NONBLOCK) != 0);
	assert_true((fcntl(door.fd, F_GETFD) & FD_CLOEXEC) != 0);
	assert_connects(name, &door);
	qoi_attach_door_close(&door);
	assert_int_equal(door.fd, -1);
	assert_nobody(name);
	assert_int_equal(qoi_attach_listen(name, &door), 0);
	qoi_attach_door_close(&door);
}

static void a_name_is_listened_at_and_is_free_afterwards(void **state)
{
	(void)state;
	listen_and_connect(abstract);
	listen_and_connect(path);
	assert_int_equal(access(path, F_OK), -1);
}

static void one_daemon_of_a_user_has_a_name(void **state)
{
	const char *names[] = { abstract, path };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct qoi_attach_door door, second;

		assert_int_equal(qoi_attach_listen(names[i], &door), 0);
		assert_int_equal(qoi_attach_listen(names[i], &second), -EBUSY);
		assert_detail_has("listens there already");
		/* It did no harm to the first. */
		while (poll(&(struct pollfd){ .fd = door.fd, .events = POLLIN },
			    1, 0) > 0)
			close(accept(door.fd, NULL, NULL));
		assert_connects(names[i], &door);
		qoi_attach_door_close(&door);
	}
}

static void a_socket_file_is_for_its_user_alone(void **state)
{
	struct qoi_attach_door door;
	mode_t before = umask(0);
	struct stat info;

	(void)state;
	assert_int_equal(qoi_attach_listen(path, &door), 0);
	umask(before);
	assert_int_equal(lstat(path, &info), 0);
	assert_true(S_ISSOCK(info.st_mode));
	assert_int_equal(info.st_mode & 07777, 0600);
	qoi_attach_door_close(&door);
}

/* What a daemon that was killed leaves: a file, and nobody behind it. */
static void leave_dead_socket(const char *at)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	assert_true(fd >= 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", at);
	assert_int_equal(bind(fd, (void *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 1), 0);
	close(fd);
}

static void a_dead_file_is_replaced(void **state)
{
	struct qoi_attach_door door;

	(void)state;
	leave_dead_socket(path);
	assert_nobody(path);
	assert_int_equal(qoi_attach_listen(path, &door), 0);
	assert_string_equal(door.name, path);
	assert_connects(path, &door);
	qoi_attach_door_close(&door);
	assert_int_equal(access(path, F_OK), -1);
}

static void a_file_that_is_no_socket_stays(void **state)
{
	struct qoi_attach_door door;
	int fd = open(path, O_CREAT | O_WRONLY, 0600);

	(void)state;
	close(fd);
	assert_int_equal(qoi_attach_listen(path, &door), -EPERM);
	assert_detail_has("no socket");
	assert_int_equal(unlink(path), 0);
}

static void only_its_own_file_is_removed(void **state)
{
	struct qoi_attach_door door, second;

	(void)state;
	assert_int_equal(qoi_attach_listen(path, &door), 0);
	/* A cleaner took the file, and another daemon came. */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(qoi_attach_listen(path, &second), 0);
	qoi_attach_door_close(&door);
	assert_connects(path, &second);
	qoi_attach_door_close(&second);
	assert_int_equal(access(path, F_OK), -1);
}

static void a_folder_that_is_missing_is_told(void **state)
{
	char name[QOI_ATTACH_NAME_BYTES];
	struct qoi_attach_door door;

	(void)state;
	snprintf(name, sizeof(name), "%s/no/door", folder);
	assert_int_equal(qoi_attach_listen(name, &door), -ENOENT);
	assert_detail_has("folder");
	assert_nobody(name);
}

static void an_adopted_socket_serves_and_its_file_stays(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct qoi_attach_door door;
	int pipes[2];
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	(void)state;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	assert_int_equal(bind(fd, (void *)&address, sizeof(address)), 0);
	/* Not yet listening. */
	assert_int_equal(qoi_attach_adopt(fd, &door), -EINVAL);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(qoi_attach_adopt(fd, &door), 0);
	assert_string_equal(door.name, path);
	assert_true((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
	assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
	assert_connects(path, &door);
	qoi_attach_door_close(&door);
	assert_int_equal(unlink(path), 0);

	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(qoi_attach_adopt(pipes[0], &door), -EINVAL);
	assert_detail_has("ListenSequentialPacket");
	close(pipes[0]);
	close(pipes[1]);
}

static void a_full_door_is_told_apart(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t length = strlen(abstract);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	int held[8];
	int count = 0, rc = 0;
	pid_t pid;

	(void)state;
	memcpy(address.sun_path + 1, abstract + 1, length - 1);
	assert_int_equal(bind(fd, (void *)&address,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
					  length)),
			 0);
	assert_int_equal(listen(fd, 1), 0);
	while (count < 8 && rc == 0) {
		rc = qoi_attach_connect(abstract, &held[count], &pid);
		count += rc == 0;
	}
	assert_int_equal(rc, -EAGAIN);
	while (count > 0)
		close(held[--count]);
	close(fd);
}

/* In a child: listens, tells its number, and stays until it is killed. */
static void child_listens(const char *name, int tell)
{
	struct qoi_attach_door door;
	int rc = qoi_attach_listen(name, &door);
	char said = (char)-rc;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (write(tell, &said, 1) != 1 || rc != 0)
		_exit(1);
	for (;;)
		pause();
}

/*
 * Many start at once where a dead file lies: one of them gets it, the others
 * are told that it is there; and again when it was killed.
 */
static void of_many_that_start_at_once_one_listens(void **state)
{
	(void)state;
	leave_dead_socket(path);
	for (uint32_t start = 0; start < STARTS; start++) {
		const char *name = start % 4 == 3 ? abstract : path;
		pid_t children[STARTERS];
		int ends[2], listening = 0;

		assert_int_equal(pipe(ends), 0);
		for (uint32_t i = 0; i < STARTERS; i++) {
			children[i] = fork();
			assert_true(children[i] >= 0);
			if (children[i] == 0)
				child_listens(name, ends[1]);
		}
		for (uint32_t i = 0; i < STARTERS; i++) {
			char said = 0;

			assert_int_equal(read(ends[0], &said, 1), 1);
			assert_true(said == 0 || said == EBUSY);
			listening += said == 0;
		}
		assert_int_equal(listening, 1);
		for (uint32_t i = 0; i < STARTERS; i++) {
			kill(children[i], SIGKILL);
			waitpid(children[i], NULL, 0);
		}
		close(ends[0]);
		close(ends[1]);
	}
	assert_int_equal(unlink(path), 0);
}

/* A child of another user at a name, until it is told to go; its pid. */
static pid_t start_stranger(const char *name, uint32_t count, int *go_out)
{
	int ready[2], go[2];
	pid_t child;
	char said = 0;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(go), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct qoi_attach_door doors[QOI_ATTACH_SUFFIXES + 1];
		char numbered[QOI_ATTACH_NAME_BYTES];

		close(go[1]);
		if (setgid(STRANGER_UID) != 0 || setuid(STRANGER_UID) != 0)
			_exit(1);
		for (uint32_t i = 0; i < count; i++) {
			qoi_attach_name_number(name, i, numbered);
			if (qoi_attach_listen(numbered, &doors[i]) != 0)
				_exit(1);
		}
		if (write(ready[1], &said, 1) != 1)
			_exit(1);
		/* The other end closes when the test ends, however it does. */
		_exit(read(go[0], &said, 1) == 0 ? 0 : 1);
	}
	close(go[0]);
	close(ready[1]);
	assert_int_equal(read(ready[0], &said, 1), 1);
	close(ready[0]);
	*go_out = go[1];
	return child;
}

static void end_stranger(pid_t child, int go)
{
	int status = -1;

	close(go);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void need_root(void)
{
	if (geteuid() == 0)
		return;
	print_message("a second user takes root\n");
	skip();
}

static void a_strangers_name_is_passed_over(void **state)
{
	char second[QOI_ATTACH_NAME_BYTES + 2];
	struct qoi_attach_door door;
	pid_t pid, child;
	int fd, go;

	(void)state;
	need_root();
	child = start_stranger(abstract, 1, &go);
	assert_int_equal(qoi_attach_connect(abstract, &fd, &pid), -EPERM);
	assert_detail_has("another user");
	assert_int_equal(qoi_attach_listen(abstract, &door), 0);
	snprintf(second, sizeof(second), "%s.1", abstract);
	assert_string_equal(door.name, second);
	assert_connects(abstract, &door);
	end_stranger(child, go);
	/* The stranger is gone: ours is found where it is, and has no twin. */
	assert_connects(abstract, &door);
	assert_int_equal(qoi_attach_listen(abstract, &door), -EBUSY);
	qoi_attach_door_close(&door);
}

static void strangers_at_all_names_are_told(void **state)
{
	struct qoi_attach_door door;
	pid_t child;
	int go;

	(void)state;
	need_root();
	child = start_stranger(abstract, QOI_ATTACH_SUFFIXES + 1, &go);
	assert_int_equal(qoi_attach_listen(abstract, &door), -EPERM);
	assert_detail_has("the 7 names after it");
	end_stranger(child, go);
}

static void a_strangers_file_is_neither_used_nor_removed(void **state)
{
	char second[QOI_ATTACH_NAME_BYTES + 2];
	struct qoi_attach_door door;
	pid_t pid, child;
	int fd, go;

	(void)state;
	need_root();
	assert_int_equal(chmod(folder, 01777), 0);
	child = start_stranger(path, 1, &go);
	assert_int_equal(qoi_attach_connect(path, &fd, &pid), -EPERM);
	assert_int_equal(qoi_attach_listen(path, &door), 0);
	snprintf(second, sizeof(second), "%s.1", path);
	assert_string_equal(door.name, second);
	assert_connects(path, &door);
	qoi_attach_door_close(&door);
	/* Also when it is dead: root could, but it is not ours. */
	end_stranger(child, go);
	assert_int_equal(qoi_attach_listen(path, &door), 0);
	assert_string_equal(door.name, second);
	qoi_attach_door_close(&door);
	assert_int_equal(unlink(path), 0);
}

int main(void)
{
#define WITH_NAMES(test)                                                       \
	cmocka_unit_test_setup_teardown(test, make_names, remove_folder)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_made_from_user_and_job),
		cmocka_unit_test(names_that_do_not_fit_are_refused),
		WITH_NAMES(a_name_is_listened_at_and_is_free_afterwards),
		WITH_NAMES(one_daemon_of_a_user_has_a_name),
		WITH_NAMES(a_socket_file_is_for_its_user_alone),
		WITH_NAMES(a_dead_file_is_replaced),
		WITH_NAMES(a_file_that_is_no_socket_stays),
		WITH_NAMES(only_its_own_file_is_removed),
		WITH_NAMES(a_folder_that_is_missing_is_told),
		WITH_NAMES(an_adopted_socket_serves_and_its_file_stays),
		WITH_NAMES(a_full_door_is_told_apart),
		WITH_NAMES(of_many_that_start_at_once_one_listens),
		WITH_NAMES(a_strangers_name_is_passed_over),
		WITH_NAMES(strangers_at_all_names_are_told),
		WITH_NAMES(a_strangers_file_is_neither_used_nor_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
