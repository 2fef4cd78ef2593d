/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two threads hand plain data to each other through a completion word or a
 * completion slot, or share it under the try-lock.  The values are checked
 * here; that they are ordered, and not right by luck, is for ThreadSanitizer
 * to say.
 *
 * usage: order_stress [completion|slot|lock [COUNT]] (default: all)
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libqoffload/attach/segment.h"
#include "libqoffload/shm/completion.h"

#define YIELD_EVERY 64

static struct {
	uint64_t count;
	uint64_t word;	 /* completion: generation is the round */
	uint64_t result; /* plain, ordered by the word or the slot */
	struct qoi_layout_completion_slot slot;
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

/* Likewise, as the daemon ends a request. */
static intptr_t complete_slot(uint32_t parity)
{
	uint64_t word, tries = 0;
	uint32_t n;

	for (n = parity; n < all.count; n += 2) {
		while (!qoi_attach_completed(&all.slot, n, &word))
			wait_again(&tries);
		if (all.result != n || word != ~(uint64_t)n)
			return 1;
		all.result = n + 1;
		qoi_attach_complete(&all.slot, ~(uint64_t)(n + 1), n + 1);
	}
	return 0;
}

static void *complete_slot_thread(void *arg)
{
	(void)arg;
	return (void *)complete_slot(1);
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

struct order {
	const char *name;
	void *(*theirs)(void *arg);
	intptr_t (*ours)(uint32_t parity);
};

static intptr_t count_up_too(uint32_t parity)
{
	(void)parity;
	return count_up();
}

static const struct order orders[] = {
	{ "completion", complete_thread, complete },
	{ "slot", complete_slot_thread, complete_slot },
	{ "lock", count_thread, count_up_too },
};
#define ORDER_COUNT (sizeof(orders) / sizeof(orders[0]))

static int run(const struct order *order)
{
	pthread_t thread;
	void *theirs;
	intptr_t ours;

	all.word = qoi_completion_pack(QOI_COMPLETION_DONE, 0,
				       QOI_COMPLETION_RANK_NONE, 0);
	qoi_attach_complete(&all.slot, UINT64_MAX, 0);
	all.result = 0;
	if (pthread_create(&thread, NULL, order->theirs, NULL) != 0)
		return 3;
	ours = order->ours(0);
	pthread_join(thread, &theirs);
	if (order->theirs == count_thread && all.shared[0] != 2 * all.count)
		return 4;
	return ours == 0 && theirs == NULL ? 0 : 1;
}

int main(int argc, char **argv)
{
	int code = 0, known = 0;

	all.count = argc > 2 ? strtoull(argv[2], NULL, 0) : 100000;
	for (size_t i = 0; i < ORDER_COUNT && code == 0; i++) {
		if (argc > 1 && strcmp(argv[1], orders[i].name) != 0)
			continue;
		known = 1;
		code = run(&orders[i]);
	}
	if (known)
		return code;
	fprintf(stderr, "usage: order_stress [completion|slot|lock [COUNT]]\n");
	return 2;
}
