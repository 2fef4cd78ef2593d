/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random messages through one queue, between two threads (which is what
 * ThreadSanitizer can judge) or two processes.  Each message is compared byte
 * for byte with what the seed says, each way of sending and of looking is
 * taken, and the positions start shortly before a count wraps.
 */
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libqoffload/shm/probe.h"
#include "libqoffload/shm/queue.h"
#include "libqoffload/shm/segment.h"

#define PAYLOAD_MAX 1000
#define STALL_SECONDS 60
#define YIELD_EVERY 64

/* One queue and what is sent over it. */
struct stress {
	uint64_t seed;
	uint64_t messages;
	uint64_t start;
	struct qoi_queue_shape shape;
	uint32_t credit_batch;
	struct qoi_segment segment; /* header, credit, slots */
};

static uint64_t next_random(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	*state = x;
	return x * UINT64_C(0x2545f4914f6cdd1d);
}

/* Message n, from the seed alone; gives its length. */
static uint32_t make_message(const struct stress *stress, uint64_t n,
			     uint8_t *payload, uint16_t *kind, uint16_t *flags)
{
	uint64_t state =
		(stress->seed ^ (n + 1) * UINT64_C(0x9e3779b97f4a7c15)) | 1;
	uint64_t draw = next_random(&state);
	uint32_t bytes = (uint32_t)(draw % (stress->shape.payload_bytes + 1));
	uint32_t at;

	*kind = (uint16_t)(draw >> 32);
	*flags = (uint16_t)(draw >> 48);
	for (at = 0; at < bytes; at += 8) {
		draw = next_random(&state);
		memcpy(payload + at, &draw, bytes - at < 8 ? bytes - at : 8);
	}
	return bytes;
}

/* Counts tries without success; -1 after a minute of them. */
static int wait_again(uint64_t *tries)
{
	static _Thread_local struct timespec begin;
	struct timespec now;

	if (++*tries % YIELD_EVERY != 0) {
		qoi_pause();
		return 0;
	}
	sched_yield();
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (*tries == YIELD_EVERY)
		begin = now;
	return now.tv_sec - begin.tv_sec > STALL_SECONDS ? -1 : 0;
}

static struct qoi_layout_queue_header *header_of(const struct stress *stress)
{
	return (void *)stress->segment.base;
}

static uint64_t *credit_of(const struct stress *stress)
{
	return (void *)(stress->segment.base + QOI_LAYOUT_QUEUE_HEADER_BYTES);
}

static void *slots_of(const struct stress *stress)
{
	return stress->segment.base + QOI_LAYOUT_QUEUE_HEADER_BYTES +
	       QOI_CREDIT_BYTES;
}

/* Sends a message in one of three ways; -EAGAIN as the queue says. */
static int send_once(struct qoi_producer *producer, uint64_t how, uint8_t *data,
		     uint32_t bytes, uint16_t kind, uint16_t flags)
{
	void *payload;
	int error;

	if (how % 3 == 0)
		return qoi_producer_send(producer, data, bytes, kind, flags);
	error = qoi_producer_claim(producer, &payload);
	if (error != 0)
		return error;
	memcpy(payload, data, bytes);
	if (how % 3 == 1) {
		/* Changes its mind, and leaves rubbish in the slot. */
		memset(payload, 0xee, producer->payload_bytes);
		qoi_producer_abort(producer);
		return -EAGAIN;
	}
	qoi_producer_commit(producer, bytes, kind, flags);
	return 0;
}

static int produce(const struct stress *stress)
{
	struct qoi_producer producer;
	struct qoi_queue_shape shape;
	uint64_t state = stress->seed | 1;
	uint64_t start, epoch, n, tries = 0;
	uint8_t data[PAYLOAD_MAX + 16], staging[2 * PAYLOAD_MAX];
	int error;

	while ((error = qoi_queue_header_read(header_of(stress), &shape, &start,
					      &epoch)) == -EAGAIN)
		if (wait_again(&tries) != 0)
			return 1;
	if (error != 0 || start != stress->start || epoch != stress->seed)
		return 2;
	qoi_producer_init(&producer, &shape, slots_of(stress),
			  credit_of(stress), start);
	qoi_producer_set_staging(&producer, staging);
	for (n = 0; n < stress->messages; n++) {
		uint16_t kind, flags;
		uint64_t how = next_random(&state);
		uint8_t *from = data + how % 16;
		uint32_t bytes = make_message(stress, n, from, &kind, &flags);

		tries = 0;
		while ((error = send_once(&producer, how++, from, bytes, kind,
					  flags)) == -EAGAIN)
			if (wait_again(&tries) != 0)
				return 3;
		if (error != 0)
			return 4;
	}
	return 0;
}

static int consume(const struct stress *stress)
{
	struct qoi_consumer consumer;
	struct qoi_message message;
	uint8_t want[PAYLOAD_MAX + 8], staging[2 * PAYLOAD_MAX];
	uint64_t n, tries;
	int error;

	if (qoi_queue_format(&stress->shape, slots_of(stress), stress->start) !=
	    0)
		return 10;
	qoi_credit_format(credit_of(stress), stress->start);
	qoi_queue_header_publish(header_of(stress), &stress->shape,
				 stress->start, stress->seed);
	qoi_consumer_init(&consumer, &stress->shape, slots_of(stress),
			  credit_of(stress), stress->start,
			  stress->credit_batch);
	qoi_consumer_set_staging(&consumer, staging);
	for (n = 0; n < stress->messages; n++) {
		uint16_t kind, flags;
		uint32_t bytes = make_message(stress, n, want, &kind, &flags);

		tries = 0;
		while ((error = qoi_consumer_peek(&consumer, &message)) ==
		       -EAGAIN)
			if (wait_again(&tries) != 0)
				return 11;
		if (error != 0 || message.bytes != bytes ||
		    message.kind != kind || message.flags != flags ||
		    memcmp(message.payload, want, bytes) != 0) {
			fprintf(stderr, "message %" PRIu64 " is wrong\n", n);
			return 12;
		}
		qoi_consumer_release(&consumer);
	}
	return qoi_consumer_peek(&consumer, &message) == -EAGAIN ? 0 : 13;
}

