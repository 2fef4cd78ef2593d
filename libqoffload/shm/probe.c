/* SPDX-License-Identifier: BSD-3-Clause */
#include "libqoffload/shm/probe.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>

#include "libqoffload/base/clock.h"
#include "libqoffload/base/error.h"
#include "libqoffload/base/log.h"
#include "libqoffload/shm/atomic.h"

#define LINE_BYTES 64
#define PROBE_TIME_NS QOI_NS_PER_S
#define STARTUP_ROUNDS 50000

/* How a value is moved; the last one tears by design. */
enum access { ACCESS_8, ACCESS_16, ACCESS_8_TWICE };

struct probe {
	_Alignas(128) uint8_t line[LINE_BYTES];
	_Alignas(128) uint32_t stop;
	uint32_t running;
	enum access access;
	uint32_t width;
};

static void store_value(enum access access, void *at, uint32_t value)
{
	uint64_t both = (uint64_t)value << 32 | value;

	if (access == ACCESS_16) {
		qoi_chunk16_store(at, (struct qoi_chunk16){ both, both });
		return;
	}
	qoi_chunk8_store(at, both);
	if (access == ACCESS_8_TWICE)
		qoi_chunk8_store((uint8_t *)at + 8, both);
}

/* Gives the value; *torn: whether its parts differ. */
static uint32_t load_value(enum access access, const void *at, int *torn)
{
	struct qoi_chunk16 value;

	if (access == ACCESS_16) {
		value = qoi_chunk16_load(at);
	} else {
		value.low = qoi_chunk8_load(at);
		value.high = value.low;
		if (access == ACCESS_8_TWICE)
			value.high = qoi_chunk8_load((const uint8_t *)at + 8);
	}
	*torn = value.low != value.high ||
		(uint32_t)value.low != (uint32_t)(value.low >> 32);
	return (uint32_t)value.low;
}

static void *write_values(void *arg)
{
	struct probe *probe = arg;
	uint32_t value = 0;
	uint32_t at;

	qoi_publish32(&probe->running, 1);
	while (qoi_own32(&probe->stop) == 0) {
		value++;
		for (at = 0; at < LINE_BYTES; at += probe->width)
			store_value(probe->access, probe->line + at, value);
	}
	return NULL;
}

static void read_values(struct probe *probe, uint64_t rounds,
			struct qoi_probe_result *result)
{
	uint32_t last[LINE_BYTES / 8] = { 0 };
	int64_t end = qoi_clock_after(qoi_clock_ns(), PROBE_TIME_NS);
	uint32_t value;
	uint32_t at;
	int torn;

	while (qoi_observe32(&probe->running) == 0 && qoi_clock_ns() < end)
		sched_yield();
	while (result->reads < rounds && qoi_clock_ns() < end) {
		for (at = 0; at < LINE_BYTES; at += probe->width) {
			value = load_value(probe->access, probe->line + at,
					   &torn);
			result->reads++;
			result->torn += torn != 0;
			result->changes += value != last[at / 8];
			last[at / 8] = value;
		}
	}
}

static int run(enum access access, uint64_t rounds,
	       struct qoi_probe_result *result_out)
{
	struct qoi_probe_result result = { 0, 0, 0 };
	struct probe probe;
	sigset_t all, before;
	pthread_t writer;
	int error;

	memset(&probe, 0, sizeof(probe));
	probe.access = access;
	probe.width = access == ACCESS_8 ? 8 : 16;
	/* The program's signals are for its own threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&writer, NULL, write_values, &probe);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error != 0)
		return qoi_fail(-ENOMEM, "probe: pthread_create %s",
				strerror(error));
	read_values(&probe, rounds, &result);
	qoi_set_own32(&probe.stop, 1);
	pthread_join(writer, NULL);
	*result_out = result;
	return 0;
}

int qoi_probe_atomic(uint32_t width_bytes, uint64_t rounds,
		     struct qoi_probe_result *result_out)
{
	if (width_bytes == 8)
		return run(ACCESS_8, rounds, result_out);
	if (width_bytes != 16)
		return -EINVAL;
	if (!QOI_CHUNK16_HERE)
		return -EOPNOTSUPP;
	return run(ACCESS_16, rounds, result_out);
}

int qoi_probe_torn(uint64_t rounds, struct qoi_probe_result *result_out)
{
	return run(ACCESS_8_TWICE, rounds, result_out);
}

static uint32_t probed_encoding = QOI_ENCODING_CHUNK8;

static void probe_once(void)
{
	struct qoi_probe_result result;

	if (qoi_probe_atomic(16, STARTUP_ROUNDS, &result) != 0)
		return;
	if (result.torn == 0)
		probed_encoding = QOI_ENCODING_CHUNK16;
	else
		qoi_log_warn(
			"16-byte accesses tear here, 8-byte chunks are used");
}

uint32_t qoi_probe_encoding(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, probe_once);
	return probed_encoding;
}
