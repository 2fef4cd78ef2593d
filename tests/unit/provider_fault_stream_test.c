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

/* A slotted queue over two faulty endpoints: producer 0, consumer 1. */
struct stream {
	struct pair pair;
	int64_t deadline_ns;
	int failures;
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

static void *produce(void *arg)
{
	struct stream *stream = arg;
	struct pair *pair = &stream->pair;
	uint8_t *data = malloc(SLOT_BYTES);
	uint64_t seen = 0;
	uint64_t position = 0;

	while (position < PUTS && qoi_clock_ns() < stream->deadline_ns) {
		uint64_t credit = word_at(pair->window[0], 0);
		uint64_t bytes = size_of(position);
		uint64_t slot = position % SLOTS;

		stream->failures += credit < seen;
		seen = credit;
		if (position - credit >= SLOTS) {
			endpoint_poll(pair->endpoint[0]);
			sched_yield();
			continue;
		}
		fill(data, position, bytes);
		if (put_word(pair->remote[0], slot * SLOT_BYTES, data, bytes,
			     WORDS_OFFSET + 8 * slot, position + 1) == 0)
			position++;
		else
			endpoint_poll(pair->endpoint[0]);
	}
	while (ops_of(pair)->busy(pair->endpoint[0]) ||
	       word_at(pair->window[0], 0) != position) {
		endpoint_poll(pair->endpoint[0]);
		sched_yield();
		if (qoi_clock_ns() >= stream->deadline_ns) {
			stream->failures++;
			break;
		}
	}
	free(data);
	return NULL;
}

static int check_slot(const struct pair *pair, uint64_t position,
		      uint8_t *expected)
{
	uint64_t bytes = size_of(position);
	const uint8_t *slot =
		pair->window[1]->base + position % SLOTS * SLOT_BYTES;

	fill(expected, position, bytes);
	return memcmp(slot, expected, bytes) != 0;
}

static void consume(struct stream *stream)
{
	struct pair *pair = &stream->pair;
	uint8_t *expected = malloc(SLOT_BYTES);
	uint64_t position = 0;
	uint64_t told = 0;

	while (told < PUTS && qoi_clock_ns() < stream->deadline_ns) {
		uint64_t word = word_at(pair->window[1],
					WORDS_OFFSET + 8 * (position % SLOTS));

		if (position < PUTS && word == position + 1) {
			stream->failures += check_slot(pair, position, expected);
			position++;
		} else {
			/* It may hold the lap before, and nothing else. */
			stream->failures += position < PUTS && word != 0 &&
					    word + SLOTS != position + 1;
			endpoint_poll(pair->endpoint[1]);
			sched_yield();
		}
		if (position > told &&
		    put_word(pair->remote[1], 0, NULL, 0, 0, position) == 0)
			told = position;
	}
	while (ops_of(pair)->busy(pair->endpoint[1]))
		endpoint_poll(pair->endpoint[1]);
	stream->failures += position != PUTS;
	free(expected);
}

static void many_puts_take_effect_once_each(void **state)
{
	static struct stream stream;
	struct stream producer;
	struct qo_fault_stats stats[2];
	pthread_t thread;

	(void)state;
	assert_int_equal(pair_open(&stream.pair, "fault:shm", all, WINDOW_BYTES),
			 0);
	stream.deadline_ns = in_ms(60000);
	producer = stream;
	pthread_create(&thread, NULL, produce, &producer);
	consume(&stream);
	pthread_join(thread, NULL);
	assert_int_equal(stream.failures, 0);
	assert_int_equal(producer.failures, 0);
	for (int i = 0; i < 2; i++) {
		qo_fault_stats_get(stream.pair.endpoint[i], &stats[i]);
		assert_int_equal(stats[i].accepted, stats[i].delivered);
		assert_int_equal(stats[i].stale, stats[i].duplicated);
		assert_true(stats[i].reordered > 0 && stats[i].refused > 0);
	}
	assert_int_equal(stats[0].accepted, PUTS);
	assert_true(stats[0].torn > 1000 && stats[0].duplicated > 1000);
	pair_close(&stream.pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_puts_take_effect_once_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
