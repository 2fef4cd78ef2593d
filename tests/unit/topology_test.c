/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Placement is tried on machines described to hwloc. The affinity calls of the
 * C library are replaced, for this program and the libraries that it links, by
 * those of a kernel with 2048 cpus where a test asks for that.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libqoffload/base/error.h"
#include "libqoffload/base/topology.h"
#include "tests/unit/capture.h"

#define BIG_CPUS 2048
#define BIG_BYTES (BIG_CPUS / 8)

/* Two packages; in each two L3 of two cores with two threads: 16 cpus. */
#define TWO_PACKAGES "pack:2 l3:2 core:2 pu:2"

static struct capture capture;
static int big_kernel;
static int big_pattern;
static int big_bound_cpu;
static int big_bound_count;

int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *mask)
{
	if (big_kernel == 0) {
		long got = syscall(SYS_sched_getaffinity, pid, bytes, mask);

		if (got < 0)
			return -1;
		memset((char *)mask + got, 0, bytes - (size_t)got);
		return 0;
	}
	if (bytes < BIG_BYTES) {
		errno = EINVAL;
		return -1;
	}
	memset(mask, 0, bytes);
	memset(mask, big_pattern, BIG_BYTES);
	return 0;
}

int sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t *mask)
{
	if (big_kernel == 0)
		return (int)syscall(SYS_sched_setaffinity, pid, bytes, mask);
	big_bound_count = 0;
	for (int cpu = 0; cpu < (int)bytes * 8; cpu++) {
		if (CPU_ISSET_S((size_t)cpu, bytes, mask) != 0) {
			big_bound_cpu = cpu;
			big_bound_count++;
		}
	}
	return 0;
}

static int restore(void **state)
{
	(void)state;
	big_kernel = 0;
	big_pattern = 0xff;
	unsetenv("HWLOC_SYNTHETIC");
	unsetenv("HWLOC_THISSYSTEM");
	return 0;
}

static struct qoi_topology *described(const char *text)
{
	struct qoi_topology *topology = NULL;

	setenv("HWLOC_SYNTHETIC", text, 1);
	assert_int_equal(qoi_topology_create(&topology), 0);
	return topology;
}

static struct qoi_placement pick(const char *machine, const char *wanted,
				 int rank_cpu)
{
	struct qoi_topology *topology = described(machine);
	struct qoi_placement placement;

	capture_start(&capture);
	assert_int_equal(qoi_topology_pick_agent_cpu(topology, wanted, rank_cpu,
						     &placement),
			 0);
	capture_stop(&capture);
	qoi_topology_destroy(topology);
	return placement;
}

static void the_agent_shares_the_cache_but_not_the_core(void **state)
{
	struct qoi_placement placement = pick(TWO_PACKAGES, "auto", 0);

	(void)state;
	assert_int_equal(placement.cpu, 2);
	assert_int_equal(placement.rank_cpu, 0);
	assert_int_equal(placement.shares_rank_core, 0);
	assert_int_equal(placement.shares_rank_cache, 1);
	assert_string_equal(placement.allowed, "0-15");
	/* Also from the last core of the cache, and from a second thread. */
	assert_int_equal(pick(TWO_PACKAGES, "auto", 3).cpu, 0);
	assert_int_equal(pick(TWO_PACKAGES, "auto", 13).cpu, 14);
}

static void ranks_side_by_side_get_different_agent_cpus(void **state)
{
	int taken[8] = { 0 };

	(void)state;
	for (int rank_cpu = 0; rank_cpu < 8; rank_cpu++) {
		int cpu = pick("l3:1 core:8 pu:1", "auto", rank_cpu).cpu;

		assert_in_range(cpu, 0, 7);
		assert_int_equal(taken[cpu], 0);
		taken[cpu] = 1;
	}
}

static void
without_a_free_core_in_the_cache_the_nearest_one_is_taken(void **state)
{
	/* One core per L3: the other one of the package, not cpu 4. */
	struct qoi_placement placement =
		pick("pack:2 l3:2 core:1 pu:2", "auto", 2);

	(void)state;
	assert_int_equal(placement.cpu, 0);
	assert_int_equal(placement.shares_rank_cache, 0);
	assert_non_null(strstr(placement.reason, "another cache"));
}

static void with_one_core_the_other_thread_is_taken_and_said(void **state)
{
	struct qoi_placement placement = pick("core:1 pu:2", "auto", 0);

	(void)state;
	assert_int_equal(placement.cpu, 1);
	assert_int_equal(placement.shares_rank_core, 1);
}

static void with_one_cpu_the_agent_shares_it_and_that_is_said(void **state)
{
	struct qoi_placement placement = pick("pu:1", "auto", 0);

	(void)state;
	assert_int_equal(placement.cpu, 0);
	assert_int_equal(placement.shares_rank_core, 1);
	assert_string_equal(placement.reason, "nearest: the rank's own cpu");
}

static void an_unknown_rank_cpu_gets_the_first_allowed_one(void **state)
{
	(void)state;
	assert_int_equal(pick(TWO_PACKAGES, "auto", -1).cpu, 0);
	assert_int_equal(pick(TWO_PACKAGES, "auto", 999).cpu, 0);
}

