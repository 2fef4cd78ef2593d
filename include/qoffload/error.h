/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef QOFFLOAD_ERROR_H
#define QOFFLOAD_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The one list of what a call can return: every call gives 0 or the negative
 * of one of these errno names.  QO_ERROR_MAP(X) expands X(name, text) for
 * each; include <errno.h> for the values.
 */
#define QO_ERROR_MAP(X)                                                        \
	X(EAGAIN, "nothing was taken: make progress and try again")            \
	X(EBADF, "stale or unknown handle")                                    \
	X(EBADMSG, "the other side's bytes do not fit the contract")           \
	X(EBUSY, "still in use: complete or release it first")                 \
	X(ECONNABORTED, "agent lost")                                          \
	X(ECONNRESET, "peer lost")                                             \
	X(EINVAL, "invalid argument")                                          \
	X(EIO, "transport error")                                              \
	X(EMSGSIZE, "larger than the slot or the limit")                       \
	X(ENETUNREACH, "no provider reaches this peer")                        \
	X(ENODEV, "no such provider or device")                                \
	X(ENOENT, "nothing left to return")                                    \
	X(ENOMEM, "not enough memory")                                         \
	X(ENOSPC, "not enough room for shared memory")                         \
	X(EOPNOTSUPP, "not supported, and never will be by this provider")     \
	X(EOVERFLOW, "a size or displacement exceeds 64 bits")                 \
	X(EPERM, "not permitted")                                              \
	X(EPIPE, "peer has finalised")                                         \
	X(EPROTO, "ranks disagree on an operation")                            \
	X(EPROTONOSUPPORT, "library versions or layouts differ")               \
	X(ETIMEDOUT, "the deadline passed")

/*
 * Describes an error code in a few words.
 * error: 0 or a negative errno as the library returns it.
 * Returns: a static string, never NULL; an unknown code is said to be so.
 * Blocks: no.  Threads: any.  Owns: the library owns the string.
 * Since: 0.1
 */
const char *qo_error_string(int error);

/*
 * Tells what the calling thread's last failing call found, and the way out.
 * Returns: one line of text, never NULL, "" before the first failure.
 * Blocks: no.  Threads: any; each thread has its own text.
 * Owns: the library; valid until this thread's next failing call.
 * Since: 0.1
 */
const char *qo_error_detail(void);

#ifdef __cplusplus
}
#endif
#endif
