/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two threads hand plain data to each other through a completion word, or
 * share it under the try-lock.  The values are checked here; that they are
 * ordered, and not right by luck, is for ThreadSanitizer to say.
 *
 * usage: order_stress [completion|lock [COUNT]] (default: both)
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libqoffload/shm/completion.h"

#define YIELD_EVERY 64

static struct {
	uint64_t count;
	uint64_t word;	 /* completion: generation is the round */
	uint64_t result; /* plain, ordered by the word */
	uint32_t lock;
	uint64_t shared[2]; /* plain, under the lock */
} all;

static void wait_again(uint64_t *tries)
{
	if (++*tries % YIELD_EVERY == 0)
		sched_yield();
	else
		qoi_pause();
}

/* Even generations are ours to complete, odd ones are theirs: both ways. */
static intptr_t complete(uint32_t parity)
{
	uint64_t word, tries = 0;
	uint32_t n;

	for (n = parity; n < all.count; n += 2) {
		do {
			wait_again(&tries);
			word = qoi_completion_observe(&all.word);
		} while (qoi_completion_generation(word) != n);
		if (all.result != n ||
		    qoi_completion_state(word) != QOI_COMPLETION_DONE)
			return 1;
		all.result = n + 1;
		qoi_completion_publish(
			&all.word,
			qoi_completion_pack(QOI_COMPLETION_DONE, 0,
					    QOI_COMPLETION_RANK_NONE, n + 1));
	}
	return 0;
}

static void *complete_thread(void *arg)
{
	(void)arg;
	return (void *)complete(1);
}

static intptr_t count_up(void)
{
	uint64_t n, tries = 0;

	for (n = 0; n < all.count; n++) {
		while (!qoi_try_lock32(&all.lock))
			wait_again(&tries);
		if (all.shared[0] != all.shared[1])
			return 1;
		all.shared[0]++;
		all.shared[1]++;
		qoi_unlock32(&all.lock);
	}
	return 0;
}

static void *count_thread(void *arg)
{
	(void)arg;
	return (void *)count_up();
}

static int run(int locks)
{
	pthread_t thread;
	void *theirs;
	intptr_t ours;

	all.word = qoi_completion_pack(QOI_COMPLETION_DONE, 0,
				       QOI_COMPLETION_RANK_NONE, 0);
	if (pthread_create(&thread, NULL,
			   locks ? count_thread : complete_thread, NULL) != 0)
		return 3;
	ours = locks ? count_up() : complete(0);
	pthread_join(thread, &theirs);
	if (locks && all.shared[0] != 2 * all.count)
		return 4;
	return ours == 0 && theirs == NULL ? 0 : 1;
}

int main(int argc, char **argv)
{
	int locks = argc > 1 && strcmp(argv[1], "lock") == 0;
	int code;

	if (argc > 1 && !locks && strcmp(argv[1], "completion") != 0) {
		fprintf(stderr,
			"usage: order_stress [completion|lock [COUNT]]\n");
		return 2;
	}
	all.count = argc > 2 ? strtoull(argv[2], NULL, 0) : 100000;
	if (argc > 1)
		return run(locks);
	code = run(0);
	return code != 0 ? code : run(1);
}
