/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the queue costs: round trips over one queue pair beside a bare bounce
 * of the same bytes (memcpy into the other's buffer, release store of a flag,
 * acquire load; no library).  Both sides take turns within one run, on two
 * pinned cores, as threads and as processes.  The clock is read around each
 * round trip, on both sides alike.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libqoffload/shm/queue.h"
#include "libqoffload/shm/segment.h"
#include "tests/bench/samples.h"

#define REPETITIONS_MAX 1001
#define PAYLOAD_MAX 65536
#define BARE_HEADER_BYTES 16

struct options {
	int repetitions;
	int round_trips; /* per repetition and side */
	int warm_up;
	uint32_t slot_count;
	uint32_t encoding;
	uint32_t payload_bytes; /* 0: 64 and 1792 */
	int modes;		/* 1 threads, 2 processes */
	int json;
};

/* One direction of the bare bounce: the flag says how many have come. */
struct bare {
	uint64_t flag;
	uint64_t reserved;
	uint8_t data[];
};

/* All that both parties use, in one shared segment or private. */
struct party {
	struct qoi_producer producer;
	struct qoi_consumer consumer;
	struct bare *mine;
	struct bare *theirs;
};

struct bench {
	const struct options *options;
	uint32_t payload_bytes;
	int cpus[2];
	struct qoi_segment segment;
	struct party parties[2]; /* 0 asks, 1 answers */
	uint32_t *samples[2];	 /* all round trips; ns: queue, bare */
	double medians[2][REPETITIONS_MAX];
};

enum side { SIDE_QUEUE, SIDE_BARE };

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void die(const char *what, int error)
{
	fprintf(stderr, "queue_echo: %s: %s\n", what, strerror(error));
	exit(2);
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		die("sched_setaffinity", errno);
}

static uint64_t bare_put(struct bare *to, const void *data, uint32_t bytes,
			 uint64_t n)
{
	memcpy(to->data, data, bytes);
	__atomic_store_n(&to->flag, n, __ATOMIC_RELEASE);
	return n;
}

static void bare_get(struct bare *from, uint64_t n)
{
	while (__atomic_load_n(&from->flag, __ATOMIC_ACQUIRE) != n)
		qoi_pause();
}

static void queue_put(struct party *party, const void *data, uint32_t bytes)
{
	while (qoi_producer_send(&party->producer, data, bytes, 1, 0) != 0)
		qoi_pause();
}

static void queue_get(struct party *party, struct qoi_message *message)
{
	while (qoi_consumer_peek(&party->consumer, message) != 0)
		qoi_pause();
}

/* The answering party: sends back what it finds, from where it lies. */
static void answer(struct bench *bench)
{
	struct party *party = &bench->parties[1];
	uint64_t trips = (uint64_t)(bench->options->warm_up +
				    bench->options->round_trips);
	struct qoi_message message;
	uint64_t flag = 0;
	uint64_t i;
	int repetition;

	pin(bench->cpus[1]);
	for (repetition = 0; repetition < bench->options->repetitions;
	     repetition++) {
		for (i = 0; i < trips; i++) {
			queue_get(party, &message);
			queue_put(party, message.payload, message.bytes);
			qoi_consumer_release(&party->consumer);
		}
		for (i = 0; i < trips; i++) {
			bare_get(party->mine, ++flag);
			bare_put(party->theirs, party->mine->data,
				 bench->payload_bytes, flag);
		}
	}
}

static void *answer_thread(void *bench)
{
	answer(bench);
	return NULL;
}

static uint64_t ask_queue(struct party *party, uint8_t *data, uint32_t bytes,
			  uint64_t n)
{
	struct qoi_message message;
	uint64_t begin, end, found;

	memcpy(data, &n, sizeof(n));
	begin = now_ns();
	queue_put(party, data, bytes);
	queue_get(party, &message);
	end = now_ns();
	memcpy(&found, message.payload, sizeof(found));
	if (found != n || message.bytes != bytes)
		die("queue: wrong answer", EBADMSG);
	qoi_consumer_release(&party->consumer);
	return end - begin;
}

static uint64_t ask_bare(struct party *party, uint8_t *data, uint32_t bytes,
			 uint64_t n)
{
	uint64_t begin, end, found;

	memcpy(data, &n, sizeof(n));
	begin = now_ns();
	bare_put(party->theirs, data, bytes, n);
	bare_get(party->mine, n);
	end = now_ns();
	memcpy(&found, party->mine->data, sizeof(found));
	if (found != n)
		die("bare: wrong answer", EBADMSG);
	return end - begin;
}

static void ask(struct bench *bench, int repetition, enum side side,
		uint64_t *count)
{
	struct party *party = &bench->parties[0];
	uint64_t trips = (uint64_t)bench->options->round_trips;
	uint32_t *samples = bench->samples[side] + (uint64_t)repetition * trips;
	uint8_t data[PAYLOAD_MAX];
	uint64_t ns, i;

	memset(data, 0x5a, bench->payload_bytes);
	for (i = 0; i < trips + (uint64_t)bench->options->warm_up; i++) {
		++*count;
		if (side == SIDE_QUEUE)
			ns = ask_queue(party, data, bench->payload_bytes,
				       *count);
		else
			ns = ask_bare(party, data, bench->payload_bytes, *count);
		if (i >= (uint64_t)bench->options->warm_up)
			samples[i - (uint64_t)bench->options->warm_up] =
				ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
	}
	qsort(samples, trips, sizeof(*samples), compare_u32);
	bench->medians[side][repetition] = fine_median(samples, trips);
}

