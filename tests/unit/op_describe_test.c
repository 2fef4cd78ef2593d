/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include <qoffload/qoffload.h>

#include "libqoffload/client/op_describe.h"

static struct qoi_coll coll_of(uint32_t kind, uint64_t elements)
{
	return (struct qoi_coll){ .kind = kind,
				  .count = 3,
				  .type = QO_INT32,
				  .reduce = kind == QOI_ALLREDUCE ? QO_SUM : 0,
				  .elements = elements };
}

static int compare(const struct qoi_descriptor *own,
		   const struct qoi_descriptor *peer)
{
	return qoi_descriptor_compare(own, 4, peer, 7, 0xabc, 12);
}

static void what_is_the_same_agrees(void **state)
{
	(void)state;
	for (uint32_t kind = 0; kind < QOI_COLL_KIND_COUNT; kind++) {
		static const uint64_t counts[] = { 5, 5, 5 };
		struct qoi_coll coll = coll_of(kind, 5);
		struct qoi_descriptor own, peer;

		coll.send_counts = coll.recv_counts = counts;
		qoi_descriptor_fill(&own, &coll, "flat", 1);
		coll.rank = 1;
		qoi_descriptor_fill(&peer, &coll, "flat", 0);
		assert_int_equal(compare(&own, &peer), 0);
	}
}

/* Each field that must be equal, and both descriptions in the text. */
static void each_difference_is_told_with_both_sides(void **state)
{
	struct qoi_coll coll = coll_of(QOI_ALLREDUCE, 5);
	struct qoi_descriptor own, peer;

	(void)state;
	qoi_descriptor_fill(&own, &coll, "flat", 1);
	for (int field = 0; field < 7; field++) {
		peer = own;
		switch (field) {
		case 0:
			peer.kind = QOI_BCAST;
			break;
		case 1:
			peer.type = QO_INT64;
			break;
		case 2:
			peer.reduce = QO_XOR;
			break;
		case 3:
			peer.root = 2;
			break;
		case 4:
			peer.count = 9;
			break;
		case 5:
			peer.elements = 6;
			break;
		default:
			strcpy(peer.algorithm, "ring");
			break;
		}
		assert_int_equal(compare(&own, &peer), -EPROTO);
		assert_non_null(strstr(qo_error_detail(), "0000000000000abc"));
		assert_non_null(strstr(qo_error_detail(), "call 12"));
		assert_non_null(strstr(qo_error_detail(),
				       "rank 4 has allreduce of 5 x int32 sum"));
		assert_non_null(strstr(qo_error_detail(), "rank 7 has "));
	}
}

static void lengths_are_compared_for_the_pair_alone(void **state)
{
	static const uint64_t sends[] = { 1, 2, 3 };
	static const uint64_t recvs[] = { 4, 5, 6 };
	struct qoi_coll coll = coll_of(QOI_ALLTOALLV, 0);
	struct qoi_descriptor own, peer;

	(void)state;
	coll.send_counts = sends;
	coll.recv_counts = recvs;
	qoi_descriptor_fill(&own, &coll, "flat", 2);
	assert_int_equal(own.to_you, 3);
	assert_int_equal(own.from_you, 6);
	peer = own;
	peer.from_you = 3;
	peer.to_you = 77; /* judged at the other end */
	assert_int_equal(compare(&own, &peer), 0);
	peer.from_you = 2;
	assert_int_equal(compare(&own, &peer), -EPROTO);
	assert_non_null(strstr(qo_error_detail(),
			       "sends 3 elements to rank 7, which expects 2"));
	/* In place, what comes from a peer is what goes there. */
	coll.in_place = 1;
	qoi_descriptor_fill(&own, &coll, "flat", 2);
	assert_int_equal(own.to_you, 6);
	/* A gather sends its own block to all. */
	coll = coll_of(QOI_ALLGATHERV, 0);
	coll.recv_counts = recvs;
	coll.rank = 1;
	qoi_descriptor_fill(&own, &coll, "ring", 2);
	assert_int_equal(own.to_you, 5);
	assert_int_equal(own.from_you, 6);
}

/* It comes from another process: any bytes. */
static void a_hostile_descriptor_is_told_and_not_followed(void **state)
{
	struct qoi_coll coll = coll_of(QOI_BARRIER, 0);
	struct qoi_descriptor own, peer;

	(void)state;
	qoi_descriptor_fill(&own, &coll, "flat", 1);
	memset(&peer, 0xff, sizeof(peer));
	assert_int_equal(compare(&own, &peer), -EPROTO);
	assert_true(strlen(qo_error_detail()) > 0);
	memset(&peer, 'x', sizeof(peer));
	assert_int_equal(compare(&own, &peer), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_the_same_agrees),
		cmocka_unit_test(each_difference_is_told_with_both_sides),
		cmocka_unit_test(lengths_are_compared_for_the_pair_alone),
		cmocka_unit_test(a_hostile_descriptor_is_told_and_not_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