static void a_wanted_cpu_is_taken_even_if_it_is_the_ranks(void **state)
{
	struct qoi_placement placement = pick(TWO_PACKAGES, "5", 5);

	(void)state;
	assert_int_equal(placement.cpu, 5);
	assert_int_equal(placement.outside, 0);
	assert_int_equal(placement.shares_rank_core, 1);
	assert_string_equal(placement.reason, "as asked: the rank's own cpu");
	/* Of a list, the nearest; what of it isn't allowed doesn't matter. */
	assert_int_equal(pick(TWO_PACKAGES, "7-9,200", 10).cpu, 8);
	assert_string_equal(capture.text, "");
}

/* Field case A4, part 2. */
static void a_wanted_cpu_outside_warns_and_gives_an_allowed_one(void **state)
{
	struct qoi_placement placement = pick(TWO_PACKAGES, "40", 0);

	(void)state;
	assert_int_equal(placement.cpu, 2);
	assert_int_equal(placement.outside, 1);
	assert_string_equal(capture.text,
			    "qo: warn agent cpu 40 is outside of the allowed "
			    "set 0-15; taking cpu 2\n");
}

/* Field case A4, part 3. */
static void do_not_pin_is_obeyed(void **state)
{
	struct qoi_placement placement = pick(TWO_PACKAGES, "none", 0);

	(void)state;
	assert_int_equal(placement.cpu, -1);
	assert_int_equal(placement.shares_rank_core, 0);
}

static void what_is_not_a_cpu_list_is_refused(void **state)
{
	struct qoi_topology *topology = described("pu:2");
	struct qoi_placement placement = { .cpu = 77 };

	(void)state;
	capture_start(&capture);
	assert_int_equal(qoi_topology_pick_agent_cpu(topology, "zero", 0,
						     &placement),
			 -EINVAL);
	capture_stop(&capture);
	assert_int_equal(placement.cpu, 77);
	qoi_topology_destroy(topology);
}

static void a_long_allowed_list_is_cut_with_dots(void **state)
{
	struct qoi_topology *topology;
	struct qoi_placement placement;

	(void)state;
	/* Every second cpu, so that nothing folds into a range. */
	big_kernel = 1;
	big_pattern = 0x55;
	setenv("HWLOC_THISSYSTEM", "1", 1);
	topology = described("pu:2048");
	assert_int_equal(qoi_topology_allowed_count(topology), BIG_CPUS / 2);
	assert_int_equal(
		qoi_topology_pick_agent_cpu(topology, "none", 0, &placement), 0);
	assert_int_equal(strlen(placement.allowed), QOI_TOPOLOGY_TEXT_BYTES - 1);
	assert_memory_equal(placement.allowed, "0,2,4,6,", 8);
	assert_string_equal(placement.allowed + QOI_TOPOLOGY_TEXT_BYTES - 4,
			    "...");
	qoi_topology_destroy(topology);
}

static void a_machine_is_counted(void **state)
{
	struct qoi_topology *topology = described(TWO_PACKAGES);
	struct qoi_topology_counts counts;

	(void)state;
	qoi_topology_count(topology, &counts);
	assert_int_equal(counts.packages, 2);
	assert_int_equal(counts.caches, 4);
	assert_int_equal(counts.cores, 8);
	assert_int_equal(counts.cpus, 16);
	qoi_topology_destroy(topology);
}

static void binding_on_a_described_machine_is_refused_and_harmless(void **state)
{
	struct qoi_topology *topology = described(TWO_PACKAGES);

	(void)state;
	assert_int_equal(qoi_topology_is_real(topology), 0);
	assert_int_equal(qoi_topology_bind_thread(topology, 3), -EOPNOTSUPP);
	assert_int_equal(qoi_topology_current_cpu(topology), -1);
	qoi_topology_destroy(topology);
}

/* Field case A5: a machine whose cpus don't fit a cpu_set_t. */
static void a_machine_with_2048_cpus_is_seen_and_bound_whole(void **state)
{
	struct qoi_topology *topology;
	struct qoi_placement placement;
	cpu_set_t small;

	(void)state;
	big_kernel = 1;
	assert_int_equal(sched_getaffinity(0, sizeof(small), &small), -1);
	setenv("HWLOC_THISSYSTEM", "1", 1);
	topology = described("pack:2 l3:16 core:32 pu:2");
	assert_int_equal(qoi_topology_allowed_count(topology), BIG_CPUS);
	assert_string_equal(qoi_topology_allowed_text(topology), "0-2047");
	assert_int_equal(
		qoi_topology_pick_agent_cpu(topology, "1500", 0, &placement), 0);
	assert_int_equal(placement.cpu, 1500);
	assert_int_equal(qoi_topology_bind_thread(topology, placement.cpu), 0);
	assert_int_equal(big_bound_count, 1);
	assert_int_equal(big_bound_cpu, 1500);
	assert_int_equal(qoi_topology_bind_thread(topology, -1), 0);
	assert_int_equal(big_bound_count, BIG_CPUS);
	assert_int_equal(qoi_topology_pick_agent_cpu(topology, "auto", 1500,
						     &placement),
			 0);
	assert_int_equal(placement.cpu, 1502);
	qoi_topology_destroy(topology);
}