static uint64_t align128(uint64_t bytes)
{
	return (bytes + 127) & ~UINT64_C(127);
}

/* Two queues, two credit lines, two bare buffers. */
static void build(struct bench *bench)
{
	const struct options *options = bench->options;
	struct qoi_queue_shape shape = { options->slot_count,
					 bench->payload_bytes,
					 options->encoding };
	uint64_t queue,
		bare = align128(BARE_HEADER_BYTES + bench->payload_bytes);
	uint8_t *at;
	int error = qoi_queue_shape_check(&shape);
	int i;

	if (error != 0)
		die("shape", -error);
	queue = qoi_queue_bytes(&shape);
	error = qoi_segment_create("queue_echo",
				   2 * (queue + QOI_CREDIT_BYTES + bare),
				   &bench->segment);
	if (error != 0)
		die("segment", -error);
	at = bench->segment.base;
	for (i = 0; i < 2; i++) {
		struct party *to = &bench->parties[i];
		struct party *from = &bench->parties[1 - i];

		qoi_queue_format(&shape, at, 0);
		qoi_consumer_init(&to->consumer, &shape, at,
				  (uint64_t *)(at + queue), 0,
				  options->slot_count / 2);
		qoi_producer_init(&from->producer, &shape, at,
				  (uint64_t *)(at + queue), 0);
		if (options->encoding != QOI_ENCODING_CLASSIC) {
			uint64_t bytes = qoi_queue_staging_bytes(&shape);

			qoi_consumer_set_staging(&to->consumer, malloc(bytes));
			qoi_producer_set_staging(&from->producer, malloc(bytes));
		}
		to->mine = from->theirs =
			(struct bare *)(at + queue + QOI_CREDIT_BYTES);
		at += queue + QOI_CREDIT_BYTES + bare;
	}
}

static void teardown(struct bench *bench)
{
	int i;

	for (i = 0; i < 2; i++) {
		free(bench->parties[i].consumer.staging);
		free(bench->parties[i].producer.staging);
	}
	qoi_segment_detach(&bench->segment);
}

static void print_result(struct bench *bench, const char *mode)
{
	static const double qs[] = { 0.5, 0.9, 0.99, 0.999, 1.0 };
	uint64_t count = (uint64_t)bench->options->repetitions *
			 (uint64_t)bench->options->round_trips;
	int n = bench->options->repetitions;
	const char *names[] = { "queue", "bare" };
	double ratios[REPETITIONS_MAX] = { 0 };
	int side, i;

	for (i = 0; i < n; i++)
		ratios[i] = bench->medians[SIDE_QUEUE][i] /
			    bench->medians[SIDE_BARE][i];
	qsort(ratios, (size_t)n, sizeof(*ratios), compare_double);
	if (bench->options->json)
		printf("{\"bench\":\"queue_echo\",\"mode\":\"%s\","
		       "\"payload_bytes\":%u,\"encoding\":%u,",
		       mode, bench->payload_bytes, bench->options->encoding);
	for (side = 0; side < 2; side++) {
		uint32_t *s = bench->samples[side];

		qsort(s, count, sizeof(*s), compare_u32);
		printf(bench->options->json
			       ? "\"%s\":{\"p50_ns\":%.1f,\"p90_ns\":%.0f,"
				 "\"p99_ns\":%.0f,\"p999_ns\":%.0f,"
				 "\"max_ns\":%.0f},"
			       : "  %-6s p50 %6.1f  p90 %6.1f  p99 %6.1f  "
				 "p99.9 %7.0f  max %8.0f ns\n",
		       names[side], quantile(s, count, qs[0]),
		       quantile(s, count, qs[1]), quantile(s, count, qs[2]),
		       quantile(s, count, qs[3]), quantile(s, count, qs[4]));
	}
	printf(bench->options->json ? "\"ratio\":%.3f,\"ratio_low\":%.3f,"
				      "\"ratio_high\":%.3f}\n"
				    : "  ratio of p50: median %.3f, 5 %% below "
				      "%.3f, 5 %% above %.3f\n",
	       ratios[n / 2], ratios[n / 20], ratios[n - 1 - n / 20]);
}

