/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef QOFFLOAD_CONTEXT_H
#define QOFFLOAD_CONTEXT_H

#include <qoffload/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define QO_VERSION_MAJOR 0
#define QO_VERSION_MINOR 1
#define QO_VERSION_PATCH 0

/* What qo_init() takes; start from QO_INIT_PARAMS_INIT. */
struct qo_init_params {
	size_t size; /* sizeof(struct qo_init_params) */
	/*
	 * NULL, or a NULL-terminated list of "QO_NAME=value" that goes before
	 * the environment, e.g. "QO_AGENT=inline".  Copied.
	 */
	const char *const *settings;
};
#define QO_INIT_PARAMS_INIT                                                    \
	{                                                                      \
		sizeof(struct qo_init_params), NULL                            \
	}

/* Kinds of agent (qo_agent_info.kind). */
#define QO_AGENT_INLINE 1
#define QO_AGENT_THREAD 2
#define QO_AGENT_PROCESS 3 /* the daemon qo_agentd */

/* What an agent is and has done; set size before the call. */
struct qo_agent_info {
	size_t size;  /* sizeof(struct qo_agent_info), set by the caller */
	int32_t kind; /* QO_AGENT_* */
	int32_t async_progress; /* 1: progresses without calls; 0: it does not */
	int32_t cpu;		/* core it is bound to, or -1 */
	int32_t thread_id;	/* kernel thread id, or -1 */
	uint64_t duty_cycles;	/* times round the loop since qo_init() */
	uint64_t work_count;	/* steps carried out */
	uint64_t sleep_count;	/* times it blocked */
	uint64_t wake_count;	/* times something rang its doorbell */
	uint64_t cpu_ns;	/* processor time that it used, ns */
	uint64_t active_requests;    /* requests it works on now */
	uint64_t failed_requests;    /* that ended QO_FAILED, since qo_init() */
	uint64_t late_requests;	     /* that ended after their deadline */
	uint64_t request_slots_used; /* request slots taken now */
	uint64_t request_slots;	     /* request slots there are */
	char idle[16];		     /* idle strategy, e.g. "adaptive" */
	char allowed_cpus[128]; /* allowed set, as a list; may end in "..." */
	char reason[128];	/* why it runs where it runs */
	/*
	 * Of a daemon.  Its processor time and cycles are its own: `qo_info -s`
	 * shows them; the counts above are those of this context's thread, which
	 * then only looks after connections and losses.
	 */
	int32_t agent_pid;  /* its process, or -1 */
	int32_t agent_lost; /* 1: gone or given up; what it had failed */
	char memory[64];    /* how it gets at buffers, e.g. "... other stage" */
};
#define QO_AGENT_INFO_INIT                                                     \
	{                                                                      \
		sizeof(struct qo_agent_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
			0, 0, 0, { 0 }, { 0 }, { 0 }, 0, 0,                    \
		{                                                              \
			0                                                      \
		}                                                              \
	}

/*
 * Reads the configuration, opens the providers and starts the agent.
 * params: NULL for the environment alone.
 * Returns: 0; -EINVAL a setting is wrong (qo_error_detail() names it);
 *   -ENODEV no such provider; -ENOMEM; -ENOSPC no room for shared memory;
 *   -EAGAIN too many contexts in this process or no thread to be had; of
 *   QO_AGENT=process: -ENOENT no daemon, and no program to start one;
 *   -ETIMEDOUT it does not answer in QO_AGENT_TIMEOUT; -EPROTONOSUPPORT it is
 *   of another version; -EPERM its socket is another user's.
 * Blocks: briefly (creates a thread); with a daemon at most QO_AGENT_TIMEOUT.  Threads: any.
 * Owns: the caller ends the context with qo_fini().  Installs no signal
 *   handler; the agent's thread blocks every signal.
 * Since: 0.1
 */
int qo_init(const struct qo_init_params *params, qo_context_t *context_out);

/*
 * Ends a context: waits, up to QO_FINI_TIMEOUT, until nothing that a peer
 * still needs of this rank is under way, says good-bye to the peers, stops
 * the agent and frees all.  Destroy operations, meshes and teams first: what
 * remains is reported and freed, and its handles must not be used again.
 * Returns: 0; -EBADF not a context; -EBUSY something was left over (all is
 *   freed nevertheless).
 * Blocks: at most QO_FINI_TIMEOUT, and where a daemon does not answer
 *   QO_AGENT_TIMEOUT more.  Threads: none may use the context.
 * A forked child has no context: it must not call this with its parent's.
 * Since: 0.1
 */
int qo_fini(qo_context_t context);

/*
 * Tells what makes progress for this context, and where.
 * Returns: 0; -EINVAL info_out is NULL or its size is unknown.
 * Blocks: no.  Threads: any, at any time.
 * Since: 0.1
 */
int qo_agent_query(qo_context_t context, struct qo_agent_info *info_out);

/*
 * Runs the agent's duty cycle once, in the caller.  Needed under the inline
 * agent only; under others it is allowed and does nothing.
 * Returns: 0; -EBADF.
 * Blocks: no.  Threads: any; one of several callers does the work.
 * Since: 0.1
 */
int qo_progress(qo_context_t context);

#ifdef __cplusplus
}
#endif
#endif