static void *produce_thread(void *stress)
{
	return (void *)(intptr_t)produce(stress);
}

static int run_threads(struct stress *stress)
{
	pthread_t thread;
	void *produced;
	int consumed;

	if (pthread_create(&thread, NULL, produce_thread, stress) != 0)
		return 20;
	consumed = consume(stress);
	pthread_join(thread, &produced);
	return consumed != 0 ? consumed : (int)(intptr_t)produced;
}

static int run_processes(struct stress *stress)
{
	int status, consumed;
	pid_t child = fork();

	if (child < 0)
		return 21;
	if (child == 0)
		_exit(produce(stress));
	consumed = consume(stress);
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return 22;
	return consumed != 0 ? consumed : WEXITSTATUS(status);
}

struct options {
	uint64_t seed;
	uint64_t messages; /* in all */
	int modes;	   /* 1 threads, 2 processes */
	uint32_t encoding; /* 0: all */
};

/* One random queue; 0 or a code that says where it failed. */
static int run_one(const struct options *options, uint64_t seed,
		   uint64_t messages, int as_processes, uint32_t encoding)
{
	static const uint32_t bits[] = { 16, 32, 48, 64 };
	struct stress stress = { .seed = seed, .messages = messages };
	uint64_t state = seed | 1;
	uint32_t bit = bits[next_random(&state) % 4];
	int code;

	stress.shape.slot_count = UINT32_C(1) << next_random(&state) % 7;
	stress.shape.payload_bytes =
		(uint32_t)(next_random(&state) % PAYLOAD_MAX + 1);
	stress.shape.encoding = encoding;
	stress.credit_batch =
		(uint32_t)(next_random(&state) % (stress.shape.slot_count + 1));
	/* The wrap of the position, and of the lap, falls into the run. */
	stress.start = (bit == 64 ? 0 : UINT64_C(1) << bit) - messages / 2;
	if (qoi_segment_create("queue_stress",
			       QOI_LAYOUT_QUEUE_HEADER_BYTES + QOI_CREDIT_BYTES +
				       qoi_queue_bytes(&stress.shape),
			       &stress.segment) != 0)
		return 30;
	code = as_processes ? run_processes(&stress) : run_threads(&stress);
	qoi_segment_detach(&stress.segment);
	if (code != 0)
		fprintf(stderr,
			"queue_stress: code %d: --seed=%" PRIu64
			", queue seed %" PRIu64 ", %s, encoding %u, %u slots "
			"of %u bytes, credit batch %u, start 2^%u\n",
			code, options->seed, seed,
			as_processes ? "processes" : "threads", encoding,
			stress.shape.slot_count, stress.shape.payload_bytes,
			stress.credit_batch, bit);
	return code;
}

#define QUEUES_EACH 8

static int run_all(const struct options *options)
{
	uint64_t state = options->seed | 1;
	uint64_t each = options->messages / (2 * 3 * QUEUES_EACH) + 1;
	uint64_t done = 0;
	uint32_t encoding;
	int mode, i;

	for (mode = 0; mode < 2; mode++) {
		if ((options->modes & 1 << mode) == 0)
			continue;
		for (encoding = QOI_ENCODING_CLASSIC;
		     encoding <= QOI_ENCODING_CHUNK8; encoding++) {
			if (options->encoding != 0 &&
			    options->encoding != encoding)
				continue;
			if (encoding == QOI_ENCODING_CHUNK16 &&
			    qoi_probe_encoding() != QOI_ENCODING_CHUNK16) {
				printf("queue_stress: 16 bytes tear here\n");
				continue;
			}
			for (i = 0; i < QUEUES_EACH; i++) {
				if (run_one(options, next_random(&state), each,
					    mode == 1, encoding) != 0)
					return 1;
				done += each;
			}
		}
	}
	printf("queue_stress: %" PRIu64 " messages right, --seed=%" PRIu64 "\n",
	       done, options->seed);
	return 0;
}

int main(int argc, char **argv)
{
	struct options options = { (uint64_t)time(NULL), 1200000, 3, 0 };
	static const struct option table[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "messages", required_argument, NULL, 'n' },
		{ "threads", no_argument, NULL, 't' },
		{ "classic", no_argument, NULL, 'c' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", table, NULL)) != -1) {
		if (c == 's')
			options.seed = strtoull(optarg, NULL, 0);
		else if (c == 'n')
			options.messages = strtoull(optarg, NULL, 0);
		else if (c == 't')
			options.modes = 1;
		else if (c == 'c')
			options.encoding = QOI_ENCODING_CLASSIC;
		else
			return 2;
	}
	printf("queue_stress: --seed=%" PRIu64 "\n", options.seed);
	fflush(stdout);
	return run_all(&options);
}
