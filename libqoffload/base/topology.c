/* SPDX-License-Identifier: BSD-3-Clause */
#include "libqoffload/base/topology.h"

#include <errno.h>
#include <hwloc.h>
#include <hwloc/linux.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libqoffload/base/error.h"
#include "libqoffload/base/log.h"

struct qoi_topology {
	hwloc_topology_t machine; /* owned */
	hwloc_bitmap_t allowed;	  /* owned; captured at create */
	char *allowed_text;	  /* owned; allocated by hwloc */
};

/*
 * What this process may use: bitmaps of hwloc grow as the machine needs, where
 * a cpu_set_t would end at 1024 cpus.
 */
static int capture_allowed(struct qoi_topology *topology)
{
	hwloc_const_bitmap_t present =
		hwloc_topology_get_allowed_cpuset(topology->machine);

	topology->allowed = hwloc_bitmap_alloc();
	if (topology->allowed == NULL)
		return qoi_fail(-ENOMEM, "no memory for a cpu set");
	if (hwloc_get_cpubind(topology->machine, topology->allowed,
			      HWLOC_CPUBIND_PROCESS) != 0) {
		qoi_log_info("affinity of this process unknown: %m");
		hwloc_bitmap_copy(topology->allowed, present);
	}
	hwloc_bitmap_and(topology->allowed, topology->allowed, present);
	/* Only a described machine can share no cpu with this one. */
	if (hwloc_bitmap_iszero(topology->allowed) != 0)
		hwloc_bitmap_copy(topology->allowed, present);
	if (hwloc_bitmap_list_asprintf(&topology->allowed_text,
				       topology->allowed) < 0)
		return qoi_fail(-ENOMEM, "no memory for a cpu list");
	return 0;
}

int qoi_topology_create(struct qoi_topology **topology_out)
{
	struct qoi_topology *topology = calloc(1, sizeof(*topology));
	int code;

	if (topology == NULL)
		return qoi_fail(-ENOMEM, "no memory for the topology");
	if (hwloc_topology_init(&topology->machine) != 0) {
		code = qoi_fail(-ENOMEM, "hwloc does not start: %m");
		goto err_free;
	}
	if (hwloc_topology_load(topology->machine) != 0) {
		code = qoi_fail(qoi_error_from_errno(errno),
				"hwloc cannot read the machine: %m");
		goto err_destroy;
	}
	code = capture_allowed(topology);
	if (code != 0)
		goto err_destroy;
	*topology_out = topology;
	return 0;

err_destroy:
	hwloc_bitmap_free(topology->allowed);
	hwloc_topology_destroy(topology->machine);
err_free:
	free(topology);
	return code;
}

void qoi_topology_destroy(struct qoi_topology *topology)
{
	if (topology == NULL)
		return;
	free(topology->allowed_text);
	hwloc_bitmap_free(topology->allowed);
	hwloc_topology_destroy(topology->machine);
	free(topology);
}

uint32_t qoi_topology_allowed_count(const struct qoi_topology *topology)
{
	return (uint32_t)hwloc_bitmap_weight(topology->allowed);
}

const char *qoi_topology_allowed_text(const struct qoi_topology *topology)
{
	return topology->allowed_text;
}

/* Copies a cpu list, and says so where the end doesn't fit. */
static void copy_cut(char text_out[QOI_TOPOLOGY_TEXT_BYTES], const char *text)
{
	int length = snprintf(text_out, QOI_TOPOLOGY_TEXT_BYTES, "%s", text);

	if (length >= QOI_TOPOLOGY_TEXT_BYTES)
		memcpy(text_out + QOI_TOPOLOGY_TEXT_BYTES - 4, "...", 4);
}

static uint32_t count_objects(const struct qoi_topology *topology,
			      hwloc_obj_type_t type)
{
	int count = hwloc_get_nbobjs_by_type(topology->machine, type);

	/* -1: on several levels, as nothing that is counted here can be. */
	return count < 0 ? 0 : (uint32_t)count;
}

/* From the root down, the first level that is data caches. */
static uint32_t count_last_level_caches(const struct qoi_topology *topology)
{
	int depth_count = hwloc_topology_get_depth(topology->machine);

	for (int depth = 0; depth < depth_count; depth++) {
		if (hwloc_obj_type_is_dcache(
			    hwloc_get_depth_type(topology->machine, depth)) != 0)
			return hwloc_get_nbobjs_by_depth(topology->machine,
							 depth);
	}
	return 0;
}

