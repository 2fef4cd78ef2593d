/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* madvise */
/* Memory of clients that the daemon maps: theirs, and held by who uses it. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utlist.h>

#include "libqoffload/base/error.h"
#include "libqoffload/base/log.h"
#include "libqoffload/daemon/session.h"

/* The client's numbers are below this. */
#define REGION_NUMBERS UINT32_C(65536)
/* Paged in, or unmapped, at once: some tens of microseconds. */
#define TOUCH_BYTES (UINT64_C(256) << 10)
#define FORGET_BYTES (UINT64_C(256) << 10)

/* Linux 5.14 has it; older headers may not. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

int qoi_region_check(int fd, uint64_t bytes)
{
	struct stat info;
	int error = qoi_segment_check(fd, bytes);

	if (error != 0)
		return error;
	if (fstat(fd, &info) == 0 && (uint64_t)info.st_blocks * 512 >= bytes)
		return 0;
	return qoi_fail(-EBADMSG,
			"a client's memory file of %" PRIu64
			" bytes is not reserved in full (see fallocate)",
			bytes);
}

/* Makes the table long enough for this number. */
static int make_room(struct qoi_session *session, uint32_t number)
{
	struct qoi_region **regions;
	uint32_t room = session->region_room == 0 ? 16 : session->region_room;

	if (number < session->region_room)
		return 0;
	while (room <= number)
		room *= 2;
	regions = realloc(session->regions, room * sizeof(*regions));
	if (regions == NULL)
		return qoi_fail(-ENOMEM, "no memory for %" PRIu32 " regions",
				room);
	memset(regions + session->region_room, 0,
	       (room - session->region_room) * sizeof(*regions));
	session->regions = regions;
	session->region_room = room;
	return 0;
}

static int check_add(const struct qoi_session *session,
		     const struct qoi_layout_attach_region *ask, int fd)
{
	const struct qoi_daemon *daemon = session->daemon;

	if (ask->region >= REGION_NUMBERS)
		return qoi_fail(-EINVAL,
				"region %" PRIu32 ": numbers are below %" PRIu32,
				ask->region, REGION_NUMBERS);
	if (ask->region < session->region_room &&
	    session->regions[ask->region] != NULL)
		return qoi_fail(-EBUSY, "region %" PRIu32 " is there already",
				ask->region);
	if (session->region_count == QOI_SESSION_REGIONS_MAX ||
	    daemon->region_count == QOI_REGIONS_MAX)
		return qoi_fail(-ENOMEM,
				"the daemon has %" PRIu32
				" regions of this client and %" PRIu32
				" in all; at most %d and %d: release some",
				session->region_count, daemon->region_count,
				QOI_SESSION_REGIONS_MAX, QOI_REGIONS_MAX);
	if (fd < 0)
		return qoi_fail(-EBADMSG, "a region without a memory file");
	return 0;
}

int qoi_region_add(struct qoi_session *session,
		   const struct qoi_layout_attach_region *ask, int *fd)
{
	struct qoi_daemon *daemon = session->daemon;
	struct qoi_region *region;
	int error = check_add(session, ask, *fd);

	if (error == 0)
		error = make_room(session, ask->region);
	if (error != 0)
		return error;
	region = calloc(1, sizeof(*region));
	if (region == NULL)
		return qoi_fail(-ENOMEM, "no memory for a region");
	error = qoi_region_check(*fd, ask->bytes);
	if (error == 0)
		error = qoi_segment_attach_lazily(*fd, ask->bytes,
						  &region->segment);
	if (error != 0) {
		free(region);
		return error;
	}
	*fd = -1;
	qoi_segment_close_fd(&region->segment);
	region->refs = 1;
	DL_APPEND2(daemon->untouched, region, previous, next);
	session->regions[ask->region] = region;
	session->region_count++;
	session->region_bytes += ask->bytes;
	daemon->region_count++;
	daemon->region_bytes += ask->bytes;
	return 0;
}

int qoi_region_drop(struct qoi_session *session, uint32_t number)
{
	struct qoi_region *region;

	if (number >= session->region_room || session->regions[number] == NULL)
		return qoi_fail(-EBADF, "no region %" PRIu32, number);
	region = session->regions[number];
	session->regions[number] = NULL;
	session->region_count--;
	session->region_bytes -= region->segment.bytes;
	qoi_region_put(session->daemon, region);
	return 0;
}

void qoi_regions_drop_all(struct qoi_session *session)
{
	for (uint32_t i = 0; i < session->region_room; i++) {
		if (session->regions[i] != NULL)
			qoi_region_drop(session, i);
	}
	free(session->regions);
	session->regions = NULL;
	session->region_room = 0;
}

uint8_t *qoi_region_at(struct qoi_session *session, uint32_t number,
		       uint64_t offset, uint64_t bytes)
{
	const struct qoi_region *region;

	if (number >= session->region_room || session->regions[number] == NULL)
		return NULL;
	region = session->regions[number];
	if (offset > region->segment.bytes ||
	    bytes > region->segment.bytes - offset)
		return NULL;
	return region->segment.base + offset;
}

struct qoi_region *qoi_region_get(struct qoi_session *session, uint32_t number)
{
	if (number >= session->region_room || session->regions[number] == NULL)
		return NULL;
	session->regions[number]->refs++;
	return session->regions[number];
}

void qoi_region_put(struct qoi_daemon *daemon, struct qoi_region *region)
{
	if (--region->refs != 0)
		return;
	if (region->touched < region->segment.bytes)
		DL_DELETE2(daemon->untouched, region, previous, next);
	/*
	 * Unmapping takes as long as mapping did: nobody waits for it.  Until
	 * then it counts, for it takes room.
	 */
	daemon->forsaken_bytes += region->segment.bytes;
	DL_APPEND2(daemon->forsaken, region, previous, next);
}

int qoi_region_forget(struct qoi_daemon *daemon)
{
	struct qoi_region *region = daemon->forsaken;
	struct qoi_segment *segment;
	uint64_t piece;

	if (region == NULL)
		return 0;
	segment = &region->segment;
	piece = segment->bytes < FORGET_BYTES ? segment->bytes : FORGET_BYTES;
	munmap(segment->base + segment->bytes - piece, piece);
	segment->bytes -= piece;
	daemon->region_bytes -= piece;
	daemon->forsaken_bytes -= piece;
	if (segment->bytes == 0) {
		daemon->region_count--;
		DL_DELETE2(daemon->forsaken, region, previous, next);
		free(region);
	}
	return 1;
}

int qoi_region_touch(struct qoi_region *region)
{
	uint64_t piece = region->segment.bytes - region->touched;

	if (piece > TOUCH_BYTES)
		piece = TOUCH_BYTES;
	/* Where the kernel can't, the first use pages it in. */
	if (madvise(region->segment.base + region->touched, piece,
		    MADV_POPULATE_WRITE) != 0) {
		qoi_log_debug("page in a region: %m");
		piece = region->segment.bytes - region->touched;
	}
	region->touched += piece;
	return region->touched < region->segment.bytes;
}
