/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Windows as they are mapped in this process.  A window whose owner is in
 * this process too is mapped once: everyone sees it at one address.
 */
#ifndef QO_SHM_MAPPING_H
#define QO_SHM_MAPPING_H

#include <stdint.h>

#include "libqoffload/shm/segment.h"
#include "providers/shm/wire.h"

/* Identity of a window: its endpoint and a count there; 0 is the page. */
struct qo_shm_window_id {
	uint8_t endpoint[QO_SHM_ID_BYTES];
	uint64_t index;
};

struct qo_shm_mapping {
	struct qo_shm_mapping *next; /* owner: the list of own windows */
	struct qo_shm_window_id id;
	struct qoi_segment segment;
	uint32_t refs;
};

/* Creates a window.  Returns what qoi_segment_create() returns. */
int qo_shm_mapping_create(const struct qo_shm_window_id *id, const char *label,
			  uint64_t bytes, struct qo_shm_mapping **mapping_out);

/*
 * Maps a peer's window; `local`: its owner is in this process.  Takes fd in
 * any case.  Returns 0, -EBADMSG, -EPERM, -ENOMEM.
 */
int qo_shm_mapping_attach(const struct qo_shm_window_id *id, int local, int fd,
			  uint64_t bytes, struct qo_shm_mapping **mapping_out);

/* Nobody else will be given it: its descriptor goes, the memory stays. */
void qo_shm_mapping_conceal(struct qo_shm_mapping *mapping);
/* The last one unmaps. */
void qo_shm_mapping_put(struct qo_shm_mapping *mapping);
/* For the owner: nobody can find it any more, then as above. */
void qo_shm_mapping_retire(struct qo_shm_mapping *mapping);

#endif