/* The rest is about this machine. */

static int cpu_count_of(pthread_t thread)
{
	/* Large enough for any machine that runs this. */
	static char bytes[8192];
	cpu_set_t *mask = (cpu_set_t *)bytes;

	if (pthread_getaffinity_np(thread, sizeof(bytes), mask) != 0)
		return -1;
	return CPU_COUNT_S(sizeof(bytes), mask);
}

struct narrow_child {
	struct qoi_topology *topology;
	int count_at_birth;
	int count_unbound;
	int count_bound;
	int bound_cpu;
	int placement_cpu;
	char bound_text[QOI_TOPOLOGY_TEXT_BYTES];
};

static void *child_run(void *arg)
{
	struct narrow_child *child = arg;
	struct qoi_placement placement = { .cpu = -1 };

	child->count_at_birth = cpu_count_of(pthread_self());
	qoi_topology_bind_thread(child->topology, -1);
	child->count_unbound = cpu_count_of(pthread_self());
	qoi_topology_pick_agent_cpu(child->topology, "auto",
				    qoi_topology_current_cpu(child->topology),
				    &placement);
	qoi_topology_bind_thread(child->topology, placement.cpu);
	child->count_bound = cpu_count_of(pthread_self());
	child->bound_cpu = sched_getcpu();
	child->placement_cpu = placement.cpu;
	qoi_topology_thread_cpus(child->topology, (int)syscall(SYS_gettid),
				 child->bound_text);
	return NULL;
}

static void *pinned_run(void *arg)
{
	struct narrow_child *child = arg;
	pthread_t thread;

	qoi_topology_bind_thread(child->topology,
				 qoi_topology_current_cpu(child->topology));
	if (pthread_create(&thread, NULL, child_run, child) == 0)
		pthread_join(thread, NULL);
	return NULL;
}

/* Field case A4, part 1: the creator of the agent had pinned itself. */
static void an_agent_made_by_a_pinned_thread_is_not_confined(void **state)
{
	struct narrow_child child = { .bound_text = "-1" };
	pthread_t thread;
	int allowed;

	(void)state;
	assert_int_equal(qoi_topology_create(&child.topology), 0);
	allowed = (int)qoi_topology_allowed_count(child.topology);
	assert_int_equal(allowed, cpu_count_of(pthread_self()));
	pthread_create(&thread, NULL, pinned_run, &child);
	pthread_join(thread, NULL);
	assert_int_equal(child.count_at_birth, 1);
	assert_int_equal(child.count_unbound, allowed);
	assert_int_equal(child.count_bound, 1);
	assert_int_equal(child.bound_cpu, child.placement_cpu);
	assert_int_equal(atoi(child.bound_text), child.placement_cpu);
	qoi_topology_destroy(child.topology);
}

static void *create_pinned(void *arg)
{
	struct qoi_topology *first = arg, *second = NULL;
	static uint32_t count;

	qoi_topology_bind_thread(first, qoi_topology_current_cpu(first));
	if (qoi_topology_create(&second) == 0)
		count = qoi_topology_allowed_count(second);
	qoi_topology_destroy(second);
	return &count;
}

static void the_allowed_set_is_the_processs_not_the_calling_threads(void **state)
{
	struct qoi_topology *topology;
	pthread_t thread;
	void *count;

	(void)state;
	assert_int_equal(qoi_topology_create(&topology), 0);
	pthread_create(&thread, NULL, create_pinned, topology);
	pthread_join(thread, &count);
	assert_int_equal(*(uint32_t *)count,
			 qoi_topology_allowed_count(topology));
	qoi_topology_destroy(topology);
}

#define TEST(function)                                                         \
	cmocka_unit_test_setup_teardown(function, restore, restore)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_agent_shares_the_cache_but_not_the_core),
		TEST(ranks_side_by_side_get_different_agent_cpus),
		TEST(without_a_free_core_in_the_cache_the_nearest_one_is_taken),
		TEST(with_one_core_the_other_thread_is_taken_and_said),
		TEST(with_one_cpu_the_agent_shares_it_and_that_is_said),
		TEST(an_unknown_rank_cpu_gets_the_first_allowed_one),
		TEST(a_wanted_cpu_is_taken_even_if_it_is_the_ranks),
		TEST(a_wanted_cpu_outside_warns_and_gives_an_allowed_one),
		TEST(do_not_pin_is_obeyed),
		TEST(what_is_not_a_cpu_list_is_refused),
		TEST(a_long_allowed_list_is_cut_with_dots),
		TEST(a_machine_is_counted),
		TEST(binding_on_a_described_machine_is_refused_and_harmless),
		TEST(a_machine_with_2048_cpus_is_seen_and_bound_whole),
		TEST(an_agent_made_by_a_pinned_thread_is_not_confined),
		TEST(the_allowed_set_is_the_processs_not_the_calling_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
