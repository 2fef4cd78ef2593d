/* SPDX-License-Identifier: BSD-3-Clause */
/* From the members that are known to a team that is connected. */
#ifndef QOI_TEAM_BUILD_H
#define QOI_TEAM_BUILD_H

#include "libqoffload/client/handle.h"

#define QOI_MEMBER_MAGIC UINT32_C(0x514f4d42)
/* A rank travels in 16 bits of a completion word, with a sign. */
#define QOI_TEAM_RANKS_MAX 32767u

/* Presents this process, with a fresh nonce. */
int qoi_member_fill(struct qo_context *context, struct qoi_member *member);

/* The daemon of the context, as others may count on it; else zeros. */
void qoi_member_agent(const struct qo_context *context, uint8_t agent_out[16]);

/* Connects all members; copies them.  Collective over them. */
int qoi_team_build(struct qo_context *context, uint32_t rank, uint32_t count,
		   const struct qoi_member *members, struct qo_team **team_out);

/* Disconnects and frees a team that nothing holds any more. */
void qoi_team_free(struct qo_team *team);

#endif
