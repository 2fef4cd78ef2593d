/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef QOFFLOAD_REQUEST_H
#define QOFFLOAD_REQUEST_H

#include <qoffload/operation.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Starts an operation: one request at a time per operation.
 * Returns: 0; -EBUSY the request before is not complete; -EBADF; or, once a
 *   request of this operation has failed, its error.  Of a daemon's operation
 *   also -EAGAIN it has not taken the posts before: try again; -ECONNABORTED
 *   agent lost; -EPERM in a forked child.
 * Blocks: no; copies what is small, or staged for a daemon.  Allocates nothing.
 * Threads: calls on one operation are serialised by the caller.
 * Owns: the handle needs no freeing; it is stale (-EBADF) from the next post
 *   of the operation on.
 * Since: 0.1.  Source: MPI-4.0 section 6.13, MPI_Start.
 */
int qo_post(qo_op_t op, qo_request_t *request_out);

/*
 * Reads whether a request is complete.  While there is nothing new it is a
 * read and nothing else: no lock, no system call, a few instructions.  When
 * the parts of a small exchange have arrived, the test that sees them first
 * combines them; it waits for nobody.  A test uses nothing up: any number of
 * threads may test one request, as often as they like, with the same result.
 * (Inline agent: it also runs the duty cycle once.  A daemon that stages, see
 * QO_AGENT_MEMORY: the test that sees the end copies the result, all of it.)
 * status_out: must not be NULL; status_out->state is QO_PENDING, QO_DONE or
 *   QO_FAILED, with error and rank set for the last.
 * Returns: 0; -EBADF stale or unknown request.
 * Blocks: no.  Threads: any.
 * Since: 0.1
 */
int qo_test(qo_request_t request, struct qo_status *status_out);

/*
 * Waits until a request is complete; meanwhile the caller's core works for
 * the request where that helps.
 * deadline_ns: on CLOCK_MONOTONIC, or QO_NO_DEADLINE; one that has passed
 *   looks once.
 * Returns: 0 the request is done or failed, see *status_out; -ETIMEDOUT;
 *   -EBADF.
 * Blocks: until then; ends when a peer that is needed dies, but not when a
 *   live one never posts its part: give a deadline.  Threads: any.
 * Since: 0.1
 */
int qo_wait(qo_request_t request, int64_t deadline_ns,
	    struct qo_status *status_out);

/*
 * Waits until one of several requests is complete.
 * requests: `count` of them; null ones are passed over.
 * index_out: which one; the lowest when several are.
 * Returns: 0; -ETIMEDOUT; -EBADF one is stale; -ENOENT all are null; -EINVAL
 *   they belong to several contexts.
 * Blocks: until then.  Threads: any.
 * Since: 0.1.  Source: MPI-4.0 section 3.7.5, MPI_Waitany.
 */
int qo_wait_any(const qo_request_t *requests, size_t count, int64_t deadline_ns,
		size_t *index_out, struct qo_status *status_out);

/*
 * Says in one line what a status means, e.g. "failed: peer lost: rank 3".
 * Returns: 0; -EMSGSIZE it was cut.
 * Blocks: no.  Threads: any.
 * Since: 0.1
 */
int qo_status_describe(const struct qo_status *status, char *text,
		       size_t text_bytes);

#ifdef __cplusplus
}
#endif
#endif
