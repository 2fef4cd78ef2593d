/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_sim.h"

static uint64_t random_state;

static void sweep(uint32_t kind)
{
	static const int32_t types[] = { QO_INT8, QO_FLOAT, QO_UINT64 };
	static const uint64_t elements[] = { 0, 1, 3, 17, 1000 };

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		for (size_t j = 0; j < sizeof(elements) / sizeof(*elements);
		     j++) {
			struct sim_case is = { .kind = kind,
					       .type = types[i],
					       .elements = elements[j] };

			sim_sweep(&is, &random_state);
		}
}

static void alltoall_is_a_transpose(void **state)
{
	(void)state;
	sweep(QOI_ALLTOALL);
}

static void alltoallv_is_a_transpose_and_leaves_gaps_alone(void **state)
{
	(void)state;
	sweep(QOI_ALLTOALLV);
}

/* Blocks of 4 GiB and more: the offsets of the last ones are exact. */
static void blocks_beyond_32_bits_have_exact_offsets(void **state)
{
	const uint64_t elements = UINT64_C(0x123456789);
	struct qoi_coll coll = { .kind = QOI_ALLTOALL,
				 .rank = 1,
				 .count = 3,
				 .type = QO_DOUBLE,
				 .elements = elements };
	const char *const *name = qoi_coll_algorithms(QOI_ALLTOALL);

	(void)state;
	for (; *name != NULL; name++) {
		struct qoi_schedule *schedule;
		bool put = false, got = false;

		assert_int_equal(
			qoi_schedule_compile(&coll, *name, NULL, &schedule), 0);
		assert_int_equal(qoi_schedule_validate(schedule), 0);
		for (uint32_t i = 0; i < schedule->step_count; i++) {
			const struct qoi_step *step = &schedule->steps[i];

			if (step->from == QOI_BUFFER_SEND &&
			    step->kind != QOI_STEP_GET &&
			    step->from_offset + step->bytes == 3 * elements * 8)
				put = true;
			if (step->to == QOI_BUFFER_RECV &&
			    step->kind != QOI_STEP_PUT &&
			    step->to_offset == 2 * elements * 8 &&
			    step->bytes == elements * 8)
				got = true;
		}
		assert_true(put && got);
		qoi_schedule_destroy(schedule);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alltoall_is_a_transpose),
		cmocka_unit_test(alltoallv_is_a_transpose_and_leaves_gaps_alone),
		cmocka_unit_test(blocks_beyond_32_bits_have_exact_offsets),
	};
	int failed;

	random_state = sim_seed(argc, argv);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	sim_report();
	return failed;
}
