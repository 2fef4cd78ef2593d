/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "coll_sim.h"

static uint64_t random_state;

static void sweep(uint32_t kind)
{
	static const int32_t types[] = { QO_UINT8, QO_INT32, QO_DOUBLE };
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

static void allgather_gives_all_blocks_to_all(void **state)
{
	(void)state;
	sweep(QOI_ALLGATHER);
}

static void allgatherv_gives_all_blocks_and_leaves_gaps_alone(void **state)
{
	(void)state;
	sweep(QOI_ALLGATHERV);
}

static void doubling_is_a_ring_unless_ranks_are_a_power_of_two(void **state)
{
	(void)state;
	for (uint32_t count = 2; count <= 9; count++)
		for (uint32_t rank = 0; rank < count; rank++) {
			struct qoi_coll coll = { .kind = QOI_ALLGATHER,
						 .rank = rank,
						 .count = count,
						 .type = QO_INT32,
						 .elements = 5 };
			bool power = count == 2 || count == 4 || count == 8;
			struct qoi_schedule *schedule;

			assert_int_equal(qoi_schedule_compile(&coll, "doubling",
							      NULL, &schedule),
					 0);
			assert_string_equal(schedule->algorithm,
					    power ? "doubling" : "ring");
			qoi_schedule_destroy(schedule);
		}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(allgather_gives_all_blocks_to_all),
		cmocka_unit_test(
			allgatherv_gives_all_blocks_and_leaves_gaps_alone),
		cmocka_unit_test(
			doubling_is_a_ring_unless_ranks_are_a_power_of_two),
	};
	int failed;

	random_state = sim_seed(argc, argv);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	sim_report();
	return failed;
}
