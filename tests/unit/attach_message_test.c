/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <qoffload/error.h>

#include "libqoffload/attach/message.h"

#define HEADER_BYTES sizeof(struct qoi_layout_attach_header)

static int ends[2];

static int open_ends(void **state)
{
	(void)state;
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
}

static int close_ends(void **state)
{
	(void)state;
	close(ends[0]);
	close(ends[1]);
	return 0;
}

static void assert_detail_has(const char *text)
{
	if (strstr(qo_error_detail(), text) == NULL)
		print_error("\"%s\" is not in: %s\n", text, qo_error_detail());
	assert_non_null(strstr(qo_error_detail(), text));
}

static int same_file(int fd_a, int fd_b)
{
	struct stat a, b;

	return fstat(fd_a, &a) == 0 && fstat(fd_b, &b) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static int is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void every_kind_arrives_whole(void **state)
{
	(void)state;
	for (uint16_t kind = QOI_ATTACH_HELLO; kind <= QOI_ATTACH_ANSWER;
	     kind++) {
		struct qoi_attach_message sent, came;

		qoi_attach_message_init(&sent, kind, 1000u + kind);
		memset(&sent.body, kind, qoi_attach_body_bytes(kind));
		sent.header.error = kind;
		assert_int_equal(qoi_attach_send(ends[0], &sent), 0);
		assert_int_equal(qoi_attach_recv(ends[1], &came), 0);
		assert_memory_equal(&came.header, &sent.header,
				    sizeof(sent.header));
		assert_memory_equal(&came.body, &sent.body, sizeof(sent.body));
		assert_int_equal(came.fds[0], -1);
		assert_int_equal(came.fds[1], -1);
		assert_int_equal(came.fds_lost, 0);
	}
	assert_int_equal(qoi_attach_body_bytes(0), UINT32_MAX);
	assert_int_equal(qoi_attach_body_bytes(QOI_ATTACH_ANSWER + 1),
			 UINT32_MAX);
	assert_int_equal(qoi_attach_body_bytes(QOI_ATTACH_BYE), 0);
}

static void a_status_has_the_size_of_what_was_asked_for(void **state)
{
	static const struct {
		uint32_t what;
		uint32_t bytes;
	} cases[] = {
		{ QOI_STATUS_TOTAL,
		  sizeof(struct qoi_layout_attach_status_total) },
		{ QOI_STATUS_CLIENT,
		  sizeof(struct qoi_layout_attach_status_client) },
		{ QOI_STATUS_ERROR,
		  sizeof(struct qoi_layout_attach_status_error) },
	};
	struct qoi_attach_message sent, came;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		qoi_attach_status_init(&sent, cases[i].what, 5);
		assert_int_equal(sent.body.total.what, cases[i].what);
		assert_int_equal(sent.header.bytes,
				 HEADER_BYTES + cases[i].bytes);
		sent.body.bytes[cases[i].bytes - 1] = 77;
		assert_int_equal(qoi_attach_send(ends[0], &sent), 0);
		assert_int_equal(qoi_attach_recv(ends[1], &came), 0);
		assert_int_equal(came.body.bytes[cases[i].bytes - 1], 77);
	}
	/* There is no further client, no further error. */
	for (uint32_t what = QOI_STATUS_CLIENT; what <= QOI_STATUS_ERROR;
	     what++) {
		qoi_attach_status_init(&sent, what, 5);
		sent.body.client.what = 0;
		assert_int_equal(qoi_attach_send(ends[0], &sent), 0);
		assert_int_equal(qoi_attach_recv(ends[1], &came), 0);
		assert_int_equal(came.body.client.what, 0);
	}
	/* Of one kind, with the size of another. */
	qoi_attach_status_init(&sent, QOI_STATUS_CLIENT, 5);
	sent.body.client.what = QOI_STATUS_TOTAL;
	assert_int_equal(qoi_attach_send(ends[0], &sent), 0);
	assert_int_equal(qoi_attach_recv(ends[1], &came), -EBADMSG);
}

