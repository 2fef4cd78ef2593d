/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that processes share: a sealed memfd.  It has no name, so nothing is
 * left behind; it is reserved in full, so touching it never raises SIGBUS; it
 * can neither grow nor shrink, so a peer can't cut it off under a reader.
 */
#ifndef QOI_SEGMENT_H
#define QOI_SEGMENT_H

#include <stdint.h>

struct qoi_segment {
	uint8_t *base; /* page-aligned.  Owner: the segment */
	uint64_t bytes;
	int fd; /* owner: the segment; -1 once closed */
};

/*
 * Creates, reserves, seals, maps and touches `bytes` zeroed bytes; `label`
 * shows up in /proc/PID/maps.  Blocks for as long as zeroing takes.
 * Returns 0; -ENOSPC, with the bytes needed and available, and the way out,
 * in qo_error_detail(); -ENOMEM: no address space or descriptor; -EINVAL:
 * 0 bytes or a label that is too long.
 */
int qoi_segment_create(const char *label, uint64_t bytes,
		       struct qoi_segment *segment_out);

/*
 * Whether a descriptor that came is a memory file of ordinary pages, whose
 * size is `expect_bytes` and can't change.
 * Returns 0; -EBADMSG: another size, or not a memory file, or one of huge
 * pages; -EPERM: not sealed; -EINVAL: expect_bytes is 0.
 */
int qoi_segment_check(int fd, uint64_t expect_bytes);

/*
 * Maps a segment that came as a descriptor, after that check.  On success the
 * segment owns fd, else the caller keeps it.
 * Returns as the check, or -ENOMEM.
 */
int qoi_segment_attach(int fd, uint64_t expect_bytes,
		       struct qoi_segment *segment_out);
/* Likewise, but its pages come when they are touched: returns at once. */
int qoi_segment_attach_lazily(int fd, uint64_t expect_bytes,
			      struct qoi_segment *segment_out);

/* The mapping stays; nobody can be given the segment any more. */
void qoi_segment_close_fd(struct qoi_segment *segment);

/* Unmaps, closes, and leaves an empty segment; an empty one is left alone. */
void qoi_segment_detach(struct qoi_segment *segment);

#endif
