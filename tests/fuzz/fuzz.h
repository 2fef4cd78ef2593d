/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the fuzz targets share: input as a list of actions, a daemon in this
 * process, and what must hold after each input.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "libqoffload/daemon/daemon.h"
#include "tests/support/raw_client.h"

/* libFuzzer's entry; the program of replay.c calls it too. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

struct fuzz_input {
	const uint8_t *at;
	size_t left;
};

/* The next number; 0 once there is nothing more. */
uint8_t fuzz_u8(struct fuzz_input *input);
uint32_t fuzz_u32(struct fuzz_input *input);
uint64_t fuzz_u64(struct fuzz_input *input);
/* Mostly small, sometimes at an edge: what finds a wrong bound. */
uint64_t fuzz_size(struct fuzz_input *input);
/* Overwrites some of `bytes` bytes: how many, where and with what. */
void fuzz_mutate(struct fuzz_input *input, void *data, size_t bytes);

/* A descriptor of one of several sorts, or -1. */
int fuzz_descriptor(struct fuzz_input *input, uint64_t bytes);

extern struct qoi_daemon *fuzz_daemon;
extern char fuzz_name[64];
/* Opened once, at the first input. */
void fuzz_open(void);
/* Before each input: counts what must be open after it. */
void fuzz_begin(void);
/* Cycles until it rests; a daemon that never rests is a failure. */
void fuzz_settle(void);
/* After everybody has left: aborts if anything stayed. */
void fuzz_check_empty(void);
/* Takes away what the daemon has sent. */
void fuzz_drain(int fd);

#define FUZZ_CHECK(condition) fuzz_check(condition, #condition, __LINE__)
void fuzz_check(int holds, const char *what, int line);

#endif