static void descriptors_go_along_and_the_receiver_owns_them(void **state)
{
	struct qoi_attach_message sent, came;
	int first = eventfd(0, 0);
	int second = open("/dev/null", O_RDONLY);

	(void)state;
	qoi_attach_message_init(&sent, QOI_ATTACH_HELLO, 1);
	sent.fds[0] = second;
	sent.fds[1] = first;
	assert_int_equal(qoi_attach_send(ends[0], &sent), 0);
	assert_true(is_open(first));
	assert_int_equal(qoi_attach_recv(ends[1], &came), 0);
	assert_true(same_file(came.fds[0], second));
	assert_true(came.fds[0] != second);
	assert_int_equal(fcntl(came.fds[1], F_GETFD), FD_CLOEXEC);
	/* One is taken out and stays open, the other is closed. */
	second = came.fds[1];
	came.fds[1] = -1;
	first = came.fds[0];
	qoi_attach_message_close(&came);
	assert_false(is_open(first));
	assert_true(is_open(second));
	assert_int_equal(came.fds[0], -1);
	close(second);
	qoi_attach_message_close(&sent);
}

static void sending_and_taking_never_block(void **state)
{
	struct qoi_attach_message message;
	int sent = 0;

	(void)state;
	assert_int_equal(qoi_attach_recv(ends[1], &message), -EAGAIN);
	qoi_attach_message_init(&message, QOI_ATTACH_ANSWER, 1);
	while (sent < 100000 && qoi_attach_send(ends[0], &message) == 0)
		sent++;
	assert_in_range(sent, 1, 99999);
	assert_int_equal(qoi_attach_send(ends[0], &message), -EAGAIN);
	close(ends[0]);
	ends[0] = -1;
	/* What was sent before the end still comes. */
	while (sent-- > 0)
		assert_int_equal(qoi_attach_recv(ends[1], &message), 0);
	assert_int_equal(qoi_attach_recv(ends[1], &message), -ECONNRESET);
	qoi_attach_message_init(&message, QOI_ATTACH_BYE, 1);
	assert_int_equal(qoi_attach_send(ends[1], &message), -ECONNRESET);
}

static void assert_bytes_refused(const void *bytes, size_t count)
{
	struct qoi_attach_message came;

	assert_int_equal(send(ends[0], bytes, count, 0), count);
	assert_int_equal(qoi_attach_recv(ends[1], &came), -EBADMSG);
	/* Only that message is lost. */
	assert_int_equal(qoi_attach_recv(ends[1], &came), -EAGAIN);
}

static void bytes_that_are_no_message_are_refused(void **state)
{
	struct {
		struct qoi_layout_attach_header header;
		uint8_t body[2000];
	} wild;

	(void)state;
	memset(&wild, 0xff, sizeof(wild));
	assert_bytes_refused(&wild, 1);
	assert_bytes_refused(&wild, HEADER_BYTES - 1);
	assert_bytes_refused(&wild, HEADER_BYTES + 100);
	assert_bytes_refused(&wild, sizeof(wild));
	memset(&wild, 0, sizeof(wild));
	wild.header.magic = QOI_ATTACH_MAGIC;
	wild.header.kind = QOI_ATTACH_BYE;
	wild.header.bytes = HEADER_BYTES + 1;
	assert_bytes_refused(&wild, HEADER_BYTES);
	assert_bytes_refused(&wild, HEADER_BYTES + 1);
	wild.header.bytes = HEADER_BYTES - 1;
	assert_bytes_refused(&wild, HEADER_BYTES - 1);
	wild.header.bytes = HEADER_BYTES;
	for (uint32_t kind = 0; kind <= UINT16_MAX; kind += 11) {
		wild.header.kind = (uint16_t)kind;
		if (kind != QOI_ATTACH_BYE)
			assert_bytes_refused(&wild, HEADER_BYTES);
	}
	/* A hello of ours that is cut, and one that is too long. */
	wild.header.kind = QOI_ATTACH_HELLO;
	qoi_attach_hello_fill((void *)wild.body);
	wild.header.bytes = HEADER_BYTES + 192;
	assert_bytes_refused(&wild, HEADER_BYTES + 192);
	wild.header.bytes = HEADER_BYTES + 257;
	assert_bytes_refused(&wild, HEADER_BYTES + 257);
}

