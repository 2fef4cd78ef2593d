/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The configuration: QO_* variables, described by one static table per
 * component (config_tables.c), parsed once into a struct that then is const.
 */
#ifndef QOI_BASE_CONFIG_H
#define QOI_BASE_CONFIG_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What a CHOICE field holds: the index of the word in the table's choices. */
enum qoi_config_agent {
	QOI_CONFIG_AGENT_AUTO,
	QOI_CONFIG_AGENT_INLINE,
	QOI_CONFIG_AGENT_THREAD,
	QOI_CONFIG_AGENT_PROCESS,
};

/* How a process agent gets at the user's buffers. */
enum qoi_config_memory {
	QOI_CONFIG_MEMORY_AUTO,
	QOI_CONFIG_MEMORY_MAP,
	QOI_CONFIG_MEMORY_CROSS,
	QOI_CONFIG_MEMORY_STAGE,
};

enum qoi_config_idle {
	QOI_CONFIG_IDLE_ADAPTIVE,
	QOI_CONFIG_IDLE_SPIN,
	QOI_CONFIG_IDLE_YIELD,
	QOI_CONFIG_IDLE_BLOCK,
};

enum qoi_config_switch {
	QOI_CONFIG_SWITCH_AUTO,
	QOI_CONFIG_SWITCH_OFF,
	QOI_CONFIG_SWITCH_ON,
};

/*
 * Fields are named after their variables, in lower case and without QO_, also
 * where a variable carries no unit: durations are always in ns. The config
 * owns its strings.
 */
struct qoi_config {
	int log_level; /* enum qoi_log_level */

	int agent;	       /* enum qoi_config_agent */
	const char *agent_cpu; /* "auto", "none" or a cpu list */
	int agent_idle;	       /* enum qoi_config_idle */
	uint64_t agent_spin_ns;
	uint64_t agent_yield_ns;
	const char *agent_socket;  /* "auto", a path or "@name" */
	const char *agent_program; /* "auto" or a path */
	const char *agent_job;	   /* "auto" or a name */
	uint64_t agent_timeout;	   /* ns */
	uint64_t agent_lanes;
	int agent_memory; /* enum qoi_config_memory */
	int agent_direct; /* enum qoi_config_switch: auto or off */

	uint64_t wait_spin_ns;
	uint64_t wait_yield_ns;

	const char *provider; /* names in order of preference, by commas */
	uint64_t request_count;
	uint64_t connect_timeout; /* ns */
	uint64_t fini_timeout;	  /* ns */

	uint64_t shm_chunk_bytes;
	int shm_get; /* enum qoi_config_switch */
	uint64_t shm_get_bytes;

	const char *coll_alltoall; /* an algorithm's name, or "auto" */
	const char *coll_alltoallv;
	const char *coll_allgather;
	const char *coll_allgatherv;
	const char *coll_allreduce;
	const char *coll_bcast;
	const char *coll_barrier;
	uint64_t coll_flat_bytes;
	uint64_t coll_flat_ranks;

	uint64_t fault_seed;
	uint64_t fault_delay; /* the next six: percent, 0..100 */
	uint64_t fault_reorder;
	uint64_t fault_duplicate;
	uint64_t fault_tear;
	uint64_t fault_drop;
	uint64_t fault_refuse;
	uint64_t fault_kill_after; /* puts; 0 is never */
};

enum qoi_config_type {
	QOI_CONFIG_STRING,   /* const char * */
	QOI_CONFIG_UINT,     /* uint64_t */
	QOI_CONFIG_BYTES,    /* uint64_t; k, m, g */
	QOI_CONFIG_DURATION, /* uint64_t ns; ns, us, ms, s */
	QOI_CONFIG_CHOICE,   /* int */
	QOI_CONFIG_CPU_LIST, /* const char * */
};

struct qoi_config_entry {
	const char *name; /* with QO_ */
	enum qoi_config_type type;
	const char *default_text;
	uint64_t min; /* UINT, BYTES, DURATION */
	uint64_t max;
	const char *const *choices; /* CHOICE: ends with NULL */
	const char *unit;	    /* "" where there is none */
	const char *doc;
	size_t offset; /* in struct qoi_config */
};

struct qoi_config_table {
	const char *component;
	const struct qoi_config_entry *entries;
	size_t count;
};

/* All tables, in the order in which they are printed. */
const struct qoi_config_table *qoi_config_tables(size_t *count_out);

/* The entry of a variable, or NULL. */
const struct qoi_config_entry *qoi_config_find(const char *name);

/*
 * Fills @config from, in this order: @settings, a list of "QO_X=value" that
 * ends with NULL (itself may be NULL), of which the last one for a variable
 * counts; the environment; the defaults. Sets the log level, and warns about
 * unknown QO_* variables of the environment once per process (QO_TEST_* belongs
 * to the tests).
 * -EINVAL: bad value or unknown setting, -ENOMEM; then there is nothing to
 * fini.
 */
int qoi_config_init(struct qoi_config *config, const char *const *settings);
void qoi_config_fini(struct qoi_config *config);

/*
 * The name of the job that this process belongs to: what agent_job says, or
 * what its launcher says, or "0".  Equal for all ranks of a job that a
 * launcher started; two jobs may have the same.
 */
#define QOI_CONFIG_JOB_BYTES 256
void qoi_config_job(const struct qoi_config *config,
		    char job_out[QOI_CONFIG_JOB_BYTES]);

/* The environment as a program that is started from here gets it. */
char **qoi_config_environment(void);

/*
 * The path of the daemon's program: what agent_program says, or where it was
 * installed, or the first in PATH.  Returns 0, -ENOENT (told).
 */
#define QOI_CONFIG_PATH_BYTES 4096
int qoi_config_program(const struct qoi_config *config,
		       char path_out[QOI_CONFIG_PATH_BYTES]);

/* For fail_point.c: what a test set, or NULL. */
const char *qoi_config_fail_point(void);

/* The tables as markdown: this is docs/config.md. */
void qoi_config_print(FILE *stream);

#endif
