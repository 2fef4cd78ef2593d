/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes that no peer of ours would send: refused, and survived. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "libqoffload/base/clock.h"
#include "libqoffload/base/error.h"
#include "providers/shm/shm.h"
#include "tests/unit/provider_pair.h"

#define PAGE_BYTES sizeof(struct qo_shm_page)

static struct qo_endpoint *target;
static struct qo_shm_address target_address;
static int fds_before;

static int open_target(void **state)
{
	size_t bytes;

	(void)state;
	target = endpoint_open("shm", NULL);
	if (target == NULL)
		return -1;
	target->provider->ops->address(target, &target_address, &bytes);
	fds_before = fd_count();
	return 0;
}

/* After each: nothing is held, and a peer of ours is let in. */
static int close_target(void **state)
{
	struct qo_endpoint *ends[2] = { target, endpoint_open("shm", NULL) };
	struct qo_conn *conns[2];
	int rcs[2];
	int leaked;

	(void)state;
	endpoint_settle(target);
	connect_both(ends, conns, rcs);
	if (rcs[0] == 0 && rcs[1] == 0) {
		target->provider->ops->disconnect(conns[0]);
		target->provider->ops->disconnect(conns[1]);
	}
	endpoint_close(ends[1]);
	endpoint_settle(target);
	leaked = fd_count() - fds_before;
	endpoint_close(target);
	return rcs[0] != 0 || rcs[1] != 0 || leaked != 0;
}

static int dial(void)
{
	int fd = -1;

	assert_int_equal(qo_shm_socket_connect(target_address.endpoint_id, &fd),
			 0);
	return fd;
}

static int is_hung_up(int fd)
{
	struct pollfd watched = { .fd = fd, .events = POLLRDHUP };

	return poll(&watched, 1, 1000) == 1 &&
	       (watched.revents & (POLLRDHUP | POLLHUP)) != 0;
}

static void expect_refusal(int fd)
{
	endpoint_settle(target);
	assert_true(is_hung_up(fd));
	close(fd);
}

static void send_bytes(int fd, const void *data, size_t bytes)
{
	assert_int_equal(send(fd, data, bytes, MSG_NOSIGNAL), (ssize_t)bytes);
}

