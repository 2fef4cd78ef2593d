/* SPDX-License-Identifier: BSD-3-Clause */
/* What the handles of context and team stand for. */
#ifndef QOI_HANDLE_H
#define QOI_HANDLE_H

#include <qoffload/qoffload.h>

#include "libqoffload/agent/agent.h"
#include "libqoffload/agent/object.h"

#define QOI_CONTEXT_MAGIC UINT64_C(0x514f434f4e545854)
#define QOI_MEMBER_ENDPOINTS 4

struct qoi_link; /* client/link.h */

struct qo_context {
	uint64_t magic; /* QOI_CONTEXT_MAGIC while it lives */
	struct qoi_config config;
	struct qoi_topology *topology; /* owner: the context */
	struct qoi_agent agent;
	struct qoi_link *link; /* to the daemon, or NULL.  Owner: the context */
	uint32_t number;       /* of its request table */
	struct qoi_objects objects; /* teams, operations and meshes */
};

/* How one rank presents itself to a team; goes through the application. */
struct qoi_member {
	uint32_t magic;
	uint32_t version;
	uint64_t layout_hash;
	uint64_t nonce;	       /* fresh for each team */
	uint64_t allowed_hash; /* of the set of cores it may run on */
	uint32_t allowed_count;
	uint32_t endpoint_count;
	uint8_t node[16];
	uint8_t agent[16]; /* the daemon it is attached to, or zeros */
	struct {
		char name[24];
		uint32_t bytes;
		uint32_t reserved;
		uint8_t address[QO_ADDRESS_BYTES_MAX];
	} endpoints[QOI_MEMBER_ENDPOINTS];
};

struct qo_team {
	struct qoi_object object;   /* first; among the context's */
	struct qo_context *context; /* owner: the user */
	uint32_t rank;
	uint32_t count;
	uint64_t id;
	struct qo_conn **conns; /* by rank, NULL for oneself.  Owner: team */
	struct qoi_member *members; /* by rank.  Owner: the team */
	uint32_t sequence; /* of the next collective call; caller serialises */
	void *control; /* QO_CONTROL_BYTES_MAX, for what arrives.  Owner: team */
	uint32_t secondhand; /* 1: in the last exchange a rank refused */
	uint32_t held;	     /* operations and meshes of it; atomic */
	uint32_t ranks_here;
	uint32_t oversubscribed;
	uint32_t far; /* 1: all are attached to one daemon */
};

static inline int qoi_context_live(const struct qo_context *context)
{
	return context != NULL && context->magic == QOI_CONTEXT_MAGIC;
}

/* When a collective call of this team gives up. */
int64_t qoi_team_deadline(const struct qo_team *team);

#endif