void qoi_topology_count(const struct qoi_topology *topology,
			struct qoi_topology_counts *counts_out)
{
	counts_out->packages = count_objects(topology, HWLOC_OBJ_PACKAGE);
	counts_out->caches = count_last_level_caches(topology);
	counts_out->cores = count_objects(topology, HWLOC_OBJ_CORE);
	counts_out->cpus = count_objects(topology, HWLOC_OBJ_PU);
}

int qoi_topology_is_real(const struct qoi_topology *topology)
{
	return hwloc_topology_is_thissystem(topology->machine);
}

int qoi_topology_current_cpu(const struct qoi_topology *topology)
{
	hwloc_bitmap_t set;
	int cpu = -1;

	/* A described machine has no running threads. */
	if (hwloc_topology_is_thissystem(topology->machine) == 0)
		return -1;
	set = hwloc_bitmap_alloc();
	if (set != NULL && hwloc_get_last_cpu_location(topology->machine, set,
						       HWLOC_CPUBIND_THREAD) == 0)
		cpu = hwloc_bitmap_first(set);
	hwloc_bitmap_free(set);
	return cpu;
}

int qoi_topology_thread_cpus(const struct qoi_topology *topology, int thread_id,
			     char text_out[QOI_TOPOLOGY_TEXT_BYTES])
{
	hwloc_bitmap_t set;
	char *text = NULL;
	int code = 0;

	if (hwloc_topology_is_thissystem(topology->machine) == 0)
		return -EOPNOTSUPP;
	set = hwloc_bitmap_alloc();
	if (set == NULL)
		return qoi_fail(-ENOMEM, "no memory for a cpu set");
	if (hwloc_linux_get_tid_cpubind(topology->machine, thread_id, set) != 0)
		code = qoi_fail(qoi_error_from_errno(errno),
				"affinity of thread %d: %m", thread_id);
	else if (hwloc_bitmap_list_asprintf(&text, set) < 0)
		code = qoi_fail(-ENOMEM, "no memory for a cpu list");
	else
		copy_cut(text_out, text);
	free(text);
	hwloc_bitmap_free(set);
	return code;
}

/* The core of @cpu, or its hardware thread where no core is known, or NULL. */
static hwloc_obj_t core_of(const struct qoi_topology *topology, int cpu)
{
	hwloc_obj_t pu, core;

	if (cpu < 0)
		return NULL;
	pu = hwloc_get_pu_obj_by_os_index(topology->machine, (unsigned int)cpu);
	if (pu == NULL)
		return NULL;
	core = hwloc_get_ancestor_obj_by_type(topology->machine, HWLOC_OBJ_CORE,
					      pu);
	return core == NULL ? pu : core;
}

int qoi_topology_same_core(const struct qoi_topology *topology, int cpu_a,
			   int cpu_b)
{
	hwloc_obj_t core = core_of(topology, cpu_a);

	if (core == NULL || cpu_b < 0)
		return 0;
	return hwloc_bitmap_isset(core->cpuset, (unsigned int)cpu_b);
}

/* The last-level cache above @core, or NULL. */
static hwloc_obj_t cache_of(hwloc_obj_t core)
{
	hwloc_obj_t last = NULL;

	for (hwloc_obj_t obj = core; obj != NULL; obj = obj->parent) {
		if (hwloc_obj_type_is_dcache(obj->type) != 0)
			last = obj;
	}
	return last;
}

/*
 * The one after @cpu, in a circle: ranks on neighbouring cores then get agents
 * on different ones without having to talk about it.
 */
static int next_in_circle(hwloc_const_bitmap_t set, int cpu)
{
	int next = hwloc_bitmap_next(set, cpu);

	return next >= 0 ? next : hwloc_bitmap_first(set);
}

/* The candidate nearest to @rank_cpu, not on its core when there is a choice. */
static int nearest_cpu(const struct qoi_topology *topology,
		       hwloc_const_bitmap_t candidates, int rank_cpu,
		       hwloc_bitmap_t scratch)
{
	hwloc_obj_t core = core_of(topology, rank_cpu);
	int cpu;

	if (core == NULL)
		return hwloc_bitmap_first(candidates);
	for (hwloc_obj_t obj = core->parent; obj != NULL; obj = obj->parent) {
		hwloc_bitmap_and(scratch, candidates, obj->cpuset);
		hwloc_bitmap_andnot(scratch, scratch, core->cpuset);
		cpu = next_in_circle(scratch, rank_cpu);
		if (cpu >= 0)
			return cpu;
	}
	/* The rank's core is all there is: rather its other thread. */
	hwloc_bitmap_copy(scratch, candidates);
	hwloc_bitmap_clr(scratch, (unsigned int)rank_cpu);
	cpu = next_in_circle(scratch, rank_cpu);
	return cpu >= 0 ? cpu : hwloc_bitmap_first(candidates);
}

