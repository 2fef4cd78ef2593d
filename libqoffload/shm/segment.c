/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "libqoffload/shm/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "libqoffload/base/error.h"
#include "libqoffload/base/log.h"
#include "libqoffload/shm/room.h"

/* The kernel's bound, NAME_MAX less "memfd:". */
#define LABEL_BYTES_MAX 249
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
/* A signal undoes a step, so steps are shorter than the fastest timer. */
#define RESERVE_STEP_BYTES (UINT64_C(1) << 20)

/* Tells how much there is and what bounds it. */
static int fail_no_room(const char *label, uint64_t bytes,
			const struct qoi_room *room)
{
	return qoi_fail(-ENOSPC,
			"shared memory %s: %" PRIu64 " bytes needed, %" PRIu64
			" available (%s)",
			label, bytes, room->available_bytes, room->limit);
}

static int check_room(const char *label, uint64_t bytes)
{
	struct qoi_room room;

	qoi_room_find("/proc", "/sys/fs/cgroup", &room);
	if (bytes <= room.available_bytes && bytes <= INT64_MAX)
		return 0;
	return fail_no_room(label, bytes, &room);
}

/* Takes the pages now: a later touch must not be the one that fails. */
static int reserve(const char *label, int fd, uint64_t bytes)
{
	struct qoi_room room;
	uint64_t at = 0;

	while (at < bytes) {
		uint64_t step = bytes - at;

		if (step > RESERVE_STEP_BYTES)
			step = RESERVE_STEP_BYTES;
		if (fallocate(fd, 0, (off_t)at, (off_t)step) == 0) {
			at += step;
		} else if (errno == ENOSPC || errno == ENOMEM) {
			qoi_room_find("/proc", "/sys/fs/cgroup", &room);
			return fail_no_room(label, bytes, &room);
		} else if (errno != EINTR) {
			return qoi_fail(qoi_error_from_errno(errno),
					"shared memory %s: fallocate %" PRIu64
					" bytes: %m",
					label, bytes);
		}
	}
	return 0;
}

/* MAP_POPULATE, so that no page fault is left for the data path; or 0. */
static int map(int fd, uint64_t bytes, int populate, uint8_t **base_out)
{
	void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			  MAP_SHARED | populate, fd, 0);

	if (base == MAP_FAILED)
		return qoi_fail(-ENOMEM,
				"mmap %" PRIu64 " bytes of shared memory: %m"
				" (see ulimit -v and vm.max_map_count)",
				bytes);
	*base_out = base;
	return 0;
}

static int open_sized(const char *label, uint64_t bytes, int *fd_out)
{
	int fd = memfd_create(label, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int error;

	if (fd < 0)
		return qoi_fail(-ENOMEM, "memfd_create %s: %m (see ulimit -n)",
				label);
	if (ftruncate(fd, (off_t)bytes) != 0) {
		error = qoi_fail(-ENOSPC,
				 "shared memory %s: ftruncate to %" PRIu64
				 " bytes: %m",
				 label, bytes);
		goto err_open;
	}
	error = reserve(label, fd, bytes);
	if (error != 0)
		goto err_open;
	if (fcntl(fd, F_ADD_SEALS, SEALS) != 0) {
		error = qoi_fail(-EIO, "shared memory %s: sealing: %m", label);
		goto err_open;
	}
	*fd_out = fd;
	return 0;
err_open:
	close(fd);
	return error;
}

int qoi_segment_create(const char *label, uint64_t bytes,
		       struct qoi_segment *segment_out)
{
	uint8_t *base = NULL;
	int fd = -1;
	int error;

	if (bytes == 0 || strlen(label) > LABEL_BYTES_MAX)
		return qoi_fail(-EINVAL,
				"shared memory %.64s: %" PRIu64
				" bytes, or a label over %d bytes",
				label, bytes, LABEL_BYTES_MAX);
	error = check_room(label, bytes);
	if (error != 0)
		return error;
	error = open_sized(label, bytes, &fd);
	if (error != 0)
		return error;
	error = map(fd, bytes, MAP_POPULATE, &base);
	if (error != 0)
		goto err_open;
	segment_out->base = base;
	segment_out->bytes = bytes;
	segment_out->fd = fd;
	return 0;
err_open:
	close(fd);
	return error;
}

int qoi_segment_check(int fd, uint64_t expect_bytes)
{
	struct statfs system;
	struct stat info;
	int seals;

	if (expect_bytes == 0)
		return qoi_fail(-EINVAL, "a segment of 0 bytes");
	/* Seals first: only a sealed size stays what fstat says. */
	seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0)
		return qoi_fail(-EBADMSG,
				"a peer's descriptor is not shared memory: %m");
	if ((seals & SEALS) != SEALS)
		return qoi_fail(-EPERM,
				"a peer's shared memory is not sealed: seals %d",
				seals);
	/* Of huge pages a touch may fail, sealed or not. */
	if (fstatfs(fd, &system) != 0 || system.f_type != TMPFS_MAGIC)
		return qoi_fail(-EBADMSG, "a peer's shared memory is not of "
					  "ordinary pages");
	if (fstat(fd, &info) != 0)
		return qoi_fail(-EBADMSG, "a peer's shared memory: fstat: %m");
	if (info.st_size < 0 || (uint64_t)info.st_size != expect_bytes)
		return qoi_fail(-EBADMSG,
				"a peer's shared memory has %" PRId64
				" bytes, not %" PRIu64,
				(int64_t)info.st_size, expect_bytes);
	return 0;
}

static int attach(int fd, uint64_t expect_bytes, int populate,
		  struct qoi_segment *segment_out)
{
	uint8_t *base = NULL;
	int error = qoi_segment_check(fd, expect_bytes);

	if (error != 0)
		return error;
	error = map(fd, expect_bytes, populate, &base);
	if (error != 0)
		return error;
	segment_out->base = base;
	segment_out->bytes = expect_bytes;
	segment_out->fd = fd;
	return 0;
}

int qoi_segment_attach(int fd, uint64_t expect_bytes,
		       struct qoi_segment *segment_out)
{
	return attach(fd, expect_bytes, MAP_POPULATE, segment_out);
}

int qoi_segment_attach_lazily(int fd, uint64_t expect_bytes,
			      struct qoi_segment *segment_out)
{
	return attach(fd, expect_bytes, 0, segment_out);
}

void qoi_segment_close_fd(struct qoi_segment *segment)
{
	if (segment->fd >= 0)
		close(segment->fd);
	segment->fd = -1;
}

void qoi_segment_detach(struct qoi_segment *segment)
{
	qoi_segment_close_fd(segment);
	if (segment->base != NULL && munmap(segment->base, segment->bytes) != 0)
		qoi_log_warn("munmap %" PRIu64 " bytes: %m", segment->bytes);
	segment->base = NULL;
	segment->bytes = 0;
}
