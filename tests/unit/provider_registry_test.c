/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "libqoffload/base/error.h"
#include "libqoffload/base/log.h"
#include "providers/registry.h"
#include "tests/unit/provider_pair.h"

extern const struct qo_provider qo_self_provider;

static struct qo_provider copy;
static struct qo_provider_ops copy_ops;

/* A provider as good as self, to be spoilt. */
static void make_copy(void)
{
	copy = qo_self_provider;
	copy_ops = *qo_self_provider.ops;
	copy.ops = &copy_ops;
}

static int adopt_copy(void)
{
	static struct qo_provider to;
	static struct qo_provider_ops storage;

	return qoi_provider_adopt(&copy, &to, &storage);
}

static void a_good_provider_is_adopted(void **state)
{
	(void)state;
	make_copy();
	assert_int_equal(adopt_copy(), 0);
}

static void another_abi_is_refused(void **state)
{
	(void)state;
	make_copy();
	copy.abi = QO_PROVIDER_ABI + 1;
	assert_int_equal(adopt_copy(), -EPROTONOSUPPORT);
	assert_non_null(strstr(qo_error_detail(), "abi 2"));
}

static void a_table_of_another_size_is_refused(void **state)
{
	static const size_t sizes[] = { 0, sizeof(size_t) - 1,
					sizeof(copy_ops) - 1,
					sizeof(copy_ops) + sizeof(void *) };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		make_copy();
		copy_ops.size = sizes[i];
		assert_int_equal(adopt_copy(), -EPROTONOSUPPORT);
	}
}

static void a_shorter_table_leaves_gaps(void **state)
{
	struct qo_provider to;
	struct qo_provider_ops storage;

	(void)state;
	make_copy();
	copy_ops.size = offsetof(struct qo_provider_ops, wake_clear);
	copy.caps &= ~QO_CAP_FD;
	copy_ops.fd = NULL;
	assert_int_equal(qoi_provider_adopt(&copy, &to, &storage), 0);
	assert_non_null(to.ops->wake_clear);
	assert_int_equal(to.ops->size, sizeof(struct qo_provider_ops));
}

static void caps_must_equal_the_ops(void **state)
{
	static const uint32_t caps[] = { QO_CAP_PUT, QO_CAP_GET, QO_CAP_FD };

	(void)state;
	for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
		make_copy();
		copy.caps &= ~caps[i];
		assert_int_equal(adopt_copy(), -EINVAL);
	}
	make_copy();
	copy_ops.put = NULL;
	assert_int_equal(adopt_copy(), -EINVAL);
	make_copy();
	copy_ops.get = NULL;
	assert_int_equal(adopt_copy(), -EINVAL);
	make_copy();
	copy_ops.wake_clear = NULL;
	assert_int_equal(adopt_copy(), -EINVAL);
	make_copy();
	copy.caps |= 1u << 31;
	assert_int_equal(adopt_copy(), -EINVAL);
}

static void a_provider_without_a_way_is_refused(void **state)
{
	(void)state;
	make_copy();
	copy.caps = QO_CAP_FD;
	copy_ops.put = NULL;
	copy_ops.get = NULL;
	assert_int_equal(adopt_copy(), -EINVAL);
}

static void ops_that_all_need_are_demanded(void **state)
{
	(void)state;
	make_copy();
	copy_ops.close = NULL;
	assert_int_equal(adopt_copy(), -EINVAL);
	make_copy();
	copy_ops.remote_release = NULL;
	assert_int_equal(adopt_copy(), -EINVAL);
	make_copy();
	copy_ops.poll = NULL;
	assert_int_equal(adopt_copy(), -EINVAL);
}

static void gaps_say_not_supported(void **state)
{
	struct qo_provider to;
	struct qo_provider_ops storage;

	(void)state;
	make_copy();
	copy.caps = QO_CAP_MAP;
	copy_ops.put = NULL;
	copy_ops.get = NULL;
	copy_ops.fd = NULL;
	copy_ops.wake_clear = NULL;
	copy_ops.busy = NULL;
	assert_int_equal(qoi_provider_adopt(&copy, &to, &storage), 0);
	assert_int_equal(to.ops->put(NULL, NULL), -EOPNOTSUPP);
	assert_int_equal(to.ops->get(NULL, 0, NULL, 0), -EOPNOTSUPP);
	assert_int_equal(to.ops->fd(NULL), -EOPNOTSUPP);
	assert_int_equal(to.ops->busy(NULL), 0);
	to.ops->wake_clear(NULL);
}

static int open_list(const char *list, struct qo_endpoint **endpoints,
		     uint32_t *count)
{
	struct qoi_config config;
	int rc;

	assert_int_equal(qoi_config_init(&config, NULL), 0);
	/* Not by a setting: the list is what is tested, not its parser. */
	{
		const char *saved = config.provider;

		config.provider = list;
		rc = qoi_providers_open(&config, endpoints, count);
		config.provider = saved;
	}
	qoi_config_fini(&config);
	return rc;
}

static void a_list_is_opened_in_its_order(void **state)
{
	struct qo_endpoint *endpoints[QOI_ENDPOINTS_MAX];
	uint32_t count = 0;

	(void)state;
	assert_int_equal(open_list("self, fault:shm,shm", endpoints, &count), 0);
	assert_int_equal(count, 3);
	assert_string_equal(endpoints[0]->provider->name, "self");
	assert_string_equal(endpoints[1]->provider->name, "fault:shm");
	assert_string_equal(endpoints[2]->provider->name, "shm");
	while (count > 0)
		endpoint_close(endpoints[--count]);
}

static void an_unknown_name_is_told_with_what_there_is(void **state)
{
	static const char *const lists[] = {
		"ofi",	 "self,ofi",	    "",	     "self,",	 "self,,shm",
		"fault", "fault:fault:shm", "selfs", "self,self"
	};
	struct qo_endpoint *endpoints[QOI_ENDPOINTS_MAX];
	uint32_t count = 77;
	int fds = fd_count();

	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		assert_int_equal(open_list(lists[i], endpoints, &count),
				 -ENODEV);
		assert_int_equal(count, 77);
		assert_int_equal(fd_count(), fds);
	}
	open_list("ofi", endpoints, &count);
	assert_non_null(strstr(qo_error_detail(), "'ofi'"));
	assert_non_null(strstr(qo_error_detail(), "self shm fault:self"));
}

static void collect(const struct qo_provider *provider, void *arg)
{
	strcat(arg, provider->name);
	strcat(arg, " ");
	assert_non_null(provider->doc);
}

static void visit_names_what_is_built_in(void **state)
{
	char names[100] = "";

	(void)state;
	qoi_providers_visit(collect, names);
	assert_string_equal(names, "self shm fault ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_provider_is_adopted),
		cmocka_unit_test(another_abi_is_refused),
		cmocka_unit_test(a_table_of_another_size_is_refused),
		cmocka_unit_test(a_shorter_table_leaves_gaps),
		cmocka_unit_test(caps_must_equal_the_ops),
		cmocka_unit_test(a_provider_without_a_way_is_refused),
		cmocka_unit_test(ops_that_all_need_are_demanded),
		cmocka_unit_test(gaps_say_not_supported),
		cmocka_unit_test(a_list_is_opened_in_its_order),
		cmocka_unit_test(an_unknown_name_is_told_with_what_there_is),
		cmocka_unit_test(visit_names_what_is_built_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
