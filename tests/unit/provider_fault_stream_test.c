/* SPDX-License-Identifier: BSD-3-Clause */
/* Field case C5: puts that are reordered, torn, doubled, and counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "libqoffload/base/clock.h"
#include "providers/fault/fault.h"
#include "tests/unit/provider_pair.h"

#define SLOTS 16
#define SLOT_BYTES (1 << 20)
#define WORDS_OFFSET ((uint64_t)SLOTS * SLOT_BYTES)
#define WINDOW_BYTES (WORDS_OFFSET + 4096)
#define PUTS 100000
#define THREAD_PUTS 5000
/* With more threads than cores a turn comes seldom. */
#define STEPS_PER_YIELD 200
#define STEPS_MAX (100 * (uint64_t)PUTS)

static const char *const all[] = { "QO_FAULT_SEED=7",
				   "QO_FAULT_DELAY=10",
				   "QO_FAULT_REORDER=20",
				   "QO_FAULT_DUPLICATE=20",
				   "QO_FAULT_TEAR=20",
				   "QO_FAULT_REFUSE=10",
				   NULL };

static const struct qo_provider_ops *ops_of(const struct pair *pair)
{
	return pair->endpoint[0]->provider->ops;
}

/*
 * A slotted queue over two faulty endpoints: producer 0, consumer 1.  Each
 * side writes its own half.
 */
struct stream {
	struct pair pair;
	uint64_t puts;
	struct {
		uint8_t *data;
		uint64_t position;
		uint64_t credit; /* as last seen */
		int failures;
	} producer;
	struct {
		uint8_t *expected;
		uint64_t position;
		uint64_t told;
		int failures;
	} consumer;
};

static uint64_t mix(uint64_t x)
{
	x = (x + UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xbf58476d1ce4e5b9);
	return x ^ (x >> 29);
}

/* 0 B to 1 KiB, with a few up to 1 MiB among them. */
static uint64_t size_of(uint64_t position)
{
	uint64_t x = mix(position);

	if (position % 5000 == 4999)
		return x % (SLOT_BYTES + 1);
	return x % 8 == 0 ? 0 : x % 1025;
}

static void fill(uint8_t *data, uint64_t position, uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes; i++)
		data[i] = (uint8_t)(mix(position + (i >> 3)) >> (i % 8));
}

static int producer_is_done(const struct stream *stream)
{
	const struct pair *pair = &stream->pair;

	return stream->producer.position == stream->puts &&
	       word_at(pair->window[0], 0) == stream->puts &&
	       !ops_of(pair)->busy(pair->endpoint[0]);
}

static void produce(struct stream *stream)
{
	struct pair *pair = &stream->pair;
	uint64_t position = stream->producer.position;
	uint64_t credit = word_at(pair->window[0], 0);
	uint64_t bytes = size_of(position);
	uint64_t slot = position % SLOTS;

	stream->producer.failures += credit < stream->producer.credit;
	stream->producer.credit = credit;
	if (position == stream->puts || position - credit >= SLOTS) {
		endpoint_poll(pair->endpoint[0]);
		return;
	}
	fill(stream->producer.data, position, bytes);
	if (put_word(pair->remote[0], slot * SLOT_BYTES, stream->producer.data,
		     bytes, WORDS_OFFSET + 8 * slot, position + 1) == 0)
		stream->producer.position++;
	else
		endpoint_poll(pair->endpoint[0]);
}

static int slot_is_wrong(const struct stream *stream, uint64_t position)
{
	uint64_t bytes = size_of(position);
	const uint8_t *slot =
		stream->pair.window[1]->base + position % SLOTS * SLOT_BYTES;

	fill(stream->consumer.expected, position, bytes);
	return memcmp(slot, stream->consumer.expected, bytes) != 0;
}

static int consumer_is_done(const struct stream *stream)
{
	const struct pair *pair = &stream->pair;

	return stream->consumer.told == stream->puts &&
	       !ops_of(pair)->busy(pair->endpoint[1]);
}

static void consume(struct stream *stream)
{
	struct pair *pair = &stream->pair;
	uint64_t position = stream->consumer.position;
	uint64_t word =
		word_at(pair->window[1], WORDS_OFFSET + 8 * (position % SLOTS));

	if (position < stream->puts && word == position + 1) {
		stream->consumer.failures += slot_is_wrong(stream, position);
		stream->consumer.position = ++position;
	} else {
		/* It may hold the lap before, and nothing else. */
		stream->consumer.failures += position < stream->puts &&
					     word != 0 &&
					     word + SLOTS != position + 1;
		endpoint_poll(pair->endpoint[1]);
	}
	if (position > stream->consumer.told &&
	    put_word(pair->remote[1], 0, NULL, 0, 0, position) == 0)
		stream->consumer.told = position;
}

static void stream_open(struct stream *stream, uint64_t puts)
{
	memset(stream, 0, sizeof(*stream));
	assert_int_equal(
		pair_open(&stream->pair, "fault:shm", all, WINDOW_BYTES), 0);
	stream->puts = puts;
	stream->producer.data = malloc(SLOT_BYTES);
	stream->consumer.expected = malloc(SLOT_BYTES);
}

static void stream_check_and_close(struct stream *stream)
{
	struct qo_fault_stats stats[2];

	assert_int_equal(stream->producer.failures, 0);
	assert_int_equal(stream->consumer.failures, 0);
	assert_int_equal(stream->consumer.position, stream->puts);
	for (int i = 0; i < 2; i++) {
		qo_fault_stats_get(stream->pair.endpoint[i], &stats[i]);
		assert_int_equal(stats[i].accepted, stats[i].delivered);
		assert_int_equal(stats[i].stale, stats[i].duplicated);
		assert_true(stats[i].reordered > 0 && stats[i].refused > 0);
	}
	assert_int_equal(stats[0].accepted, stream->puts);
	assert_true(stats[0].torn > stream->puts / 100);
	assert_true(stats[0].duplicated > stream->puts / 100);
	free(stream->producer.data);
	free(stream->consumer.expected);
	pair_close(&stream->pair);
}

static void many_puts_take_effect_once_each(void **state)
{
	static struct stream stream;
	uint64_t steps = 0;

	(void)state;
	stream_open(&stream, PUTS);
	while ((!producer_is_done(&stream) || !consumer_is_done(&stream)) &&
	       steps++ < STEPS_MAX) {
		produce(&stream);
		consume(&stream);
	}
	assert_true(steps < STEPS_MAX);
	stream_check_and_close(&stream);
}

static void *produce_all(void *arg)
{
	struct stream *stream = arg;
	int64_t deadline_ns = in_ms(60000);

	while (!producer_is_done(stream) && qoi_clock_ns() < deadline_ns) {
		for (int n = 0; n < STEPS_PER_YIELD; n++)
			produce(stream);
		sched_yield();
	}
	return NULL;
}

static void two_threads_see_each_put_once(void **state)
{
	static struct stream stream;
	int64_t deadline_ns = in_ms(60000);
	pthread_t thread;

	(void)state;
	stream_open(&stream, THREAD_PUTS);
	pthread_create(&thread, NULL, produce_all, &stream);
	while (!consumer_is_done(&stream) && qoi_clock_ns() < deadline_ns) {
		for (int n = 0; n < STEPS_PER_YIELD; n++)
			consume(&stream);
		sched_yield();
	}
	pthread_join(thread, NULL);
	stream_check_and_close(&stream);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_puts_take_effect_once_each),
		cmocka_unit_test(two_threads_see_each_put_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
