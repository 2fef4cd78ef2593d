/* SPDX-License-Identifier: BSD-3-Clause */
#include "libqoffload/shm/room.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* The depth of nested cgroups that is looked at. */
#define CGROUP_DEPTH_MAX 32
#define LINE_BYTES 512

/* Names of the files that say limit and use, in both versions of cgroups. */
struct cgroup_names {
	const char *folder;
	const char *limit;
	const char *use;
	const char *cache; /* in memory.stat: what is given back on need */
};

static const struct cgroup_names version2 = { "", "memory.max", "memory.current",
					      "inactive_file" };
static const struct cgroup_names version1 = { "/memory", "memory.limit_in_bytes",
					      "memory.usage_in_bytes",
					      "total_inactive_file" };

static void bound(struct qoi_room *room, uint64_t bytes, const char *limit)
{
	if (bytes >= room->available_bytes)
		return;
	room->available_bytes = bytes;
	snprintf(room->limit, sizeof(room->limit), "%s", limit);
}

/* Reads "KEY NUMBER", or a bare number for key "": 1 when found, else 0. */
static int read_number(const char *path, const char *key, uint64_t *number_out)
{
	char line[LINE_BYTES];
	size_t skip = strlen(key);
	FILE *file = fopen(path, "re");
	int found = 0;

	if (file == NULL)
		return 0;
	while (!found && fgets(line, sizeof(line), file) != NULL) {
		char *end;

		if (strncmp(line, key, skip) != 0)
			continue;
		errno = 0;
		*number_out = strtoull(line + skip, &end, 10);
		found = end != line + skip && errno == 0;
	}
	fclose(file);
	return found;
}

static void bound_by_machine(const char *proc, struct qoi_room *room)
{
	char path[PATH_MAX];
	uint64_t kib;

	snprintf(path, sizeof(path), "%s/meminfo", proc);
	if (read_number(path, "MemAvailable:", &kib))
		bound(room, kib * 1024,
		      "memory of this machine; use fewer ranks or smaller sizes");
}

/* One cgroup; 0 when it has no files, so isn't visible here. */
static void bound_by_folder(const char *cgroup, const char *group,
			    const struct cgroup_names *names,
			    struct qoi_room *room)
{
	char path[PATH_MAX];
	char limit_text[QOI_ROOM_LIMIT_BYTES];
	uint64_t limit, use, cache = 0;

	snprintf(path, sizeof(path), "%s%s%s/%s", cgroup, names->folder, group,
		 names->limit);
	/* "max" is not a number: no bound. */
	if (!read_number(path, "", &limit))
		return;
	snprintf(path, sizeof(path), "%s%s%s/%s", cgroup, names->folder, group,
		 names->use);
	if (!read_number(path, "", &use))
		return;
	snprintf(path, sizeof(path), "%s%s%s/memory.stat", cgroup,
		 names->folder, group);
	if (read_number(path, names->cache, &cache) && cache < use)
		use -= cache;
	snprintf(limit_text, sizeof(limit_text),
		 "memory limit of cgroup %.64s; raise %s",
		 group[0] ? group : "/", names->limit);
	bound(room, limit > use ? limit - use : 0, limit_text);
}

/* A cgroup and all above it. */
static void bound_by_path(const char *cgroup, char *group,
			  const struct cgroup_names *names,
			  struct qoi_room *room)
{
	int depth;

	for (depth = 0; depth < CGROUP_DEPTH_MAX; depth++) {
		char *slash = strrchr(group, '/');

		if (slash != NULL && slash[1] == '\0')
			*slash = '\0';
		bound_by_folder(cgroup, group, names, room);
		slash = strrchr(group, '/');
		if (slash == NULL)
			return;
		*slash = '\0';
	}
}

/* Lines are "0::/path" in version 2, "4:memory:/path" in version 1. */
static void bound_by_cgroups(const char *proc, const char *cgroup,
			     struct qoi_room *room)
{
	char line[LINE_BYTES];
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%s/self/cgroup", proc);
	file = fopen(path, "re");
	if (file == NULL)
		return;
	while (fgets(line, sizeof(line), file) != NULL) {
		char *names = strchr(line, ':');
		char *group = names != NULL ? strchr(names + 1, ':') : NULL;

		if (group == NULL)
			continue;
		*group++ = '\0';
		group[strcspn(group, "\n")] = '\0';
		if (names[1] == '\0')
			bound_by_path(cgroup, group, &version2, room);
		else if (strstr(names + 1, "memory") != NULL)
			bound_by_path(cgroup, group, &version1, room);
	}
	fclose(file);
}

static void bound_by_file_size(struct qoi_room *room)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
	    limit.rlim_cur != RLIM_INFINITY)
		bound(room, limit.rlim_cur,
		      "file size limit of the process; raise ulimit -f");
}

void qoi_room_find(const char *proc, const char *cgroup,
		   struct qoi_room *room_out)
{
	room_out->available_bytes = UINT64_MAX;
	snprintf(room_out->limit, sizeof(room_out->limit), "no known limit");
	bound_by_machine(proc, room_out);
	bound_by_cgroups(proc, cgroup, room_out);
	bound_by_file_size(room_out);
}
