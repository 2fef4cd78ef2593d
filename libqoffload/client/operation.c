/* SPDX-License-Identifier: BSD-3-Clause */
/* The init calls: arguments into a description of a collective. */
#include <errno.h>

#include "libqoffload/base/error.h"
#include "libqoffload/client/op_create.h"

static int team_check(const struct qo_team *team)
{
	if (team == NULL)
		return qoi_fail(-EINVAL, "team is NULL");
	return 0;
}

/*
 * What is wrong with the arguments here goes to the other ranks too: all take
 * part, and all fail alike.
 */
static int create(qo_team_t team, struct qoi_coll *coll, const void *send,
		  void *recv, int error, qo_op_t *op_out)
{
	if (op_out == NULL)
		error = qoi_fail(-EINVAL, "op_out is NULL");
	return qoi_op_create(team, coll, send, recv, error, op_out);
}

/* A buffer may be NULL only when nothing is in it. */
static int buffer_check(const char *name, const void *buffer, uint64_t elements)
{
	if (elements == 0 || (buffer != NULL && buffer != QO_IN_PLACE))
		return 0;
	return qoi_fail(-EINVAL, "%s is %s, for %llu elements", name,
			buffer == NULL ? "NULL" : "QO_IN_PLACE",
			(unsigned long long)elements);
}

/* The send buffer may also stand for the receive buffer. */
static int buffers_check(const void *send, const void *recv, uint64_t elements)
{
	int error = 0;

	if (send != QO_IN_PLACE)
		error = buffer_check("send", send, elements);
	if (error == 0)
		error = buffer_check("recv", recv, elements);
	return error;
}

int qo_alltoall_init(qo_team_t team, const void *send, void *recv,
		     uint64_t count, int32_t type, qo_op_t *op_out)
{
	struct qoi_coll coll = {
		.kind = QOI_ALLTOALL,
		.type = type,
		.elements = count,
		.in_place = send == QO_IN_PLACE,
	};
	int error = team_check(team);

	if (error != 0)
		return error;
	return create(team, &coll, send, recv, buffers_check(send, recv, count),
		      op_out);
}

int qo_allgather_init(qo_team_t team, const void *send, void *recv,
		      uint64_t count, int32_t type, qo_op_t *op_out)
{
	struct qoi_coll coll = {
		.kind = QOI_ALLGATHER,
		.type = type,
		.elements = count,
		.in_place = send == QO_IN_PLACE,
	};
	int error = team_check(team);

	if (error != 0)
		return error;
	return create(team, &coll, send, recv, buffers_check(send, recv, count),
		      op_out);
}

int qo_allreduce_init(qo_team_t team, const void *send, void *recv,
		      uint64_t count, int32_t type, int32_t reduce,
		      qo_op_t *op_out)
{
	struct qoi_coll coll = {
		.kind = QOI_ALLREDUCE,
		.type = type,
		.reduce = reduce,
		.elements = count,
		.in_place = send == QO_IN_PLACE,
	};
	int error = team_check(team);

	if (error != 0)
		return error;
	return create(team, &coll, send, recv, buffers_check(send, recv, count),
		      op_out);
}

int qo_bcast_init(qo_team_t team, void *buffer, uint64_t count, int32_t type,
		  uint32_t root, qo_op_t *op_out)
{
	struct qoi_coll coll = {
		.kind = QOI_BCAST,
		.type = type,
		.root = root,
		.elements = count,
	};
	int error = team_check(team);

	if (error != 0)
		return error;
	return create(team, &coll, NULL, buffer,
		      buffer_check("buffer", buffer, count), op_out);
}

int qo_barrier_init(qo_team_t team, qo_op_t *op_out)
{
	struct qoi_coll coll = { .kind = QOI_BARRIER, .type = QO_BYTE };
	int error = team_check(team);

	if (error != 0)
		return error;
	return create(team, &coll, NULL, NULL, 0, op_out);
}

static int blocks_check(const char *name, const struct qo_team *team,
			const struct qo_blocks *blocks)
{
	if (blocks == NULL || blocks->counts == NULL ||
	    blocks->displacements == NULL)
		return qoi_fail(-EINVAL,
				"%s, its counts or its displacements "
				"are NULL",
				name);
	for (uint32_t rank = 0; rank < team->count; rank++) {
		int error = buffer_check(name, blocks->address,
					 blocks->counts[rank]);

		if (error != 0)
			return error;
	}
	return 0;
}

static void recv_layout(struct qoi_coll *coll, const struct qo_blocks *recv)
{
	if (recv == NULL)
		return;
	coll->recv_counts = recv->counts;
	coll->recv_displacements = recv->displacements;
}

int qo_alltoallv_init(qo_team_t team, const struct qo_blocks *send,
		      const struct qo_blocks *recv, int32_t type,
		      qo_op_t *op_out)
{
	struct qoi_coll coll = { .kind = QOI_ALLTOALLV, .type = type };
	int error = team_check(team);

	if (error != 0)
		return error;
	recv_layout(&coll, recv);
	error = blocks_check("recv", team, recv);
	if (send != NULL && send->address == QO_IN_PLACE)
		coll.in_place = 1;
	else if (error == 0)
		error = blocks_check("send", team, send);
	if (send != NULL && !coll.in_place) {
		coll.send_counts = send->counts;
		coll.send_displacements = send->displacements;
	}
	return create(team, &coll, send == NULL ? NULL : send->address,
		      recv == NULL ? NULL : recv->address, error, op_out);
}

int qo_allgatherv_init(qo_team_t team, const void *send, uint64_t send_count,
		       const struct qo_blocks *recv, int32_t type,
		       qo_op_t *op_out)
{
	struct qoi_coll coll = {
		.kind = QOI_ALLGATHERV,
		.type = type,
		.elements = send_count,
		.in_place = send == QO_IN_PLACE,
	};
	int error = team_check(team);

	if (error != 0)
		return error;
	recv_layout(&coll, recv);
	error = blocks_check("recv", team, recv);
	if (error == 0 && coll.in_place)
		coll.elements = recv->counts[team->rank];
	else if (error == 0)
		error = buffer_check("send", send, send_count);
	return create(team, &coll, send, recv == NULL ? NULL : recv->address,
		      error, op_out);
}
