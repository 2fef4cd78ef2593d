/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libqoffload/base/node.h"

static const char *host_name = "alpha";

/* Comes before the C library's, for this program and all that it links. */
int gethostname(char *name, size_t bytes)
{
	strncpy(name, host_name, bytes);
	return 0;
}

static void a_node_keeps_its_id(void **state)
{
	uint8_t first[QOI_NODE_ID_BYTES] = { 0 };
	uint8_t second[QOI_NODE_ID_BYTES] = { 1 };

	(void)state;
	assert_int_equal(qoi_node_id(first), 0);
	assert_int_equal(qoi_node_id(second), 0);
	assert_memory_equal(first, second, QOI_NODE_ID_BYTES);
}

static void another_host_name_is_another_node(void **state)
{
	uint8_t alpha[QOI_NODE_ID_BYTES] = { 0 };
	uint8_t beta[QOI_NODE_ID_BYTES] = { 0 };

	(void)state;
	assert_int_equal(qoi_node_id(alpha), 0);
	host_name = "beta";
	assert_int_equal(qoi_node_id(beta), 0);
	host_name = "alpha";
	assert_memory_not_equal(alpha, beta, QOI_NODE_ID_BYTES);
	/* Half of the boot id stays as it is: same kernel, other name. */
	assert_memory_equal(alpha + 8, beta + 8, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_node_keeps_its_id),
		cmocka_unit_test(another_host_name_is_another_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
