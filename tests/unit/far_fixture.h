/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One rank with a daemon that ends requests when the test says so, and an
 * operation that moves a block between two gaps.
 */
#ifndef FAR_FIXTURE_H
#define FAR_FIXTURE_H

#include <qoffload/qoffload.h>

#include "tests/unit/fake_agent.h"

/* Elements of the block, of each gap, and of a buffer. */
#define FAR_BLOCK 100
#define FAR_GAP 50
#define FAR_WHOLE (2 * FAR_GAP + FAR_BLOCK)

extern struct fake_agent fake;
extern qo_context_t context;
extern qo_team_t team;

/* cmocka setup and teardown. */
int far_setup(void **state);
int far_teardown(void **state);
/* Starts the daemon; a context that has it, with two settings; a team. */
void far_join(const char *a, const char *b);
/* One block of `send` to one block of `recv`. */
qo_op_t far_block_op(int32_t *send, int32_t *recv);
/* The daemon takes a post, does it, and ends it. */
void far_serve(void);
void far_values_fill(int32_t *values, int32_t first);
/* The block came, and the gaps are as they were. */
void far_values_expect(const int32_t *values, int32_t first, int32_t before);

#endif
