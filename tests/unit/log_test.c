/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "libqoffload/base/log.h"
#include "tests/unit/capture.h"

#define THREAD_COUNT 4
#define LINES_PER_THREAD 50
#define LETTERS 40

static struct capture capture;

static int restore_level(void **state)
{
	(void)state;
	qoi_log_set_level(QOI_LOG_WARN);
	return 0;
}

static void a_line_is_the_prefix_the_level_and_the_text(void **state)
{
	(void)state;
	capture_start(&capture);
	qoi_log_error("slot %d", 3);
	qoi_log_warn("slot %d", 4);
	capture_stop(&capture);
	assert_string_equal(capture.text, "qo: error slot 3\nqo: warn slot 4\n");
}

static void info_is_not_shown_before_it_is_asked_for(void **state)
{
	(void)state;
	capture_start(&capture);
	qoi_log_info("quiet");
	qoi_log_set_level(QOI_LOG_INFO);
	qoi_log_info("loud");
	qoi_log_debug("quiet");
	capture_stop(&capture);
	assert_string_equal(capture.text, "qo: info loud\n");
	assert_int_equal(qoi_log_level(), QOI_LOG_INFO);
}

static int evaluated;

static int count_evaluation(void)
{
	return ++evaluated;
}

static void trace_is_compiled_out(void **state)
{
	(void)state;
#ifdef QO_TRACE
	skip();
#endif
	capture_start(&capture);
	qoi_log_set_level(QOI_LOG_TRACE);
	qoi_log_trace("operation %d", count_evaluation());
	capture_stop(&capture);
	assert_string_equal(capture.text, "");
	assert_int_equal(evaluated, 0);
}

static void a_level_out_of_range_writes_nothing(void **state)
{
	(void)state;
	capture_start(&capture);
	qoi_log_set_level(100);
	qoi_log(-1, "no");
	qoi_log(QOI_LOG_TRACE + 1, "no");
	capture_stop(&capture);
	assert_string_equal(capture.text, "");
}

static void foreign_text_cannot_forge_a_line(void **state)
{
	(void)state;
	capture_start(&capture);
	qoi_log_warn("peer says %s", "hi\nqo: error all is lost\x1b[2J");
	capture_stop(&capture);
	assert_string_equal(capture.text,
			    "qo: warn peer says hi qo: error all is lost [2J\n");
}

static void a_line_too_long_is_cut_and_still_ends_its_line(void **state)
{
	(void)state;
	capture_start(&capture);
	qoi_log_warn("%0*d", 2 * QOI_LOG_LINE_BYTES, 1);
	capture_stop(&capture);
	assert_int_equal(strlen(capture.text), QOI_LOG_LINE_BYTES + 1);
	assert_string_equal(capture.text + QOI_LOG_LINE_BYTES - 3, "...\n");
}

static void a_line_that_just_fits_is_whole(void **state)
{
	int fit = QOI_LOG_LINE_BYTES - (int)strlen("qo: warn ") - 1;

	(void)state;
	capture_start(&capture);
	qoi_log_warn("%0*d", fit, 1);
	capture_stop(&capture);
	assert_int_equal(strlen(capture.text), QOI_LOG_LINE_BYTES);
	assert_string_equal(capture.text + QOI_LOG_LINE_BYTES - 4, "001\n");
}

static void errno_is_printed_and_kept(void **state)
{
	(void)state;
	capture_start(&capture);
	errno = EPIPE;
	qoi_log_warn("write: %m");
	assert_int_equal(errno, EPIPE);
	capture_stop(&capture);
	assert_string_equal(capture.text, "qo: warn write: Broken pipe\n");
}

static void *write_lines(void *arg)
{
	char letters[LETTERS + 1];

	memset(letters, *(const char *)arg, LETTERS);
	letters[LETTERS] = '\0';
	for (int i = 0; i < LINES_PER_THREAD; i++)
		qoi_log_warn("%s", letters);
	return NULL;
}

/* Counts the lines that are the prefix and one letter, LETTERS times. */
static int count_whole_lines(const char *text)
{
	const size_t prefix = strlen("qo: warn ");
	int count = 0;

	for (; *text != '\0'; text = strchr(text, '\n') + 1) {
		char letter[2] = { text[prefix], '\0' };

		if (strncmp(text, "qo: warn ", prefix) == 0 &&
		    strspn(text + prefix, letter) == LETTERS &&
		    text[prefix + LETTERS] == '\n')
			count++;
	}
	return count;
}

static void lines_of_several_threads_do_not_mix(void **state)
{
	char letters[THREAD_COUNT] = { 'a', 'b', 'c', 'd' };
	pthread_t threads[THREAD_COUNT];

	(void)state;
	capture_start(&capture);
	for (int i = 0; i < THREAD_COUNT; i++)
		pthread_create(&threads[i], NULL, write_lines, &letters[i]);
	for (int i = 0; i < THREAD_COUNT; i++)
		pthread_join(threads[i], NULL);
	capture_stop(&capture);
	assert_int_equal(count_whole_lines(capture.text),
			 THREAD_COUNT * LINES_PER_THREAD);
}

#define TEST(function)                                                         \
	cmocka_unit_test_setup_teardown(function, restore_level, restore_level)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_line_is_the_prefix_the_level_and_the_text),
		TEST(info_is_not_shown_before_it_is_asked_for),
		TEST(trace_is_compiled_out),
		TEST(a_level_out_of_range_writes_nothing),
		TEST(foreign_text_cannot_forge_a_line),
		TEST(a_line_too_long_is_cut_and_still_ends_its_line),
		TEST(a_line_that_just_fits_is_whole),
		TEST(errno_is_printed_and_kept),
		TEST(lines_of_several_threads_do_not_mix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
