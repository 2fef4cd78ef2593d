/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of this process that the daemon maps. */
#include <errno.h>
#include <stdlib.h>

#include "libqoffload/base/error.h"
#include "libqoffload/client/link.h"

/* Numbers that the daemon takes. */
#define NUMBERS 65536

static int is_used(const struct qoi_link *link, uint32_t number)
{
	const struct qoi_link_region *region = link->regions;

	while (region != NULL && region->number != number)
		region = region->next;
	return region != NULL;
}

/* A number that no region has; one is free. */
static uint32_t number_take(struct qoi_link *link)
{
	uint32_t number = link->region_next;

	while (is_used(link, number))
		number = (number + 1) % NUMBERS;
	link->region_next = (number + 1) % NUMBERS;
	return number;
}

static int region_note(struct qoi_link *link, struct qoi_link_region *region)
{
	int error = 0;

	pthread_mutex_lock(&link->region_lock);
	if (link->region_count < NUMBERS) {
		region->number = number_take(link);
		region->next = link->regions;
		link->regions = region;
		link->region_count++;
	} else {
		error = -ENOMEM;
	}
	pthread_mutex_unlock(&link->region_lock);
	if (error != 0)
		qoi_fail(error, "%d regions of memory: release some", NUMBERS);
	return error;
}

/*
 * The region at an address, which is found no more; or NULL.  Its number stays
 * taken until the daemon has let it go.
 */
static struct qoi_link_region *region_hide(struct qoi_link *link,
					   const void *address)
{
	struct qoi_link_region *region;

	pthread_mutex_lock(&link->region_lock);
	region = link->regions;
	while (region != NULL && region->address != address)
		region = region->next;
	if (region != NULL)
		region->address = NULL;
	pthread_mutex_unlock(&link->region_lock);
	return region;
}

static void region_free(struct qoi_link *link, struct qoi_link_region *region)
{
	struct qoi_link_region **at = &link->regions;

	pthread_mutex_lock(&link->region_lock);
	while (*at != region)
		at = &(*at)->next;
	*at = region->next;
	link->region_count--;
	pthread_mutex_unlock(&link->region_lock);
	free(region);
}

static int region_tell(struct qoi_link *link, uint16_t kind,
		       const struct qoi_link_region *region, int fd)
{
	struct qoi_attach_message question;

	qoi_attach_message_init(&question, kind, 0);
	question.body.region.region = region->number;
	question.body.region.bytes = region->bytes;
	question.fds[0] = fd;
	return qoi_link_call(link, &question, NULL);
}

int qoi_link_region_add(struct qoi_link *link, int fd, void *address,
			uint64_t bytes)
{
	struct qoi_link_region *region = calloc(1, sizeof(*region));
	int error;

	if (region == NULL)
		return qoi_fail(-ENOMEM, "no memory for a region");
	region->address = address;
	region->bytes = bytes;
	error = region_note(link, region);
	if (error != 0) {
		free(region);
		return error;
	}
	/* Nobody uses the address yet, so that nobody finds it too early. */
	error = region_tell(link, QOI_ATTACH_REGION_ADD, region, fd);
	if (error != 0)
		region_free(link, region);
	return error;
}

void qoi_link_region_drop(struct qoi_link *link, const void *address)
{
	struct qoi_link_region *region = region_hide(link, address);

	if (region == NULL)
		return;
	if (!qoi_link_is_lost(link) && !qoi_link_is_forked(link))
		region_tell(link, QOI_ATTACH_REGION_DROP, region, -1);
	region_free(link, region);
}

int qoi_link_region_find(struct qoi_link *link, const void *address,
			 uint64_t bytes, uint32_t *number_out,
			 uint64_t *offset_out)
{
	const struct qoi_link_region *region;
	int found = 0;

	pthread_mutex_lock(&link->region_lock);
	for (region = link->regions; region != NULL; region = region->next) {
		/* Below the region, that is a huge number. */
		uint64_t offset =
			(uintptr_t)address - (uintptr_t)region->address;

		if (region->address == NULL || offset > region->bytes ||
		    bytes > region->bytes - offset)
			continue;
		*number_out = region->number;
		*offset_out = offset;
		found = 1;
		break;
	}
	pthread_mutex_unlock(&link->region_lock);
	return found;
}