static void describe(const struct qoi_topology *topology, const char *how,
		     struct qoi_placement *placement)
{
	hwloc_obj_t core = core_of(topology, placement->rank_cpu);
	hwloc_obj_t cache = core == NULL ? NULL : cache_of(core);
	const char *where = "own core, under another cache than the rank's";

	placement->shares_rank_core = qoi_topology_same_core(
		topology, placement->rank_cpu, placement->cpu);
	placement->shares_rank_cache =
		cache != NULL &&
		hwloc_bitmap_isset(cache->cpuset, (unsigned int)placement->cpu);
	if (core == NULL)
		where = "where the rank runs is unknown";
	else if (placement->cpu == placement->rank_cpu)
		where = "the rank's own cpu";
	else if (placement->shares_rank_core != 0)
		where = "another thread of the rank's core";
	else if (placement->shares_rank_cache != 0)
		where = "own core, sharing the rank's last-level cache";
	snprintf(placement->reason, sizeof(placement->reason), "%s: %s", how,
		 where);
}

/*
 * The cpus to choose from: those wanted that are allowed, or else all that are
 * allowed. 0, -EINVAL, -ENOMEM.
 */
static int find_candidates(const struct qoi_topology *topology,
			   const char *wanted, hwloc_bitmap_t candidates,
			   struct qoi_placement *placement)
{
	hwloc_bitmap_copy(candidates, topology->allowed);
	if (strcmp(wanted, "auto") == 0)
		return 0;
	if (hwloc_bitmap_list_sscanf(candidates, wanted) != 0)
		return qoi_fail(-EINVAL, "\"%s\" is not a cpu list", wanted);
	hwloc_bitmap_and(candidates, candidates, topology->allowed);
	if (hwloc_bitmap_iszero(candidates) == 0)
		return 0;
	placement->outside = 1;
	hwloc_bitmap_copy(candidates, topology->allowed);
	return 0;
}

int qoi_topology_pick_agent_cpu(const struct qoi_topology *topology,
				const char *wanted, int rank_cpu,
				struct qoi_placement *placement_out)
{
	struct qoi_placement placement = { .cpu = -1, .rank_cpu = rank_cpu };
	hwloc_bitmap_t candidates, scratch;
	const char *how = "nearest";
	int code = -ENOMEM;

	copy_cut(placement.allowed, topology->allowed_text);
	if (strcmp(wanted, "none") == 0) {
		snprintf(placement.reason, sizeof(placement.reason),
			 "not pinned, as asked");
		*placement_out = placement;
		return 0;
	}
	candidates = hwloc_bitmap_alloc();
	scratch = hwloc_bitmap_alloc();
	if (candidates == NULL || scratch == NULL) {
		qoi_fail(code, "no memory for a cpu set");
		goto out;
	}
	code = find_candidates(topology, wanted, candidates, &placement);
	if (code != 0)
		goto out;
	placement.cpu = nearest_cpu(topology, candidates, rank_cpu, scratch);
	if (strcmp(wanted, "auto") != 0)
		how = placement.outside != 0 ? "asked for is not allowed"
					     : "as asked";
	describe(topology, how, &placement);
	if (placement.outside != 0)
		qoi_log_warn("agent cpu %s is outside of the allowed set %s; "
			     "taking cpu %d",
			     wanted, placement.allowed, placement.cpu);
	*placement_out = placement;
out:
	hwloc_bitmap_free(scratch);
	hwloc_bitmap_free(candidates);
	return code;
}

int qoi_topology_bind_thread(const struct qoi_topology *topology, int cpu)
{
	hwloc_bitmap_t set;
	int code = 0;

	if (hwloc_topology_is_thissystem(topology->machine) == 0) {
		qoi_log_info("not binding: the topology is a described one");
		return -EOPNOTSUPP;
	}
	set = hwloc_bitmap_dup(topology->allowed);
	if (set == NULL)
		return qoi_fail(-ENOMEM, "no memory for a cpu set");
	if (cpu >= 0)
		hwloc_bitmap_only(set, (unsigned int)cpu);
	if (hwloc_set_cpubind(topology->machine, set, HWLOC_CPUBIND_THREAD) !=
	    0) {
		qoi_log_warn("binding a thread to cpu %d: %m", cpu);
		code = errno == ENOSYS || errno == EXDEV
			       ? -EOPNOTSUPP
			       : qoi_error_from_errno(errno);
	}
	hwloc_bitmap_free(set);
	return code;
}