static void descriptors_of_refused_messages_are_closed(void **state)
{
	struct qoi_attach_message sent, came;
	int before = dup(0);

	(void)state;
	close(before);
	qoi_attach_message_init(&sent, QOI_ATTACH_REGION_ADD, 1);
	sent.header.magic = 1;
	sent.fds[0] = ends[0];
	sent.fds[1] = ends[1];
	assert_int_equal(qoi_attach_send(ends[0], &sent), 0);
	assert_int_equal(qoi_attach_recv(ends[1], &came), -EBADMSG);
	assert_int_equal(came.fds[0], -1);
	/* The next number is free again. */
	assert_int_equal(dup(0), before);
	close(before);
}

static void a_hello_says_who_we_are_and_is_accepted(void **state)
{
	struct qoi_layout_hello hello;
	static const uint8_t zero[16];

	(void)state;
	memset(&hello, 0x77, sizeof(hello));
	qoi_attach_hello_fill(&hello);
	assert_int_equal(qoi_attach_hello_check(&hello), 0);
	assert_int_equal(hello.pid, getpid());
	assert_int_equal(hello.uid, geteuid());
	assert_int_equal(hello.flags, 0);
	assert_true(memcmp(hello.node_id, zero, sizeof(zero)) != 0);
	assert_memory_equal(hello.endpoint_id, zero, sizeof(zero));
#ifdef QO_DEBUG_HOOKS
	assert_int_equal(hello.build, QOI_HELLO_BUILD_HOOKS);
#endif
	hello.bytes++;
	assert_int_equal(qoi_attach_hello_check(&hello), -EBADMSG);
	hello.bytes--;
	hello.magic++;
	assert_int_equal(qoi_attach_hello_check(&hello), -EBADMSG);
}

/* Field case C9: both versions are told, whatever size the other's has. */
static void a_hello_of_another_layout_is_told_in_full(void **state)
{
	static const uint32_t sizes[] = { 24, 100, 192, 256, 1000 };
	struct {
		struct qoi_layout_attach_header header;
		struct qoi_layout_hello hello;
		uint8_t more[1000];
	} wire;
	struct qoi_attach_message came;

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t bytes = HEADER_BYTES + sizes[i];

		memset(&wire, 0, sizeof(wire));
		wire.header.magic = QOI_ATTACH_MAGIC;
		wire.header.kind = QOI_ATTACH_HELLO;
		wire.header.bytes = (uint32_t)bytes;
		qoi_attach_hello_fill(&wire.hello);
		wire.hello.version = 4711;
		wire.hello.layout_hash = 0xabcdef;
		wire.hello.bytes = sizes[i];
		assert_int_equal(send(ends[0], &wire, bytes, 0), bytes);
		assert_int_equal(qoi_attach_recv(ends[1], &came), 0);
		assert_int_equal(qoi_attach_hello_check(&came.body.hello.hello),
				 -EPROTONOSUPPORT);
		assert_detail_has("version 4711, hash 0000000000abcdef");
		assert_detail_has("this library version 1");
	}
}

int main(void)
{
#define WITH_ENDS(test)                                                        \
	cmocka_unit_test_setup_teardown(test, open_ends, close_ends)
	const struct CMUnitTest tests[] = {
		WITH_ENDS(every_kind_arrives_whole),
		WITH_ENDS(a_status_has_the_size_of_what_was_asked_for),
		WITH_ENDS(descriptors_go_along_and_the_receiver_owns_them),
		WITH_ENDS(sending_and_taking_never_block),
		WITH_ENDS(bytes_that_are_no_message_are_refused),
		WITH_ENDS(descriptors_of_refused_messages_are_closed),
		cmocka_unit_test(a_hello_says_who_we_are_and_is_accepted),
		WITH_ENDS(a_hello_of_another_layout_is_told_in_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
