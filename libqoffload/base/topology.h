/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where things run: the cpus this process may use, which of them the agent
 * gets, and binding to it. Cpu numbers are those of the operating system.
 */
#ifndef QOI_BASE_TOPOLOGY_H
#define QOI_BASE_TOPOLOGY_H

#include <stdint.h>

struct qoi_topology;

#define QOI_TOPOLOGY_TEXT_BYTES 128

struct qoi_placement {
	int cpu;	       /* -1: not pinned, all allowed cpus */
	int rank_cpu;	       /* where the caller ran; -1: unknown */
	int shares_rank_core;  /* 1: the agent and the rank fight for a core */
	int shares_rank_cache; /* 1: one last-level cache for both */
	int outside;	       /* 1: the wanted cpu isn't allowed */
	char allowed[QOI_TOPOLOGY_TEXT_BYTES]; /* cpu list, cut with "..." */
	char reason[QOI_TOPOLOGY_TEXT_BYTES];
};

/* How many there are of each in the machine, also of those not allowed here. */
struct qoi_topology_counts {
	uint32_t packages;
	uint32_t caches; /* last-level */
	uint32_t cores;
	uint32_t cpus;
};

/*
 * Reads the machine, and captures the allowed set: the union of what the
 * threads of this process may use now (not only the calling thread, which may
 * have pinned itself), within what the machine and the cgroup allow.
 */
int qoi_topology_create(struct qoi_topology **topology_out);
void qoi_topology_destroy(struct qoi_topology *topology);

uint32_t qoi_topology_allowed_count(const struct qoi_topology *topology);

/* The allowed set as a cpu list, such as "0,2-4". Owned by the topology. */
const char *qoi_topology_allowed_text(const struct qoi_topology *topology);

void qoi_topology_count(const struct qoi_topology *topology,
			struct qoi_topology_counts *counts_out);

/* 0 when the topology is a described one (HWLOC_SYNTHETIC, HWLOC_XMLFILE). */
int qoi_topology_is_real(const struct qoi_topology *topology);

/* The cpu on which the calling thread ran last, or -1. */
int qoi_topology_current_cpu(const struct qoi_topology *topology);

/* 1 when two cpus are hardware threads of one core. */
int qoi_topology_same_core(const struct qoi_topology *topology, int cpu_a,
			   int cpu_b);

/*
 * What a thread of this process (by its kernel id) is really bound to, as a
 * cpu list, cut with "...". 0, or -EOPNOTSUPP, or an errno of the system.
 */
int qoi_topology_thread_cpus(const struct qoi_topology *topology, int thread_id,
			     char text_out[QOI_TOPOLOGY_TEXT_BYTES]);

/*
 * Decides the cpu of an agent that serves a rank on @rank_cpu (-1: unknown).
 * @wanted is the value of QO_AGENT_CPU: "auto" (the nearest core that isn't
 * the rank's), "none", or a cpu list to choose from. A list outside of the
 * allowed set gets a warning, and a cpu as if it were "auto".
 * 0, -EINVAL: not a cpu list, -ENOMEM.
 */
int qoi_topology_pick_agent_cpu(const struct qoi_topology *topology,
				const char *wanted, int rank_cpu,
				struct qoi_placement *placement_out);

/*
 * Binds the calling thread to @cpu, or for -1 to the allowed set; so an agent
 * never keeps the narrow affinity of the thread that created it.
 * 0, -EOPNOTSUPP: a described topology or a system that can't, or another
 * errno from the system. Both are logged; the thread then runs where it ran.
 */
int qoi_topology_bind_thread(const struct qoi_topology *topology, int cpu);

#endif
