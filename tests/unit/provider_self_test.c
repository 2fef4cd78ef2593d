/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "libqoffload/base/error.h"
#include "tests/unit/provider_pair.h"

static struct qo_endpoint *self;
static struct qo_conn *conn;
static const struct qo_provider_ops *ops;

static int open_self(void **state)
{
	(void)state;
	self = endpoint_open("self", NULL);
	if (self == NULL)
		return -1;
	ops = self->provider->ops;
	return endpoint_connect(self, self, &conn);
}

static int close_self(void **state)
{
	(void)state;
	ops->disconnect(conn);
	endpoint_close(self);
	return 0;
}

static void it_reaches_itself_alone(void **state)
{
	struct qo_endpoint *other = endpoint_open("self", NULL);
	struct qo_conn *none;
	uint8_t address[QO_ADDRESS_BYTES_MAX];
	size_t bytes;

	(void)state;
	assert_int_equal(ops->address(other, address, &bytes), 0);
	assert_int_equal(ops->reachable(self, address, bytes), -ENETUNREACH);
	assert_int_equal(ops->reachable(other, address, bytes), 0);
	assert_int_equal(ops->reachable(other, address, 3), -ENETUNREACH);
	assert_int_equal(endpoint_connect(self, other, &none), -EPERM);
	endpoint_close(other);
}

static void a_put_lands_in_the_window(void **state)
{
	const struct qo_control_tag tag = { 1, 2, 3 };
	struct qo_window *window;
	struct qo_remote *remote;
	struct pollfd fd = { .fd = ops->fd(self), .events = POLLIN };
	char data[8];
	size_t bytes;

	(void)state;
	assert_int_equal(ops->window_create(self, 4096, &window), 0);
	assert_int_equal(
		ops->control_send(conn, &tag, "abc", 3, window, in_ms(0)), 0);
	assert_int_equal(ops->control_recv(conn, &tag, data, 8, &bytes, &remote,
					   in_ms(0)),
			 0);
	assert_int_equal(bytes, 3);
	assert_memory_equal(data, "abc", 3);
	assert_ptr_equal(remote->base, window->base);
	assert_int_equal(put_word(remote, 100, "hello", 5, 8, 42), 0);
	assert_int_equal(word_at(window, 8), 42);
	assert_memory_equal(window->base + 100, "hello", 5);
	/* The owner's goes first; the memory stays for the other. */
	ops->window_destroy(window);
	qoi_bell_agent_set(self->bell, QOI_BELL_AGENT_DATA);
	assert_int_equal(put_word(remote, 4091, "hello", 5, 4080, 1), 0);
	/* Who sleeps is woken. */
	assert_int_equal(poll(&fd, 1, 0), 1);
	qoi_bell_agent_set(self->bell, QOI_BELL_AGENT_AWAKE);
	ops->wake_clear(self);
	ops->remote_release(remote);
}

static void a_put_beyond_the_window_is_refused(void **state)
{
	const struct qo_control_tag tag = { 1, 2, 3 };
	struct qo_window *window;
	struct qo_remote *remote;
	size_t bytes;

	(void)state;
	assert_int_equal(ops->window_create(self, 64, &window), 0);
	ops->control_send(conn, &tag, NULL, 0, window, in_ms(0));
	ops->control_recv(conn, &tag, NULL, 0, &bytes, &remote, in_ms(0));
	assert_int_equal(put_word(remote, 60, "hello", 5, 8, 1), -EINVAL);
	assert_int_equal(put_word(remote, UINT64_MAX, "hello", 5, 8, 1),
			 -EINVAL);
	assert_int_equal(put_word(remote, 0, "hello", 5, 64, 1), -EINVAL);
	assert_int_equal(put_word(remote, 0, "hello", 5, 12, 1), -EINVAL);
	assert_int_equal(put_word(remote, 0, "hello", 5, UINT64_MAX - 7, 1),
			 -EINVAL);
	assert_int_equal(put_word(remote, 64, NULL, 0, 56, 9), 0);
	assert_int_equal(word_at(window, 56), 9);
	ops->remote_release(remote);
	ops->window_destroy(window);
}