/* A sealed page, as ours. */
static int page_fd(unsigned int seals)
{
	int fd = memfd_create("page", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_int_equal(ftruncate(fd, PAGE_BYTES), 0);
	if (seals != 0)
		assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static struct qoi_layout_hello good_hello(void)
{
	struct qoi_layout_hello hello = { .magic = QOI_HELLO_MAGIC,
					  .version = QOI_LAYOUT_VERSION,
					  .bytes = sizeof(hello),
					  .layout_hash = QOI_LAYOUT_HASH,
					  .window_bytes = PAGE_BYTES };

	/* The lowest of all ids but that of nobody. */
	hello.endpoint_id[QO_SHM_ID_BYTES - 1] = 1;
	return hello;
}

static void send_hello(int fd, struct qoi_layout_hello hello, int page,
		       int event)
{
	struct qoi_packet packet;

	qoi_packet_init(&packet, &hello, sizeof(hello));
	packet.fds[0] = page;
	packet.fds[1] = event;
	packet.fd_count = page < 0 ? 0 : 2;
	assert_int_equal(qoi_packet_send(fd, &packet), 0);
	if (page >= 0)
		close(page);
	if (event >= 0)
		close(event);
}

static void foreign_bytes_are_refused(void **state)
{
	static uint8_t large[100000];
	int fd;

	(void)state;
	fd = dial();
	send_bytes(fd, "GET / HTTP/1.1\r\n\r\n", 18);
	expect_refusal(fd);
	fd = dial();
	send_bytes(fd, "x", 1);
	expect_refusal(fd);
	fd = dial();
	send_bytes(fd, "", 0);
	expect_refusal(fd);
	fd = dial();
	send_bytes(fd, large, sizeof(large));
	expect_refusal(fd);
	fd = dial();
	close(fd);
}

static void a_talking_knock_is_refused(void **state)
{
	struct qo_shm_knock knock = { .magic = QO_SHM_MAGIC_KNOCK };
	int fd = dial();

	(void)state;
	send_bytes(fd, &knock, sizeof(knock));
	endpoint_settle(target);
	send_bytes(fd, "again", 5);
	expect_refusal(fd);
}

static void an_incomplete_hello_is_refused(void **state)
{
	struct qoi_layout_hello hello = good_hello();
	int pipes[2];
	int fd;

	(void)state;
	fd = dial();
	send_hello(fd, hello, -1, -1);
	expect_refusal(fd);
	/* Something that could block us in place of the eventfd. */
	fd = dial();
	assert_int_equal(pipe(pipes), 0);
	close(pipes[0]);
	send_hello(fd, hello, page_fd(SEALS), pipes[1]);
	expect_refusal(fd);
	/* A page that can be cut off. */
	fd = dial();
	send_hello(fd, hello, page_fd(0), eventfd(0, 0));
	expect_refusal(fd);
	/* A page that isn't. */
	fd = dial();
	send_hello(fd, hello, open("/dev/null", O_RDWR), eventfd(0, 0));
	expect_refusal(fd);
	fd = dial();
	hello.window_bytes *= 2;
	send_hello(fd, hello, page_fd(SEALS), eventfd(0, 0));
	expect_refusal(fd);
}

static void a_false_identity_is_refused(void **state)
{
	struct qoi_layout_hello hello = good_hello();
	int fd = dial();

	/* Higher: it should have knocked. */
	(void)state;
	memset(hello.endpoint_id, 0xff, sizeof(hello.endpoint_id));
	send_hello(fd, hello, page_fd(SEALS), eventfd(0, 0));
	expect_refusal(fd);
	/* Ourselves. */
	fd = dial();
	memcpy(hello.endpoint_id, target_address.endpoint_id, QO_SHM_ID_BYTES);
	send_hello(fd, hello, page_fd(SEALS), eventfd(0, 0));
	expect_refusal(fd);
}

static void another_layout_is_told_ours(void **state)
{
	struct qoi_layout_hello hello = good_hello();
	struct qoi_layout_hello answer;
	struct qo_shm_result result;
	int fd = dial();

	(void)state;
	hello.layout_hash ^= 1;
	send_hello(fd, hello, page_fd(SEALS), eventfd(0, 0));
	endpoint_settle(target);
	assert_int_equal(recv(fd, &answer, sizeof(answer), 0), sizeof(answer));
	assert_int_equal(answer.layout_hash, QOI_LAYOUT_HASH);
	assert_int_equal(recv(fd, &result, sizeof(result), 0), sizeof(result));
	assert_int_equal(result.error, EPROTONOSUPPORT);
	expect_refusal(fd);
}

static void a_later_and_longer_hello_is_told_ours(void **state)
{
	struct {
		struct qoi_layout_hello hello;
		uint8_t more[300];
	} later = { .hello = good_hello() };
	struct qoi_layout_hello answer;
	int fd = dial();

	(void)state;
	later.hello.version = QOI_LAYOUT_VERSION + 1;
	later.hello.bytes = sizeof(later);
	send_bytes(fd, &later, sizeof(later));
	endpoint_settle(target);
	assert_int_equal(recv(fd, &answer, sizeof(answer), 0), sizeof(answer));
	assert_int_equal(answer.version, QOI_LAYOUT_VERSION);
	expect_refusal(fd);
}

static void who_stops_after_the_hello_is_let_go(void **state)
{
	int fd = dial();

	(void)state;
	send_hello(fd, good_hello(), page_fd(SEALS), eventfd(0, 0));
	endpoint_settle(target);
	send_bytes(fd, "garbage", 7);
	expect_refusal(fd);
	fd = dial();
	send_hello(fd, good_hello(), page_fd(SEALS), eventfd(0, 0));
	endpoint_settle(target);
	close(fd);
}

/* A socket where ours expects a peer. */
struct fake {
	int listen_fd;
	int fd;
	struct qoi_layout_hello hello;
	int says_hello;
	int stays;
};

static void *fake_peer(void *arg)
{
	struct fake *fake = arg;
	struct pollfd watched = { .fd = fake->listen_fd, .events = POLLIN };
	struct qoi_packet packet;
	struct qoi_layout_hello theirs;
	size_t bytes;

	poll(&watched, 1, 5000);
	fake->fd = accept4(fake->listen_fd, NULL, NULL, SOCK_NONBLOCK);
	watched.fd = fake->fd;
	poll(&watched, 1, 5000);
	qoi_packet_init(&packet, &theirs, sizeof(theirs));
	if (qoi_packet_recv(fake->fd, &packet, &bytes) == 0)
		qoi_packet_close(&packet);
	if (fake->says_hello)
		send(fake->fd, &fake->hello, sizeof(fake->hello), MSG_NOSIGNAL);
	if (!fake->stays) {
		close(fake->listen_fd);
		close(fake->fd);
	}
	return NULL;
}

/* Calls it; gives what connect() returns, and how long that took. */
static int connect_to_fake(struct fake *fake, uint8_t id_byte, int64_t ms,
			   int64_t *took_ns)
{
	struct qo_shm_address address = target_address;
	int64_t start_ns = qoi_clock_ns();
	struct qo_conn *conn;
	pthread_t thread;
	int rc;

	/* Another run of this test has other names. */
	memset(address.endpoint_id, id_byte, QO_SHM_ID_BYTES);
	memcpy(address.endpoint_id + 8, &(pid_t){ getpid() }, sizeof(pid_t));
	assert_int_equal(
		qo_shm_socket_listen(address.endpoint_id, &fake->listen_fd), 0);
	memcpy(fake->hello.endpoint_id, address.endpoint_id, QO_SHM_ID_BYTES);
	pthread_create(&thread, NULL, fake_peer, fake);
	rc = target->provider->ops->connect(target, &address, sizeof(address),
					    in_ms(ms), &conn);
	pthread_join(thread, NULL);
	*took_ns = qoi_clock_ns() - start_ns;
	if (fake->stays) {
		close(fake->listen_fd);
		close(fake->fd);
	}
	return rc;
}

/* Ours must be lower, or higher, than the fake one. */
static int own_id_is_in_the_middle(void)
{
	return target_address.endpoint_id[0] > 0x00 &&
	       target_address.endpoint_id[0] < 0xff;
}

static void both_versions_are_named(void **state)
{
	struct fake fake = { .hello = good_hello(), .says_hello = 1 };
	int64_t took_ns;

	(void)state;
	if (!own_id_is_in_the_middle())
		skip();
	fake.hello.version = 7;
	fake.hello.layout_hash = 0xabcdef;
	assert_int_equal(connect_to_fake(&fake, 0xff, 5000, &took_ns),
			 -EPROTONOSUPPORT);
	assert_non_null(strstr(qo_error_detail(), "version 7"));
	assert_non_null(strstr(qo_error_detail(), "0000000000abcdef"));
	assert_non_null(strstr(qo_error_detail(), "library version 1"));
}

static void a_peer_that_hangs_up_is_lost_at_once(void **state)
{
	static const uint8_t ids[] = { 0x00, 0xff };
	int64_t took_ns;

	(void)state;
	if (!own_id_is_in_the_middle())
		skip();
	for (int i = 0; i < 2; i++) {
		struct fake fake = { .listen_fd = -1 };

		assert_int_equal(connect_to_fake(&fake, ids[i], 5000, &took_ns),
				 -ECONNRESET);
		assert_true(took_ns < SECOND_NS);
	}
}

static void a_silent_peer_is_not_waited_for_beyond_the_deadline(void **state)
{
	static const uint8_t ids[] = { 0x00, 0xff };
	int64_t took_ns;

	(void)state;
	if (!own_id_is_in_the_middle())
		skip();
	for (int i = 0; i < 2; i++) {
		struct fake fake = { .stays = 1 };

		assert_int_equal(connect_to_fake(&fake, ids[i], 50, &took_ns),
				 -ETIMEDOUT);
		assert_true(took_ns < SECOND_NS);
	}
}

/* From a peer that went astray after it was let in. */
static void foreign_control_bytes_end_the_connection(void **state)
{
	struct qo_shm_control header = { .magic = QO_SHM_MAGIC_CONTROL };
	const struct qo_control_tag tag = { 1, 1, 1 };

	(void)state;
	for (int i = 0; i < 5; i++) {
		const struct qo_provider_ops *ops = target->provider->ops;
		static uint8_t large[QO_CONTROL_BYTES_MAX + 100];
		struct pair pair;
		size_t bytes;
		int fd;

		assert_int_equal(pair_open(&pair, "shm", NULL, 64), 0);
		fd = ((struct qo_shm_conn *)pair.conn[0])->fd;
		header.data_bytes = i == 2 ? 1 : 0;
		header.window_count = i == 3 ? 1 : i == 4 ? 2 : 0;
		header.window_bytes = 64;
		if (i == 0)
			send_bytes(fd, "short", 5);
		else if (i == 1)
			send_bytes(fd, large, sizeof(large));
		else
			send_bytes(fd, &header, sizeof(header));
		assert_int_equal(ops->control_recv(pair.conn[1], &tag, NULL, 0,
						   &bytes, NULL, in_ms(1000)),
				 -ECONNRESET);
		assert_int_equal(ops->control_recv(pair.conn[1], &tag, NULL, 0,
						   &bytes, NULL, in_ms(1000)),
				 -ECONNRESET);
		assert_int_equal(conn_fate(pair.conn[0]), -ECONNRESET);
		assert_int_equal(conn_fate(pair.conn[1]), -ECONNRESET);
		pair_close(&pair);
	}
}

static void a_false_window_is_refused_alone(void **state)
{
	struct qo_shm_control header = { .magic = QO_SHM_MAGIC_CONTROL,
					 .window_count = 1,
					 .window_index = 99,
					 .window_bytes = PAGE_BYTES };
	struct qo_control_tag tag = { 0, 0, 0 };
	const struct qo_provider_ops *ops = target->provider->ops;
	struct qo_remote *remote = NULL;
	struct qoi_packet packet;
	struct pair pair;
	size_t bytes;
	int fd;

	(void)state;
	assert_int_equal(pair_open(&pair, "shm", NULL, 64), 0);
	fd = ((struct qo_shm_conn *)pair.conn[0])->fd;
	qoi_packet_init(&packet, &header, sizeof(header));
	packet.fd_count = 1;
	packet.fds[0] = page_fd(0);
	assert_int_equal(qoi_packet_send(fd, &packet), 0);
	assert_int_equal(ops->control_recv(pair.conn[1], &tag, NULL, 0, &bytes,
					   &remote, in_ms(1000)),
			 -EPERM);
	close(packet.fds[0]);
	packet.fds[0] = page_fd(SEALS);
	header.window_bytes = 1u << 30;
	assert_int_equal(qoi_packet_send(fd, &packet), 0);
	assert_int_equal(ops->control_recv(pair.conn[1], &tag, NULL, 0, &bytes,
					   &remote, in_ms(1000)),
			 -EBADMSG);
	close(packet.fds[0]);
	assert_null(remote);
	tag.team = 4;
	assert_int_equal(ops->control_send(pair.conn[0], &tag, NULL, 0, NULL,
					   in_ms(100)),
			 0);
	assert_int_equal(ops->control_recv(pair.conn[1], &tag, NULL, 0, &bytes,
					   &remote, in_ms(1000)),
			 0);
	pair_close(&pair);
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, open_target, close_target)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(foreign_bytes_are_refused),
		TEST(a_talking_knock_is_refused),
		TEST(an_incomplete_hello_is_refused),
		TEST(a_false_identity_is_refused),
		TEST(another_layout_is_told_ours),
		TEST(a_later_and_longer_hello_is_told_ours),
		TEST(who_stops_after_the_hello_is_let_go),
		TEST(both_versions_are_named),
		TEST(a_peer_that_hangs_up_is_lost_at_once),
		TEST(a_silent_peer_is_not_waited_for_beyond_the_deadline),
		TEST(foreign_control_bytes_end_the_connection),
		TEST(a_false_window_is_refused_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
