/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll_sim.h"

static uint64_t random_state;

static void sweep(int32_t first, int32_t last, int32_t reduce_last,
		  uint64_t elements)
{
	for (int32_t type = first; type <= last; type++)
		for (int32_t reduce = QO_SUM; reduce <= reduce_last; reduce++) {
			struct sim_case is = { .kind = QOI_ALLREDUCE,
					       .type = type,
					       .reduce = reduce,
					       .elements = elements };

			sim_sweep(&is, &random_state);
		}
}

static void integers_are_reduced_exactly(void **state)
{
	static const uint64_t elements[] = { 0, 1, 3, 17 };

	(void)state;
	for (size_t i = 0; i < sizeof(elements) / sizeof(*elements); i++)
		sweep(QO_INT8, QO_UINT64, QO_XOR, elements[i]);
}

static void numbers_are_the_same_bits_on_every_rank(void **state)
{
	static const uint64_t elements[] = { 0, 1, 3, 17, 1000 };

	(void)state;
	for (size_t i = 0; i < sizeof(elements) / sizeof(*elements); i++)
		sweep(QO_FLOAT, QO_DOUBLE, QO_MAX, elements[i]);
}

/* Long vectors: the type's effect is in the kernels, so two do. */
static void long_vectors_are_reduced_exactly(void **state)
{
	(void)state;
	sweep(QO_INT16, QO_INT16, QO_XOR, 1000);
	sweep(QO_UINT64, QO_UINT64, QO_XOR, 1000);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers_are_reduced_exactly),
		cmocka_unit_test(numbers_are_the_same_bits_on_every_rank),
		cmocka_unit_test(long_vectors_are_reduced_exactly),
	};
	int failed;

	random_state = sim_seed(argc, argv);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	sim_report();
	return failed;
}
