/* SPDX-License-Identifier: BSD-3-Clause */
/* Every variable there is: one table per component. */
#include "libqoffload/base/config.h"

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)
#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)

#define AT(field) offsetof(struct qoi_config, field)
#define TABLE(component, entries)                                              \
	{                                                                      \
		component, entries, sizeof(entries) / sizeof(entries[0])       \
	}

/* In the order of enum qoi_log_level. */
static const char *const levels[] = { "error", "warn",	"info",
				      "debug", "trace", NULL };
static const char *const agents[] = { "auto", "inline", "thread", "process",
				      NULL };
static const char *const memories[] = { "auto", "map", "cross", "stage", NULL };
static const char *const idles[] = { "adaptive", "spin", "yield", "block",
				     NULL };
static const char *const switches[] = { "auto", "off", "on", NULL };
static const char *const auto_or_off[] = { "auto", "off", NULL };

static const struct qoi_config_entry log_entries[] = {
	{ "QO_LOG_LEVEL", QOI_CONFIG_CHOICE, "warn", 0, 0, levels, "",
	  "what is written to stderr; trace only in a build with -DQO_TRACE",
	  AT(log_level) },
};

static const struct qoi_config_entry agent_entries[] = {
	{ "QO_AGENT", QOI_CONFIG_CHOICE, "auto", 0, 0, agents, "",
	  "who makes progress: a thread, the daemon qo_agentd (process), or "
	  "the caller's own test and wait (inline); auto is the daemon where "
	  "one runs, else a thread",
	  AT(agent) },
	{ "QO_AGENT_CPU", QOI_CONFIG_CPU_LIST, "auto", 0, 0, NULL, "cpu",
	  "where the agent runs: auto is the nearest allowed core that "
	  "isn't the rank's, none doesn't pin",
	  AT(agent_cpu) },
	{ "QO_AGENT_IDLE", QOI_CONFIG_CHOICE, "adaptive", 0, 0, idles, "",
	  "what an agent without work does: adaptive spins, then "
	  "yields, then blocks",
	  AT(agent_idle) },
	{ "QO_AGENT_SPIN_NS", QOI_CONFIG_DURATION, "20us", 0, SECOND, NULL, "ns",
	  "how long an idle agent spins before it yields", AT(agent_spin_ns) },
	{ "QO_AGENT_YIELD_NS", QOI_CONFIG_DURATION, "50us", 0, SECOND, NULL,
	  "ns", "how long an idle agent yields before it blocks",
	  AT(agent_yield_ns) },
	{ "QO_AGENT_SOCKET", QOI_CONFIG_STRING, "auto", 0, 0, NULL, "",
	  "where the daemon listens: a path, or @name in the abstract name "
	  "space; auto is @qo-agentd. and the user's number",
	  AT(agent_socket) },
	{ "QO_AGENT_PROGRAM", QOI_CONFIG_STRING, "auto", 0, 0, NULL, "",
	  "the daemon's program, which QO_AGENT=process starts for the job when "
	  "none runs; auto is where it was installed, else the first in PATH",
	  AT(agent_program) },
	{ "QO_AGENT_JOB", QOI_CONFIG_STRING, "auto", 0, 0, NULL, "",
	  "the job's name: ranks with the same one share such a daemon; auto is "
	  "what the launcher says",
	  AT(agent_job) },
	{ "QO_AGENT_TIMEOUT", QOI_CONFIG_DURATION, "10s", MS, 3600 * SECOND,
	  NULL, "ns",
	  "how long to wait for an answer of the daemon, which is given up "
	  "then: what it has under way fails",
	  AT(agent_timeout) },
	{ "QO_AGENT_LANES", QOI_CONFIG_UINT, "4", 1, 16, NULL, "lanes",
	  "command queues to the daemon; threads that post share them",
	  AT(agent_lanes) },
	{ "QO_AGENT_MEMORY", QOI_CONFIG_CHOICE, "auto", 0, 0, memories, "",
	  "how the daemon gets at buffers: it maps what qo_mem_alloc() gave "
	  "(map), copies from and to the process (cross), or the library stages "
	  "them (stage); auto is the first that works",
	  AT(agent_memory) },
	{ "QO_AGENT_DIRECT", QOI_CONFIG_CHOICE, "auto", 0, 0, auto_or_off, "",
	  "small collectives of one stage, which need no agent: carried out by "
	  "the ranks themselves (auto), or left to the daemon like all (off)",
	  AT(agent_direct) },
};

static const struct qoi_config_entry wait_entries[] = {
	{ "QO_WAIT_SPIN_NS", QOI_CONFIG_DURATION, "50us", 0, SECOND, NULL, "ns",
	  "how long a wait spins before it yields", AT(wait_spin_ns) },
	{ "QO_WAIT_YIELD_NS", QOI_CONFIG_DURATION, "200us", 0, SECOND, NULL,
	  "ns", "how long a wait yields before it blocks", AT(wait_yield_ns) },
};

