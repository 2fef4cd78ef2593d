/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every atomic access, fence and volatile of the library is here, and nowhere
 * else.  Three verbs: own (a word that only this side writes), observe (what
 * the other side published), publish (for the other side to observe).
 *
 * The _at variants carry the edge they stand for, QOI_EDGE_P1 and so on, as
 * listed in docs/contract.md.  A build with -DQOI_MUTATE=P1 relaxes that one
 * order; tests/mutation/ then expects ThreadSanitizer to find the race.
 */
#ifndef QOI_ATOMIC_H
#define QOI_ATOMIC_H

#include <stdint.h>

#include "libqoffload/shm/layout.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#ifdef QOI_MUTATE
#define QOI_EDGE_JOIN_(label) QOI_EDGE_##label
#define QOI_EDGE_JOIN(label) QOI_EDGE_JOIN_(label)
#define QOI_EDGE_MUTANT QOI_EDGE_JOIN(QOI_MUTATE)
#else
#define QOI_EDGE_MUTANT QOI_EDGE_NONE
#endif

/* Whether an edge is the one that this build leaves out, for a test. */
static inline int qoi_edge_is_mutant(uint32_t edge)
{
	return edge != QOI_EDGE_NONE && edge == QOI_EDGE_MUTANT;
}

/* Relaxed load of a word that only this side writes, or that orders nothing. */
static inline uint64_t qoi_own64(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static inline uint32_t qoi_own32(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static inline uint16_t qoi_own16(const uint16_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static inline uint8_t qoi_own8(const uint8_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

/* Relaxed store: seen by the other side some day, ordering nothing. */
static inline void qoi_set_own64(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

static inline void qoi_set_own32(uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

static inline void qoi_set_own16(uint16_t *word, uint16_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

static inline void qoi_set_own8(uint8_t *word, uint8_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

/* Acquire load: what the writer did before its publish is seen after this. */
static inline uint64_t qoi_observe64_at(uint32_t edge, const uint64_t *word)
{
	if (qoi_edge_is_mutant(edge))
		return __atomic_load_n(word, __ATOMIC_RELAXED);
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline uint32_t qoi_observe32_at(uint32_t edge, const uint32_t *word)
{
	if (qoi_edge_is_mutant(edge))
		return __atomic_load_n(word, __ATOMIC_RELAXED);
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline uint16_t qoi_observe16_at(uint32_t edge, const uint16_t *word)
{
	if (qoi_edge_is_mutant(edge))
		return __atomic_load_n(word, __ATOMIC_RELAXED);
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* Release store: all this side did before is seen by who observes the value. */
static inline void qoi_publish64_at(uint32_t edge, uint64_t *word,
				    uint64_t value)
{
	if (qoi_edge_is_mutant(edge))
		__atomic_store_n(word, value, __ATOMIC_RELAXED);
	else
		__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static inline void qoi_publish32_at(uint32_t edge, uint32_t *word,
				    uint32_t value)
{
	if (qoi_edge_is_mutant(edge))
		__atomic_store_n(word, value, __ATOMIC_RELAXED);
	else
		__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static inline void qoi_publish16_at(uint32_t edge, uint16_t *word,
				    uint16_t value)
{
	if (qoi_edge_is_mutant(edge))
		__atomic_store_n(word, value, __ATOMIC_RELAXED);
	else
		__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static inline uint64_t qoi_observe64(const uint64_t *word)
{
	return qoi_observe64_at(QOI_EDGE_NONE, word);
}

static inline uint32_t qoi_observe32(const uint32_t *word)
{
	return qoi_observe32_at(QOI_EDGE_NONE, word);
}

static inline uint16_t qoi_observe16(const uint16_t *word)
{
	return qoi_observe16_at(QOI_EDGE_NONE, word);
}

static inline void qoi_publish64(uint64_t *word, uint64_t value)
{
	qoi_publish64_at(QOI_EDGE_NONE, word, value);
}

static inline void qoi_publish32(uint32_t *word, uint32_t value)
{
	qoi_publish32_at(QOI_EDGE_NONE, word, value);
}

static inline void qoi_publish16(uint16_t *word, uint16_t value)
{
	qoi_publish16_at(QOI_EDGE_NONE, word, value);
}

/*
 * The one fence, for the one pattern that release and acquire can't order:
 * each of two sides stores a word, then reads the other's, and not both may
 * read the old value.  Only the bell needs it: a sleeper stores "I sleep" and
 * looks for work, a publisher stores work and looks for sleepers.  It carries
 * no data, so it does no harm that ThreadSanitizer can't see it.  S1.
 */
static inline void qoi_store_load_barrier(void)
{
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"
#endif
	if (!qoi_edge_is_mutant(QOI_EDGE_S1))
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
}

/* 1 when taken, 0 when another has it; never waits.  O5: see qoi_unlock32(). */
static inline int qoi_try_lock32(uint32_t *word)
{
	/* A look first keeps the line shared while another holds the lock. */
	if (__atomic_load_n(word, __ATOMIC_RELAXED) != 0)
		return 0;
	if (qoi_edge_is_mutant(QOI_EDGE_O5))
		return __atomic_exchange_n(word, 1, __ATOMIC_RELAXED) == 0;
	return __atomic_exchange_n(word, 1, __ATOMIC_ACQUIRE) == 0;
}

/* P5 -> O5: what the holder did, before the lock is free. */
static inline void qoi_unlock32(uint32_t *word)
{
	qoi_publish32_at(QOI_EDGE_P5, word, 0);
}

/* For statistics that several threads write; gives the value before. */
static inline uint64_t qoi_count64(uint64_t *word, uint64_t n)
{
	return __atomic_fetch_add(word, n, __ATOMIC_RELAXED);
}

/* Give the value after. */
static inline uint32_t qoi_add32(uint32_t *word, uint32_t n)
{
	return __atomic_add_fetch(word, n, __ATOMIC_SEQ_CST);
}

static inline uint32_t qoi_sub32(uint32_t *word, uint32_t n)
{
	return __atomic_sub_fetch(word, n, __ATOMIC_SEQ_CST);
}

/* 1 when the word held `expected` and now holds `desired`, else 0. */
static inline int qoi_swap32_if(uint32_t *word, uint32_t expected,
				uint32_t desired)
{
	return __atomic_compare_exchange_n(word, &expected, desired, 0,
					   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static inline void qoi_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/*
 * Chunks: one access each, never torn, ordering nothing: every chunk carries
 * its own sequence.  The private side may have any alignment.
 */
static inline uint64_t qoi_chunk8_load(const void *chunk)
{
	return __atomic_load_n((const uint64_t *)chunk, __ATOMIC_RELAXED);
}

static inline void qoi_chunk8_store(void *chunk, uint64_t value)
{
	__atomic_store_n((uint64_t *)chunk, value, __ATOMIC_RELAXED);
}

/*
 * 16 bytes in one access.  x86-64: both makers promise it for aligned SSE
 * accesses of every processor with AVX.  aarch64: with FEAT_LSE2.  C has no
 * name for it, so ThreadSanitizer would take it for a plain access; the probe
 * (probe.h) says whether it holds on this machine.
 */
#if defined(__x86_64__) || defined(__aarch64__)
#define QOI_CHUNK16_HERE 1
#else
#define QOI_CHUNK16_HERE 0
#endif

struct qoi_chunk16 {
	uint64_t low;
	uint64_t high;
};

#if defined(__clang__) || defined(__SANITIZE_THREAD__)
#define QOI_NO_TSAN __attribute__((no_sanitize("thread")))
#else
#define QOI_NO_TSAN
#endif

QOI_NO_TSAN static inline struct qoi_chunk16 qoi_chunk16_load(const void *chunk)
{
	struct qoi_chunk16 value = { 0, 0 };
#if defined(__x86_64__)
	__m128i both = *(const volatile __m128i *)chunk;
	value.low = (uint64_t)_mm_cvtsi128_si64(both);
	value.high = (uint64_t)_mm_cvtsi128_si64(_mm_srli_si128(both, 8));
#elif defined(__aarch64__)
	__asm__ volatile("ldp %0, %1, [%2]"
			 : "=r"(value.low), "=r"(value.high)
			 : "r"(chunk)
			 : "memory");
#else
	(void)chunk;
#endif
	return value;
}

QOI_NO_TSAN static inline void qoi_chunk16_store(void *chunk,
						 struct qoi_chunk16 value)
{
#if defined(__x86_64__)
	*(volatile __m128i *)chunk =
		_mm_set_epi64x((long long)value.high, (long long)value.low);
#elif defined(__aarch64__)
	__asm__ volatile("stp %0, %1, [%2]"
			 :
			 : "r"(value.low), "r"(value.high), "r"(chunk)
			 : "memory");
#else
	(void)chunk;
	(void)value;
#endif
}

/*
 * A piece of 14 bytes and its tag as one chunk.  16 bytes of the piece's
 * memory are read, and the last two are left out.
 */
QOI_NO_TSAN static inline void qoi_chunk16_put(void *chunk, const void *piece,
					       uint16_t tag)
{
#if defined(__x86_64__)
	__m128i both = _mm_loadu_si128(piece);

	*(volatile __m128i *)chunk = _mm_insert_epi16(both, tag, 7);
#else
	struct qoi_chunk16 both;

	__builtin_memcpy(&both, piece, sizeof(both));
	both.high = both.high << 16 >> 16 | (uint64_t)tag << 48;
	qoi_chunk16_store(chunk, both);
#endif
}

/*
 * 1 when the chunk bears the tag; then 16 bytes of the piece's memory are
 * written, 14 of them the piece.  Else 0.
 */
QOI_NO_TSAN static inline int qoi_chunk16_take(const void *chunk, void *piece,
					       uint16_t tag)
{
#if defined(__x86_64__)
	__m128i both = *(const volatile __m128i *)chunk;

	if (_mm_extract_epi16(both, 7) != tag)
		return 0;
	_mm_storeu_si128(piece, both);
#else
	struct qoi_chunk16 both = qoi_chunk16_load(chunk);

	if (both.high >> 48 != tag)
		return 0;
	__builtin_memcpy(piece, &both, sizeof(both));
#endif
	return 1;
}

/* Likewise with pieces of 6 bytes, of which 8 are read or written. */
static inline void qoi_chunk8_put(void *chunk, const void *piece, uint16_t tag)
{
	uint64_t word;

	__builtin_memcpy(&word, piece, sizeof(word));
	qoi_chunk8_store(chunk, word << 16 >> 16 | (uint64_t)tag << 48);
}

static inline int qoi_chunk8_take(const void *chunk, void *piece, uint16_t tag)
{
	uint64_t word = qoi_chunk8_load(chunk);

	if (word >> 48 != tag)
		return 0;
	__builtin_memcpy(piece, &word, sizeof(word));
	return 1;
}

#endif
