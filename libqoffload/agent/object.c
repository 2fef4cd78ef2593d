/* SPDX-License-Identifier: BSD-3-Clause */
#include "libqoffload/agent/object.h"

#include <stddef.h>

void qoi_objects_init(struct qoi_objects *objects)
{
	pthread_mutex_init(&objects->lock, NULL);
	objects->youngest = NULL;
}

unsigned qoi_objects_fini(struct qoi_objects *objects)
{
	unsigned count = 0;

	/* free() takes its object off the list, and may take the lock. */
	while (objects->youngest != NULL) {
		objects->youngest->free(objects->youngest);
		count++;
	}
	pthread_mutex_destroy(&objects->lock);
	return count;
}

void qoi_object_add(struct qoi_objects *objects, struct qoi_object *object,
		    void (*free)(struct qoi_object *object))
{
	pthread_mutex_lock(&objects->lock);
	object->free = free;
	object->younger = NULL;
	object->older = objects->youngest;
	if (object->older != NULL)
		object->older->younger = object;
	objects->youngest = object;
	pthread_mutex_unlock(&objects->lock);
}

void qoi_object_remove(struct qoi_objects *objects, struct qoi_object *object)
{
	pthread_mutex_lock(&objects->lock);
	if (object->older != NULL)
		object->older->younger = object->younger;
	if (object->younger != NULL)
		object->younger->older = object->older;
	else
		objects->youngest = object->older;
	pthread_mutex_unlock(&objects->lock);
}
