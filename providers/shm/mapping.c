/* SPDX-License-Identifier: BSD-3-Clause */
#include "providers/shm/mapping.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libqoffload/base/error.h"

/* Windows that endpoints of this process own; set-up only. */
static pthread_mutex_t list_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct qo_shm_mapping *list_first;

int qo_shm_mapping_create(const struct qo_shm_window_id *id, const char *label,
			  uint64_t bytes, struct qo_shm_mapping **mapping_out)
{
	struct qo_shm_mapping *mapping = calloc(1, sizeof(*mapping));
	int rc;

	if (mapping == NULL)
		return qoi_fail(-ENOMEM, "shm: no memory for a window");
	rc = qoi_segment_create(label, bytes, &mapping->segment);
	if (rc != 0) {
		free(mapping);
		return rc;
	}
	mapping->id = *id;
	mapping->refs = 1;
	pthread_mutex_lock(&list_mutex);
	mapping->next = list_first;
	list_first = mapping;
	pthread_mutex_unlock(&list_mutex);
	*mapping_out = mapping;
	return 0;
}

static struct qo_shm_mapping *find_local(const struct qo_shm_window_id *id,
					 uint64_t bytes)
{
	struct qo_shm_mapping *mapping;

	pthread_mutex_lock(&list_mutex);
	mapping = list_first;
	while (mapping != NULL && (mapping->id.index != id->index ||
				   memcmp(mapping->id.endpoint, id->endpoint,
					  sizeof(id->endpoint)) != 0))
		mapping = mapping->next;
	if (mapping != NULL && mapping->segment.bytes == bytes)
		mapping->refs++;
	else
		mapping = NULL;
	pthread_mutex_unlock(&list_mutex);
	return mapping;
}

int qo_shm_mapping_attach(const struct qo_shm_window_id *id, int local, int fd,
			  uint64_t bytes, struct qo_shm_mapping **mapping_out)
{
	struct qo_shm_mapping *mapping;
	int rc;

	/* One that its owner gave up meanwhile is still mapped by fd. */
	mapping = local ? find_local(id, bytes) : NULL;
	if (mapping != NULL) {
		close(fd);
		*mapping_out = mapping;
		return 0;
	}
	mapping = calloc(1, sizeof(*mapping));
	if (mapping == NULL) {
		close(fd);
		return qoi_fail(-ENOMEM, "shm: no memory for a window");
	}
	rc = qoi_segment_attach(fd, bytes, &mapping->segment);
	if (rc != 0) {
		close(fd);
		free(mapping);
		return rc == -EINVAL ? -EBADMSG : rc;
	}
	qoi_segment_close_fd(&mapping->segment);
	mapping->id = *id;
	mapping->refs = 1;
	*mapping_out = mapping;
	return 0;
}

void qo_shm_mapping_conceal(struct qo_shm_mapping *mapping)
{
	qoi_segment_close_fd(&mapping->segment);
}

void qo_shm_mapping_put(struct qo_shm_mapping *mapping)
{
	uint32_t refs;

	pthread_mutex_lock(&list_mutex);
	assert(mapping->refs > 0);
	refs = --mapping->refs;
	pthread_mutex_unlock(&list_mutex);
	if (refs > 0)
		return;
	qoi_segment_detach(&mapping->segment);
	free(mapping);
}

void qo_shm_mapping_retire(struct qo_shm_mapping *mapping)
{
	struct qo_shm_mapping **link = &list_first;

	pthread_mutex_lock(&list_mutex);
	while (*link != mapping) {
		assert(*link != NULL);
		link = &(*link)->next;
	}
	*link = mapping->next;
	qoi_segment_close_fd(&mapping->segment);
	pthread_mutex_unlock(&list_mutex);
	qo_shm_mapping_put(mapping);
}
