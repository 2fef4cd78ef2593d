/* SPDX-License-Identifier: BSD-3-Clause */
/* Over a tree of files as /proc and /sys/fs/cgroup would show them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libqoffload/shm/room.h"

static char top[64];

static const char *at(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", top, name);
	return path;
}

static void put(const char *name, const char *text)
{
	FILE *file = fopen(at(name), "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static int make_tree(void **state)
{
	static const char *const folders[] = {
		"proc",	     "proc/self",     "cg", "cg/a", "cg/a/b",
		"cg/memory", "cg/memory/job",
	};
	size_t i;

	(void)state;
	snprintf(top, sizeof(top), "%s", "/tmp/qo_room_XXXXXX");
	if (mkdtemp(top) == NULL)
		return -1;
	for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (mkdir(at(folders[i]), 0700) != 0)
			return -1;
	return 0;
}

static int remove_tree(void **state)
{
	char command[PATH_MAX];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", top);
	return system(command) == 0 ? 0 : -1;
}

static struct qoi_room find(void)
{
	struct qoi_room room;
	char proc[PATH_MAX], cgroup[PATH_MAX];

	snprintf(proc, sizeof(proc), "%s/proc", top);
	snprintf(cgroup, sizeof(cgroup), "%s/cg", top);
	qoi_room_find(proc, cgroup, &room);
	return room;
}

static void what_cannot_be_read_does_not_bound(void **state)
{
	(void)state;
	assert_true(find().available_bytes == UINT64_MAX);
	put("proc/meminfo", "rubbish\nMemAvailable: many kB\n");
	put("proc/self/cgroup", "rubbish\n0\n::\n");
	assert_true(find().available_bytes == UINT64_MAX);
}

static void the_memory_of_the_machine_bounds(void **state)
{
	(void)state;
	put("proc/meminfo", "MemTotal:  9000 kB\nMemAvailable:  1000 kB\n");
	assert_int_equal(find().available_bytes, 1024000);
	assert_non_null(strstr(find().limit, "machine"));
}

static void the_tightest_cgroup_above_us_bounds(void **state)
{
	struct qoi_room room;

	(void)state;
	put("proc/meminfo", "MemAvailable:  1000 kB\n");
	put("proc/self/cgroup", "4:memory:/elsewhere\n0::/a/b\n");
	put("cg/a/b/memory.max", "max\n");
	put("cg/a/b/memory.current", "5000\n");
	assert_int_equal(find().available_bytes, 1024000);
	put("cg/a/memory.max", "100000\n");
	put("cg/a/memory.current", "60000\n");
	room = find();
	assert_int_equal(room.available_bytes, 40000);
	assert_string_equal(room.limit,
			    "memory limit of cgroup /a; raise memory.max");
	/* Cache that the kernel would give back counts as free. */
	put("cg/a/memory.stat", "anon 1\ninactive_file 10000\n");
	assert_int_equal(find().available_bytes, 50000);
	put("cg/a/b/memory.max", "4000\n");
	assert_int_equal(find().available_bytes, 0);
}

static void a_cgroup_of_version_1_bounds(void **state)
{
	struct qoi_room room;

	(void)state;
	put("proc/self/cgroup", "9:cpu:/\n4:hugetlb,memory:/job\n0::/\n");
	put("cg/memory/job/memory.limit_in_bytes", "9223372036854771712\n");
	put("cg/memory/job/memory.usage_in_bytes", "4096\n");
	assert_true(find().available_bytes == 9223372036854771712u - 4096);
	put("cg/memory/job/memory.limit_in_bytes", "16384\n");
	room = find();
	assert_int_equal(room.available_bytes, 12288);
	assert_string_equal(
		room.limit,
		"memory limit of cgroup /job; raise memory.limit_in_bytes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_cannot_be_read_does_not_bound,
						make_tree, remove_tree),
		cmocka_unit_test_setup_teardown(the_memory_of_the_machine_bounds,
						make_tree, remove_tree),
		cmocka_unit_test_setup_teardown(
			the_tightest_cgroup_above_us_bounds, make_tree,
			remove_tree),
		cmocka_unit_test_setup_teardown(a_cgroup_of_version_1_bounds,
						make_tree, remove_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
