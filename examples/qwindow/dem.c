/* SPDX-License-Identifier: BSD-3-Clause */
#include "examples/qwindow/dem.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/qwindow/bits.h"
#include "examples/qwindow/dem_raw.h"

#define MAX_FILE_BYTES ((size_t)1 << 30)
#define MAX_LAYERS (1u << 24)

static int read_text(const char *path, char **text_out, struct problem *problem)
{
	FILE *file = fopen(path, "re");
	size_t room = 1 << 16, bytes = 0, got;
	char *text = NULL;
	int rc = 0;

	if (file == NULL)
		return problem_set(problem, -errno,
				   "%s: cannot be opened: "
				   "%s; give the model's file name",
				   path, strerror(errno));
	do {
		char *grown;

		room *= 2;
		grown = room <= MAX_FILE_BYTES ? realloc(text, room) : NULL;
		if (grown == NULL) {
			rc = problem_set(problem, -ENOMEM,
					 "%s: over %zu "
					 "bytes; use a folded model",
					 path, room / 2);
			break;
		}
		text = grown;
		got = fread(text + bytes, 1, room - bytes - 1, file);
		bytes += got;
	} while (bytes == room - 1);
	if (rc == 0 && ferror(file) != 0)
		rc = problem_set(problem, -EIO,
				 "%s: byte %zu: cannot be "
				 "read; give a regular file",
				 path, bytes);
	fclose(file);
	if (rc == 0 && memchr(text, '\0', bytes) != NULL)
		rc = problem_set(
			problem, -EINVAL,
			"%s: byte %zu: a zero byte "
			"in a text file; give a .dem file, not shots",
			path,
			(size_t)((char *)memchr(text, '\0', bytes) - text));
	if (rc != 0) {
		free(text);
		return rc;
	}
	text[bytes] = '\0';
	*text_out = text;
	return 0;
}

static int compare_edges(const void *left, const void *right)
{
	const struct dem_edge *a = left, *b = right;

	if (a->a != b->a)
		return a->a < b->a ? -1 : 1;
	if (a->b != b->b)
		return a->b < b->b ? -1 : 1;
	return 0;
}

/* Of parallel edges, as PyMatching does: either happens but not both, and
 * the observables of the first one in the text hold for all. */
static void merge_edges(struct dem_edge *edges, size_t *count)
{
	size_t kept = 0;

	for (size_t i = 0; i < *count; i++) {
		struct dem_edge *last = kept > 0 ? &edges[kept - 1] : NULL;

		if (last != NULL && compare_edges(last, &edges[i]) == 0) {
			double p = last->probability;
			double q = edges[i].probability;

			last->probability = p * (1 - q) + q * (1 - p);
		} else {
			edges[kept++] = edges[i];
		}
	}
	*count = kept;
}

/* An edge with p > 0.5 becomes a fixed flip and an edge with 1 - p. */
static void settle_likely_edges(struct dem *dem)
{
	size_t kept = 0;

	for (size_t i = 0; i < dem->edge_count; i++) {
		struct dem_edge edge = dem->edges[i];

		if (edge.probability > 0.5) {
			bits_flip(dem->flips, edge.a);
			if (edge.b != DEM_BOUNDARY)
				bits_flip(dem->flips, edge.b);
			dem->flipped_observables ^= edge.observables;
			edge.probability = 1 - edge.probability;
		}
		if (edge.probability > 0)
			dem->edges[kept++] = edge;
	}
	dem->edge_count = kept;
}

/* By (a, b), parallel edges in the order of the text, which qsort does not
 * promise: count by `a`, then insert by `b` among the few edges of a row. */
