/* SPDX-License-Identifier: BSD-3-Clause */
#include "examples/qwindow/verify.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "examples/qwindow/bits.h"
#include "examples/qwindow/clock.h"
#include "examples/qwindow/serial.h"

/* Of one piece of the reduction: MPI counts are ints. */
#define PIECE_BYTES ((size_t)1 << 26)

double verify_bound(uint64_t reference_errors)
{
	double reference = (double)reference_errors;

	return 1.15 * reference + 3 * sqrt(reference);
}

static void xor_over_ranks(MPI_Comm comm, void *data, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += PIECE_BYTES) {
		size_t piece =
			bytes - at < PIECE_BYTES ? bytes - at : PIECE_BYTES;

		MPI_Allreduce(MPI_IN_PLACE, (uint8_t *)data + at, (int)piece,
			      MPI_BYTE, MPI_BXOR, comm);
	}
}

/* The set of a patch's corrections, named by XOR of mixed edge ids. */
static uint64_t *gather_digests(const struct verify_params *params)
{
	const struct commit_log *log = &params->result->work.log;
	size_t count = params->shots->count;
	uint64_t *digests = calloc(count + 1, sizeof(*digests));

	if (digests == NULL)
		return NULL;
	for (size_t i = 0; i < log->count; i++)
		digests[log->entries[i].patch] ^= bits_mix(log->entries[i].edge);
	xor_over_ranks(params->comm, digests, count * sizeof(*digests));
	return digests;
}

static void flip_ends(const struct dem_edge *edge, uint8_t *row)
{
	bits_flip(row, edge->a);
	if (edge->b != DEM_BOUNDARY)
		bits_flip(row, edge->b);
}

/* The file's defects XOR the ends of all committed edges of all ranks. */
static int count_residual(const struct verify_params *params,
			  uint64_t *residual_out)
{
	const struct commit_log *log = &params->result->work.log;
	const struct shots *shots = params->shots;
	size_t bytes = shots->count * shots->stride;
	uint8_t *ends = calloc(bytes + 1, 1);
	uint64_t left = 0;

	if (ends == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < log->count; i++)
		flip_ends(&params->dem->edges[log->entries[i].edge],
			  ends + (size_t)log->entries[i].patch * shots->stride);
	xor_over_ranks(params->comm, ends, bytes);
	for (size_t i = 0; i < bytes; i++)
		left += (uint64_t)__builtin_popcount(ends[i] ^ shots->rows[i]);
	free(ends);
	*residual_out = left;
	return 0;
}

static uint64_t true_flips(const struct verify_params *params, size_t patch)
{
	const uint8_t *row = shots_row(params->observables, patch);
	uint64_t flips = 0;

	for (uint32_t o = 0; o < params->dem->observable_count; o++)
		flips |= (uint64_t)bits_get(row, o) << o;
	return flips;
}

/* Each rank decodes a share of the patches by itself. */
static int compare_serial(const struct verify_params *params,
			  const uint64_t *digests, struct verify_result *result)
{
	const uint64_t *frames = params->result->frames;
	int64_t start_ns = clock_cpu_ns();
	struct serial serial;
	int rank, ranks;
	int rc = serial_init(&serial, params->dem, params->plan);

	if (rc != 0)
		return rc;
	MPI_Comm_rank(params->comm, &rank);
	MPI_Comm_size(params->comm, &ranks);
	for (size_t p = (size_t)rank; p < params->shots->count;
	     p += (size_t)ranks) {
		uint64_t flips;

		result->serial_residual +=
			serial_decode(&serial, shots_row(params->shots, p));
		if (serial.digest != digests[p] || serial.frame != frames[p])
			result->differing++;
		if (params->observables == NULL)
			continue;
		flips = true_flips(params, p) ^ params->dem->flipped_observables;
		result->errors += frames[p] != flips;
		result->serial_errors += serial.frame != flips;
	}
	/* Processor time: other ranks may share this core just now. */
	result->serial_ns = (uint64_t)(clock_cpu_ns() - start_ns);
	serial_fini(&serial);
	return 0;
}

static void sum_over_ranks(MPI_Comm comm, struct verify_result *result)
{
	uint64_t sums[] = {
		result->differing, result->serial_residual, result->serial_ns,
		result->errors,	   result->serial_errors,   result->edges,
	};

	MPI_Allreduce(MPI_IN_PLACE, sums, sizeof(sums) / sizeof(sums[0]),
		      MPI_UINT64_T, MPI_SUM, comm);
	result->differing = sums[0];
	result->serial_residual = sums[1];
	result->serial_ns = sums[2];
	result->errors = sums[3];
	result->serial_errors = sums[4];
	result->edges = sums[5];
}

static void judge(const struct verify_params *params,
		  struct verify_result *result)
{
	result->same_ok = result->differing == 0;
	result->residual_ok = result->residual == 0;
	result->errors_checked =
		params->observables != NULL && params->reference_errors >= 0;
	result->errors_ok = 1;
	if (!result->errors_checked)
		return;
	result->bound = verify_bound((uint64_t)params->reference_errors);
	result->errors_ok = (double)result->errors <= result->bound;
}

int verify_run(const struct verify_params *params,
	       struct verify_result *result_out)
{
	struct verify_result result = {
		.reference_errors = params->reference_errors,
		.edges = params->result->work.log.count,
	};
	uint64_t *digests = gather_digests(params);
	int rc;

	if (digests == NULL)
		return -ENOMEM;
	for (size_t p = 0; p < params->shots->count; p++)
		result.digest ^= bits_mix(digests[p] + p);
	rc = count_residual(params, &result.residual);
	if (rc == 0)
		rc = compare_serial(params, digests, &result);
	free(digests);
	if (rc != 0)
		return rc;
	sum_over_ranks(params->comm, &result);
	judge(params, &result);
	*result_out = result;
	return 0;
}