static void messages_are_found_by_tag_in_their_order(void **state)
{
	struct qo_control_tag tag = { 1, 0, 0 };
	uint32_t value;
	size_t bytes;

	(void)state;
	for (uint32_t i = 0; i < 20; i++) {
		tag.sequence = i % 4;
		assert_int_equal(ops->control_send(conn, &tag, &i, sizeof(i),
						   NULL, in_ms(0)),
				 0);
	}
	for (uint32_t i = 0; i < 20; i++) {
		tag.sequence = 3 - i / 5;
		assert_int_equal(ops->control_recv(conn, &tag, &value,
						   sizeof(value), &bytes, NULL,
						   in_ms(0)),
				 0);
		assert_int_equal(value, tag.sequence + 4 * (i % 5));
	}
	assert_int_equal(ops->control_recv(conn, &tag, &value, sizeof(value),
					   &bytes, NULL, in_ms(1)),
			 -ETIMEDOUT);
}

static void a_message_too_large_stays(void **state)
{
	static uint8_t large[QO_CONTROL_BYTES_MAX + 1];
	const struct qo_control_tag tag = { 5, 5, 5 };
	size_t bytes;

	(void)state;
	assert_int_equal(ops->control_send(conn, &tag, large, sizeof(large),
					   NULL, in_ms(0)),
			 -EMSGSIZE);
	assert_int_equal(ops->control_send(conn, &tag, large,
					   QO_CONTROL_BYTES_MAX, NULL, in_ms(0)),
			 0);
	assert_int_equal(ops->control_recv(conn, &tag, large, 100, &bytes, NULL,
					   in_ms(0)),
			 -EMSGSIZE);
	assert_int_equal(ops->control_recv(conn, &tag, large, sizeof(large),
					   &bytes, NULL, in_ms(0)),
			 0);
	assert_int_equal(bytes, QO_CONTROL_BYTES_MAX);
}

static void an_unread_offer_is_given_back(void **state)
{
	const struct qo_control_tag tag = { 6, 6, 6 };
	struct qo_window *window;

	/* The leak checker of a sanitizer build tells if it isn't. */
	(void)state;
	assert_int_equal(ops->window_create(self, 64, &window), 0);
	assert_int_equal(
		ops->control_send(conn, &tag, NULL, 0, window, in_ms(0)), 0);
	ops->window_destroy(window);
}

static void get_copies(void **state)
{
	char from[] = "syndrome";
	char to[sizeof(from)] = "";

	(void)state;
	assert_int_equal(conn->flags,
			 QO_CONN_MAP | QO_CONN_GET | QO_CONN_GET_BY_PEER);
	assert_int_equal(
		ops->get(conn, (uint64_t)(uintptr_t)from, to, sizeof(to)), 0);
	assert_string_equal(to, from);
}

static void a_wake_reaches_a_sleeping_agent_alone(void **state)
{
	struct pollfd fd = { .fd = ops->fd(self), .events = POLLIN };

	(void)state;
	ops->wake(conn);
	assert_int_equal(poll(&fd, 1, 0), 0);
	qoi_bell_agent_set(self->bell, QOI_BELL_AGENT_DATA);
	ops->wake(conn);
	assert_int_equal(poll(&fd, 1, 0), 1);
	qoi_bell_agent_set(self->bell, QOI_BELL_AGENT_AWAKE);
	ops->wake_clear(self);
	assert_int_equal(poll(&fd, 1, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_reaches_itself_alone),
		cmocka_unit_test(a_put_lands_in_the_window),
		cmocka_unit_test(a_put_beyond_the_window_is_refused),
		cmocka_unit_test(messages_are_found_by_tag_in_their_order),
		cmocka_unit_test(a_message_too_large_stays),
		cmocka_unit_test(an_unread_offer_is_given_back),
		cmocka_unit_test(get_copies),
		cmocka_unit_test(a_wake_reaches_a_sleeping_agent_alone),
	};

	return cmocka_run_group_tests(tests, open_self, close_self);
}
