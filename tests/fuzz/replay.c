/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a fuzz target without libFuzzer: on files, such as those that it found,
 * or on random bytes for a while.  usage: TARGET [FILE... | -t SECONDS [SEED]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libqoffload/base/clock.h"
#include "tests/fuzz/fuzz.h"

#define INPUT_MAX 4096
/* As an ordinary test: long enough for some thousand inputs. */
#define DEFAULT_SECONDS 2

static uint64_t draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static int run_file(const char *path)
{
	static uint8_t data[1 << 20];
	FILE *file = fopen(path, "rb");
	size_t bytes;

	if (file == NULL) {
		perror(path);
		return 1;
	}
	bytes = fread(data, 1, sizeof(data), file);
	fclose(file);
	LLVMFuzzerTestOneInput(data, bytes);
	printf("%s: %zu bytes, survived\n", path, bytes);
	return 0;
}

static void run_random(int64_t seconds, uint64_t seed)
{
	static uint8_t data[INPUT_MAX];
	int64_t end_ns = qoi_clock_ns() + seconds * QOI_NS_PER_S;
	uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
	uint64_t count = 0;

	printf("seed %llu\n", (unsigned long long)seed);
	fflush(stdout);
	while (qoi_clock_ns() < end_ns) {
		/* Short ones find more, long ones other things. */
		size_t bytes = (size_t)1 << draw(&state) % 12;

		bytes += draw(&state) % bytes;
		for (size_t i = 0; i < bytes; i++)
			data[i] = (uint8_t)(draw(&state) >> 24);
		LLVMFuzzerTestOneInput(data, bytes);
		count++;
	}
	printf("%llu inputs survived\n", (unsigned long long)count);
}

int main(int argc, char **argv)
{
	int error = 0;

	if (argc == 1) {
		run_random(DEFAULT_SECONDS, 1);
		return 0;
	}
	if (strcmp(argv[1], "-t") == 0) {
		if (argc < 3 || argc > 4)
			return 2;
		run_random(strtoll(argv[2], NULL, 0),
			   argc == 4 ? strtoull(argv[3], NULL, 0) : 1);
		return 0;
	}
	for (int i = 1; i < argc; i++)
		error |= run_file(argv[i]);
	return error;
}