static void run(struct bench *bench, int as_processes)
{
	const struct options *options = bench->options;
	const char *mode = as_processes ? "processes" : "threads";
	uint64_t counts[2] = { 0, 0 };
	pthread_t thread;
	pid_t child = 0;
	int status = 0;
	int i;

	build(bench);
	if (as_processes) {
		child = fork();
		if (child < 0)
			die("fork", errno);
		if (child == 0) {
			answer(bench);
			_exit(0);
		}
	} else if (pthread_create(&thread, NULL, answer_thread, bench) != 0) {
		die("pthread_create", EAGAIN);
	}
	pin(bench->cpus[0]);
	for (i = 0; i < options->repetitions; i++) {
		ask(bench, i, SIDE_QUEUE, &counts[SIDE_QUEUE]);
		ask(bench, i, SIDE_BARE, &counts[SIDE_BARE]);
	}
	if (as_processes) {
		if (waitpid(child, &status, 0) != child || status != 0)
			die("the answering process failed", ECHILD);
	} else {
		pthread_join(thread, NULL);
	}
	if (!options->json)
		printf("%s, %u bytes, %d x %d round trips on cpus %d and %d\n",
		       mode, bench->payload_bytes, options->repetitions,
		       options->round_trips, bench->cpus[0], bench->cpus[1]);
	print_result(bench, mode);
	teardown(bench);
}

/* The first two cpus that we may use. */
static void choose_cpus(int cpus[2])
{
	cpu_set_t set;
	int found = 0;
	int cpu;

	if (sched_getaffinity(0, sizeof(set), &set) != 0)
		die("sched_getaffinity", errno);
	for (cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++)
		if (CPU_ISSET(cpu, &set))
			cpus[found++] = cpu;
	if (found < 2) {
		fprintf(stderr, "queue_echo: needs two cpus, may use %d\n",
			found);
		exit(77);
	}
}

static void usage(void)
{
	printf("usage: queue_echo [options]\n"
	       "  --payload=BYTES      8 to %d (default: 64, then 1792)\n"
	       "  --mode=MODE          threads, processes (default: both)\n"
	       "  --encoding=NAME      classic, chunk16, chunk8\n"
	       "  --slots=COUNT        a power of two (default 16)\n"
	       "  --repetitions=COUNT  1 to %d (default 41)\n"
	       "  --round-trips=COUNT  in each, on each side (default 5000)\n"
	       "  --json               one object per line\n",
	       PAYLOAD_MAX, REPETITIONS_MAX);
}

static int number(const char *text, long low, long high)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (*text == '\0' || *end != '\0' || value < low || value > high) {
		fprintf(stderr, "queue_echo: %s: wanted %ld to %ld\n", text,
			low, high);
		exit(2);
	}
	return (int)value;
}

/* The place of a word in a list that ends with NULL, from 1. */
static int word(const char *text, const char *const *words)
{
	int i;

	for (i = 0; words[i] != NULL; i++)
		if (strcmp(text, words[i]) == 0)
			return i + 1;
	fprintf(stderr, "queue_echo: %s: not known\n", text);
	exit(2);
}

static void parse(int argc, char **argv, struct options *options)
{
	static const char *const modes[] = { "threads", "processes", NULL };
	static const char *const encodings[] = { "classic", "chunk16", "chunk8",
						 NULL };
	static const struct option table[] = {
		{ "payload", required_argument, NULL, 'p' },
		{ "mode", required_argument, NULL, 'm' },
		{ "encoding", required_argument, NULL, 'e' },
		{ "slots", required_argument, NULL, 's' },
		{ "repetitions", required_argument, NULL, 'r' },
		{ "round-trips", required_argument, NULL, 'n' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", table, NULL)) != -1) {
		if (c == 'p')
			options->payload_bytes =
				(uint32_t)number(optarg, 8, PAYLOAD_MAX);
		else if (c == 'm')
			options->modes = word(optarg, modes);
		else if (c == 'e')
			options->encoding = (uint32_t)word(optarg, encodings);
		else if (c == 's')
			options->slot_count = (uint32_t)number(optarg, 1, 65536);
		else if (c == 'r')
			options->repetitions =
				number(optarg, 1, REPETITIONS_MAX);
		else if (c == 'n')
			options->round_trips = number(optarg, 1, 1000000);
		else if (c == 'j')
			options->json = 1;
		else {
			usage();
			exit(c == 'h' ? 0 : 2);
		}
	}
}

int main(int argc, char **argv)
{
	struct options options = { .repetitions = 41,
				   .round_trips = 5000,
				   .warm_up = 500,
				   .slot_count = 16,
				   .encoding = QOI_ENCODING_CLASSIC,
				   .modes = 3 };
	uint32_t sizes[] = { 64, 1792 };
	static struct bench bench;
	size_t size, count;
	int mode;

	parse(argc, argv, &options);
	bench.options = &options;
	choose_cpus(bench.cpus);
	count = (size_t)options.repetitions * (size_t)options.round_trips;
	bench.samples[0] = calloc(count, sizeof(uint32_t));
	bench.samples[1] = calloc(count, sizeof(uint32_t));
	if (bench.samples[0] == NULL || bench.samples[1] == NULL)
		die("samples", ENOMEM);
	if (options.payload_bytes != 0)
		sizes[0] = options.payload_bytes;
	for (size = 0; size < (options.payload_bytes != 0 ? 1 : 2); size++) {
		bench.payload_bytes = sizes[size];
		for (mode = 1; mode <= 2; mode++)
			if ((options.modes & mode) != 0)
				run(&bench, mode == 2);
	}
	free(bench.samples[0]);
	free(bench.samples[1]);
	return 0;
}
