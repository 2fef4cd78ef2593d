/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two sides play ball and sleep on a bell for each throw, as threads or as
 * processes.  A sleep that runs into its deadline although the ball was there
 * is a lost wake-up.
 *
 * As a litmus test nobody sleeps: one side throws while the other announces
 * itself, at once, and it must never be that the thrower saw nobody and the
 * catcher saw nothing.  This is what finds a missing barrier (S1).
 *
 * usage: bell_stress [threads|processes|litmus [COUNT]] (default: all)
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libqoffload/base/clock.h"
#include "libqoffload/shm/atomic.h"
#include "libqoffload/shm/bell.h"
#include "libqoffload/shm/segment.h"

#define DEADLINE_NS (QOI_NS_PER_S / 2)
/* The sides look a little before they sleep, to meet at all distances. */
#define SPIN_MAX 1024
/* Where there are fewer cores than threads. */
#define YIELD_EVERY 1024

struct side {
	struct qoi_bell bell;
	uint64_t ball; /* count of throws to this side */
	uint8_t separation[120];
};

/* Where a side of the litmus test is, and what it saw there. */
struct round {
	uint64_t round;
	int seen; /* plain, ordered by the round */
	uint8_t separation[116];
};

static struct side *sides;
static struct round rounds[2];
static uint64_t count;

static void throw_ball(struct side *to, uint64_t n)
{
	qoi_publish64(&to->ball, n);
	if ((qoi_bell_wanted(&to->bell, QOI_BELL_AGENT_DATA) &
	     QOI_BELL_WAKE_WAITERS) != 0)
		qoi_bell_ring_waiters(&to->bell);
}

/* 0, or 1 when a wake-up was lost. */
static int catch_ball(struct side *mine, uint64_t n, uint32_t spins)
{
	uint32_t sequence;
	int error = 0;

	while (spins-- > 0)
		if (qoi_observe64(&mine->ball) == n)
			return 0;
	for (;;) {
		sequence = qoi_bell_announce(&mine->bell);
		if (qoi_observe64(&mine->ball) == n) {
			qoi_bell_cancel(&mine->bell);
			return 0;
		}
		if (error != 0)
			break;
		error = qoi_bell_sleep(&mine->bell, sequence,
				       qoi_clock_ns() + DEADLINE_NS);
		if (error != 0 && qoi_observe64(&mine->ball) == n)
			return 1;
	}
	return 1;
}

static intptr_t play(int me)
{
	uint64_t state = (uint64_t)me + 1;
	uint64_t n;

	for (n = 1; n <= count; n++) {
		state = state * UINT64_C(6364136223846793005) + 1;
		if (me == 0)
			throw_ball(&sides[1], n);
		if (catch_ball(&sides[me], n,
			       (uint32_t)(state >> 40) % SPIN_MAX) != 0) {
			fprintf(stderr, "bell_stress: lost wake-up %llu\n",
				(unsigned long long)n);
			return 1;
		}
		if (me == 1)
			throw_ball(&sides[0], n);
	}
	return 0;
}

static void *play_thread(void *arg)
{
	(void)arg;
	return (void *)play(1);
}

/* A few steps at random, so that the sides meet at all distances. */
static void delay(uint32_t *state)
{
	uint32_t steps;

	*state = *state * 1664525 + 1013904223;
	for (steps = *state >> 28; steps > 0; steps--)
		qoi_pause();
}

/* Waits until the other side has come to round n too. */
static void meet(uint64_t n, int me)
{
	uint32_t tries = 0;

	qoi_publish64(&rounds[me].round, n);
	while (qoi_observe64(&rounds[1 - me].round) < n) {
		qoi_pause();
		if (++tries % YIELD_EVERY == 0)
			sched_yield();
	}
}

static void *litmus_catch(void *arg)
{
	struct side *mine = &sides[1];
	uint32_t state = 1;
	uint64_t n;

	(void)arg;
	for (n = 1; n <= count; n++) {
		meet(2 * n, 1);
		delay(&state);
		qoi_bell_announce(&mine->bell);
		rounds[1].seen = qoi_observe64(&mine->ball) == n;
		meet(2 * n + 1, 1);
		qoi_bell_cancel(&mine->bell);
	}
	return NULL;
}

static intptr_t litmus_throw(void)
{
	struct side *to = &sides[1];
	uint32_t state = 2;
	uint64_t n, lost = 0;
	int seen;

	for (n = 1; n <= count; n++) {
		meet(2 * n, 0);
		delay(&state);
		qoi_publish64(&to->ball, n);
		seen = qoi_bell_wanted(&to->bell, QOI_BELL_AGENT_DATA) != 0;
		meet(2 * n + 1, 0);
		lost += !seen && !rounds[1].seen;
	}
	if (lost != 0)
		fprintf(stderr, "bell_stress: %llu of %llu wake-ups lost\n",
			(unsigned long long)lost, (unsigned long long)count);
	return lost != 0;
}

static int run_litmus(void)
{
	pthread_t thread;
	intptr_t lost;

	if (pthread_create(&thread, NULL, litmus_catch, NULL) != 0)
		return 3;
	lost = litmus_throw();
	pthread_join(thread, NULL);
	return lost != 0;
}

static int run_threads(void)
{
	pthread_t thread;
	void *theirs;
	intptr_t ours;

	if (pthread_create(&thread, NULL, play_thread, NULL) != 0)
		return 3;
	ours = play(0);
	pthread_join(thread, &theirs);
	return ours == 0 && theirs == NULL ? 0 : 1;
}

static int run_processes(void)
{
	intptr_t ours;
	int status;
	pid_t child = fork();

	if (child < 0)
		return 3;
	if (child == 0)
		_exit((int)play(1));
	ours = play(0);
	if (waitpid(child, &status, 0) != child)
		return 3;
	return ours == 0 && status == 0 ? 0 : 1;
}

/* Each mode starts from fresh bells. */
static int run(const char *mode)
{
	struct qoi_segment segment;
	int code = 2;

	if (qoi_segment_create("bell_stress", 2 * sizeof(struct side),
			       &segment) != 0)
		return 3;
	sides = (void *)segment.base;
	if (strcmp(mode, "processes") == 0)
		code = run_processes();
	else if (strcmp(mode, "threads") == 0)
		code = run_threads();
	else if (strcmp(mode, "litmus") == 0)
		code = run_litmus();
	else
		fprintf(stderr, "usage: bell_stress "
				"[threads|processes|litmus [COUNT]]\n");
	qoi_segment_detach(&segment);
	return code;
}

int main(int argc, char **argv)
{
	int code;

	count = argc > 2 ? strtoull(argv[2], NULL, 0) : 50000;
	if (argc > 1)
		return run(argv[1]);
	code = run("threads");
	if (code == 0)
		code = run("processes");
	return code != 0 ? code : run("litmus");
}
