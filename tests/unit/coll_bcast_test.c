/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_sim.h"

static uint64_t random_state;

static void bcast_gives_the_roots_vector_to_all(void **state)
{
	static const int32_t types[] = { QO_INT8, QO_FLOAT, QO_INT64 };
	static const uint64_t elements[] = { 0, 1, 3, 17, 1000 };

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		for (size_t j = 0; j < sizeof(elements) / sizeof(*elements);
		     j++) {
			struct sim_case is = { .kind = QOI_BCAST,
					       .type = types[i],
					       .elements = elements[j] };

			/* Each sweep draws its roots anew. */
			for (int k = 0; k < 4; k++)
				sim_sweep(&is, &random_state);
		}
}

/* Several pieces, and a last one that is shorter. */
static void bcast_by_chain_passes_piece_after_piece(void **state)
{
	(void)state;
	for (uint32_t count = 2; count <= 4; count++) {
		struct sim_case is = { .kind = QOI_BCAST,
				       .algorithm = "chain",
				       .count = count,
				       .root = count - 1,
				       .type = QO_INT64,
				       .elements = 30001 };

		sim_case_run(&is, &random_state);
	}
}

static void a_chain_has_a_bounded_number_of_pieces(void **state)
{
	struct qoi_coll coll = { .kind = QOI_BCAST,
				 .rank = 1,
				 .count = 3,
				 .type = QO_INT8,
				 .elements = UINT64_MAX };
	struct qoi_schedule *schedule;

	(void)state;
	assert_int_equal(qoi_schedule_compile(&coll, "chain", NULL, &schedule),
			 0);
	assert_int_equal(qoi_schedule_validate(schedule), 0);
	assert_int_equal(schedule->step_count, 2 * 64);
	qoi_schedule_destroy(schedule);
}

static void nobody_leaves_a_barrier_before_all_have_come(void **state)
{
	struct sim_case is = { .kind = QOI_BARRIER };

	(void)state;
	for (int i = 0; i < 100; i++)
		sim_sweep(&is, &random_state);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bcast_gives_the_roots_vector_to_all),
		cmocka_unit_test(bcast_by_chain_passes_piece_after_piece),
		cmocka_unit_test(a_chain_has_a_bounded_number_of_pieces),
		cmocka_unit_test(nobody_leaves_a_barrier_before_all_have_come),
	};
	int failed;

	random_state = sim_seed(argc, argv);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	sim_report();
	return failed;
}
