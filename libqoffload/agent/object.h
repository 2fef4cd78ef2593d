/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a context has that a user must give back: teams, operations, meshes.
 * What is left at its end is freed then, the youngest first, since an
 * operation is younger than its team.
 */
#ifndef QOI_OBJECT_H
#define QOI_OBJECT_H

#include <pthread.h>

struct qoi_object {
	struct qoi_object *older; /* in the list */
	struct qoi_object *younger;
	void (*free)(struct qoi_object *object); /* as if it were destroyed */
};

struct qoi_objects {
	pthread_mutex_t lock;
	struct qoi_object *youngest;
};

void qoi_objects_init(struct qoi_objects *objects);
/* Frees all that is left; returns how many. */
unsigned qoi_objects_fini(struct qoi_objects *objects);

void qoi_object_add(struct qoi_objects *objects, struct qoi_object *object,
		    void (*free)(struct qoi_object *object));
void qoi_object_remove(struct qoi_objects *objects, struct qoi_object *object);

#endif