static int sort_edges(struct dem_raw *raw, struct dem *dem)
{
	size_t count = raw->edge_count;
	size_t *first = calloc((size_t)dem->detector_count + 1, sizeof(*first));
	struct dem_edge *sorted = malloc((count + 1) * sizeof(*sorted));

	if (first == NULL || sorted == NULL) {
		free(first);
		free(sorted);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		first[raw->edges[i].a + 1]++;
	for (uint32_t d = 0; d < dem->detector_count; d++)
		first[d + 1] += first[d];
	for (size_t i = 0; i < count; i++)
		sorted[first[raw->edges[i].a]++] = raw->edges[i];
	for (size_t i = 1; i < count; i++) {
		struct dem_edge edge = sorted[i];
		size_t j = i;

		for (; j > 0 && compare_edges(&sorted[j - 1], &edge) > 0; j--)
			sorted[j] = sorted[j - 1];
		sorted[j] = edge;
	}
	free(first);
	dem->edges = sorted;
	dem->edge_count = count;
	return 0;
}

static int find_layers(const char *path, const struct dem_raw *raw,
		       struct dem *dem, struct problem *problem)
{
	double start = raw->detectors[0].time;
	uint32_t before = 0;

	for (uint32_t d = 0; d < raw->detector_count; d++) {
		const struct dem_detector *detector = &raw->detectors[d];
		double layer = detector->time - start;

		if (detector->dimensions == 0)
			return problem_set(
				problem, -EINVAL,
				"%s: detector D%u "
				"has no coordinates; add detector(x, y, t) D%u",
				path, d, d);
		if (!(layer >= before) || layer != floor(layer) ||
		    layer >= MAX_LAYERS)
			return problem_set(
				problem, -EINVAL,
				"%s: detector D%u "
				"has time %g: the last coordinate must count "
				"layers and never go back; renumber them",
				path, d, detector->time);
		before = (uint32_t)layer;
		dem->layer[d] = before;
	}
	dem->layer_count = before + 1;
	dem->dimensions = raw->detectors[raw->detector_count - 1].dimensions;
	dem->layer_first =
		calloc((size_t)dem->layer_count + 1, sizeof(*dem->layer_first));
	if (dem->layer_first == NULL)
		return -ENOMEM;
	for (uint32_t d = 0; d < raw->detector_count; d++)
		dem->layer_first[dem->layer[d] + 1]++;
	for (uint32_t l = 0; l < dem->layer_count; l++)
		dem->layer_first[l + 1] += dem->layer_first[l];
	return 0;
}

static int compare_doubles(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

/* Number the different first coordinates from left to right. */
static int find_columns(const struct dem_raw *raw, struct dem *dem)
{
	double *sorted = malloc(raw->detector_count * sizeof(*sorted));
	uint32_t columns = 0;

	if (sorted == NULL)
		return -ENOMEM;
	for (uint32_t d = 0; d < raw->detector_count; d++)
		sorted[d] = raw->detectors[d].first;
	qsort(sorted, raw->detector_count, sizeof(*sorted), compare_doubles);
	for (uint32_t d = 0; d < raw->detector_count; d++) {
		if (columns == 0 || sorted[d] > sorted[columns - 1])
			sorted[columns++] = sorted[d];
	}
	for (uint32_t d = 0; d < raw->detector_count; d++) {
		const double *found =
			bsearch(&raw->detectors[d].first, sorted, columns,
				sizeof(*sorted), compare_doubles);

		dem->column[d] = (uint32_t)(found - sorted);
	}
	dem->column_count = columns;
	free(sorted);
	return 0;
}

static void find_span(struct dem *dem)
{
	for (size_t i = 0; i < dem->edge_count; i++) {
		const struct dem_edge *edge = &dem->edges[i];
		uint32_t span = 0;

		if (edge->b != DEM_BOUNDARY)
			span = dem->layer[edge->b] - dem->layer[edge->a];
		if (dem->max_span < span)
			dem->max_span = span;
	}
}

static int build(const char *path, struct dem_raw *raw, struct dem *dem,
		 struct problem *problem)
{
	int rc;

	dem->detector_count = raw->detector_count;
	dem->observable_count = raw->observable_count;
	if (raw->detector_count == 0 || raw->edge_count == 0)
		return problem_set(problem, -EINVAL,
				   "%s: no detectors or no "
				   "errors in it; give a .dem made by stim "
				   "analyze_errors of a noisy circuit",
				   path);
	dem->layer = calloc(raw->detector_count, sizeof(*dem->layer));
	dem->column = calloc(raw->detector_count, sizeof(*dem->column));
	dem->flips = calloc(bits_bytes(raw->detector_count), 1);
	if (dem->layer == NULL || dem->column == NULL || dem->flips == NULL)
		return -ENOMEM;
	rc = find_layers(path, raw, dem, problem);
	if (rc == 0)
		rc = find_columns(raw, dem);
	if (rc == 0)
		rc = sort_edges(raw, dem);
	if (rc != 0)
		return rc;
	merge_edges(dem->edges, &dem->edge_count);
	settle_likely_edges(dem);
	find_span(dem);
	return 0;
}

int dem_read(const char *path, struct dem *dem_out, struct problem *problem)
{
	struct dem_raw raw = { 0 };
	char *text = NULL;
	int rc = read_text(path, &text, problem);

	memset(dem_out, 0, sizeof(*dem_out));
	if (rc == 0)
		rc = dem_raw_parse(path, text, &raw, problem);
	if (rc == 0)
		rc = build(path, &raw, dem_out, problem);
	dem_raw_release(&raw);
	free(text);
	if (rc == 0)
		return 0;
	dem_release(dem_out);
	return problem_set(problem, rc,
			   "%s: no memory for this model; use a "
			   "smaller one",
			   path);
}

void dem_release(struct dem *dem)
{
	free(dem->layer_first);
	free(dem->layer);
	free(dem->column);
	free(dem->edges);
	free(dem->flips);
	memset(dem, 0, sizeof(*dem));
}