static const struct qoi_config_entry core_entries[] = {
	{ "QO_PROVIDER", QOI_CONFIG_STRING, "self,shm", 0, 0, NULL, "",
	  "providers in order of preference, by commas; fault:shm is "
	  "shm with injected faults",
	  AT(provider) },
	{ "QO_REQUEST_COUNT", QOI_CONFIG_UINT, "4096", 16, 1024 * KIB, NULL,
	  "requests", "requests that a context can have in flight",
	  AT(request_count) },
	{ "QO_CONNECT_TIMEOUT", QOI_CONFIG_DURATION, "30s", MS, 3600 * SECOND,
	  NULL, "ns", "how long to wait for a peer to answer at connect",
	  AT(connect_timeout) },
	{ "QO_FINI_TIMEOUT", QOI_CONFIG_DURATION, "5s", MS, 3600 * SECOND, NULL,
	  "ns", "how long qo_fini() waits for peers that need us",
	  AT(fini_timeout) },
};

static const struct qoi_config_entry shm_entries[] = {
	{ "QO_SHM_CHUNK_BYTES", QOI_CONFIG_BYTES, "32k", KIB, 16 * MIB, NULL,
	  "bytes",
	  "the pieces in which a large transfer goes through "
	  "shared memory",
	  AT(shm_chunk_bytes) },
	{ "QO_SHM_GET", QOI_CONFIG_CHOICE, "auto", 0, 0, switches, "",
	  "copy straight from the peer's memory "
	  "(process_vm_readv); auto tries it once per peer",
	  AT(shm_get) },
	{ "QO_SHM_GET_BYTES", QOI_CONFIG_BYTES, "16k", 0, GIB, NULL, "bytes",
	  "smallest transfer for which that is done", AT(shm_get_bytes) },
};

static const char algorithm_doc[] =
	"algorithm, by name; auto chooses by size and team";

#define ALGORITHM(name, field)                                                 \
	{                                                                      \
		name, QOI_CONFIG_STRING, "auto", 0, 0, NULL, "",               \
			algorithm_doc, AT(field)                               \
	}

static const struct qoi_config_entry coll_entries[] = {
	ALGORITHM("QO_COLL_ALLTOALL", coll_alltoall),
	ALGORITHM("QO_COLL_ALLTOALLV", coll_alltoallv),
	ALGORITHM("QO_COLL_ALLGATHER", coll_allgather),
	ALGORITHM("QO_COLL_ALLGATHERV", coll_allgatherv),
	ALGORITHM("QO_COLL_ALLREDUCE", coll_allreduce),
	ALGORITHM("QO_COLL_BCAST", coll_bcast),
	ALGORITHM("QO_COLL_BARRIER", coll_barrier),
	{ "QO_COLL_FLAT_BYTES", QOI_CONFIG_BYTES, "32k", 0, MIB, NULL, "bytes",
	  "largest vector for which auto takes the flat allreduce: every rank "
	  "writes straight into the others' slots",
	  AT(coll_flat_bytes) },
	{ "QO_COLL_FLAT_RANKS", QOI_CONFIG_UINT, "16", 0, 1024, NULL, "ranks",
	  "largest team for which auto is flat", AT(coll_flat_ranks) },
};

#define FAULT(name, field, doc)                                                \
	{                                                                      \
		name, QOI_CONFIG_UINT, "0", 0, 100, NULL, "percent", doc,      \
			AT(field)                                              \
	}

static const struct qoi_config_entry fault_entries[] = {
	{ "QO_FAULT_SEED", QOI_CONFIG_UINT, "1", 0, UINT64_MAX, NULL, "",
	  "seed of the fault provider: the same seed, the same faults",
	  AT(fault_seed) },
	FAULT("QO_FAULT_DELAY", fault_delay, "puts that are held back"),
	FAULT("QO_FAULT_REORDER", fault_reorder,
	      "puts that are overtaken by the next one"),
	FAULT("QO_FAULT_DUPLICATE", fault_duplicate,
	      "puts that are written twice"),
	FAULT("QO_FAULT_TEAR", fault_tear,
	      "puts that land in pieces, in any order"),
	FAULT("QO_FAULT_DROP", fault_drop, "puts that are lost"),
	FAULT("QO_FAULT_REFUSE", fault_refuse,
	      "puts that are refused with -EAGAIN"),
	{ "QO_FAULT_KILL_AFTER", QOI_CONFIG_UINT, "0", 0, UINT64_MAX, NULL,
	  "puts", "the connection is lost at this put; 0 is never",
	  AT(fault_kill_after) },
};

static const struct qoi_config_table all_tables[] = {
	TABLE("Log", log_entries),
	TABLE("Agent", agent_entries),
	TABLE("Wait", wait_entries),
	TABLE("Core", core_entries),
	TABLE("Provider shm", shm_entries),
	TABLE("Collectives", coll_entries),
	TABLE("Provider fault", fault_entries),
};

const struct qoi_config_table *qoi_config_tables(size_t *count_out)
{
	*count_out = sizeof(all_tables) / sizeof(all_tables[0]);
	return all_tables;
}
