/* SPDX-License-Identifier: BSD-3-Clause */
#include "examples/qwindow/input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 4096

/*
 * The file beside the shots that says `what` instead of "det", in any
 * format. 1 found, 0 there is none.
 */
static int find_beside(const char *shots, const char *what, char *path)
{
	static const char *const formats[] = { "b8", "r8", "01" };
	const char *found = NULL;

	for (const char *at = strstr(shots, ".det."); at != NULL;
	     at = strstr(at + 1, ".det."))
		found = at;
	if (found == NULL)
		return 0;
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		int length =
			snprintf(path, PATH_BYTES, "%.*s.%s.%s",
				 (int)(found - shots), shots, what, formats[i]);

		if (length < PATH_BYTES && access(path, F_OK) == 0)
			return 1;
	}
	return 0;
}

/* Predictions or true flips: as many as the shots, or it's another sample. */
static int read_flips(const char *path, const struct input *input,
		      struct shots *flips_out, struct problem *problem)
{
	size_t wanted = input->shots.count;
	int rc;

	if (input->dem.observable_count == 0)
		return problem_set(
			problem, -EINVAL,
			"%s: the model has no "
			"observables; give the model that it was made with",
			path);
	rc = shots_read(path, input->dem.observable_count, wanted, flips_out,
			problem);
	if (rc == 0 && flips_out->count != wanted)
		rc = problem_set(
			problem, -EINVAL,
			"%s: shot %zu: the file "
			"ends, but there are %zu shots; give the one of the "
			"same sample",
			path, flips_out->count, wanted);
	return rc;
}

static int read_observables(const struct options *options, struct input *input,
			    struct problem *problem)
{
	char path[PATH_BYTES];
	const char *name = options->observables;

	if (name == NULL && find_beside(options->shots, "obs", path))
		name = path;
	if (name == NULL)
		return 0;
	return read_flips(name, input, &input->observables, problem);
}

static int read_reference(const struct options *options, struct input *input,
			  struct problem *problem)
{
	char path[PATH_BYTES];
	const char *name = options->reference;
	struct shots predicted = { 0 };
	int rc;

	input->reference_errors = options->reference_errors;
	if (options->reference_errors >= 0 || input->observables.rows == NULL)
		return 0;
	if (name == NULL && find_beside(options->shots, "pm", path))
		name = path;
	if (name == NULL)
		return 0;
	rc = read_flips(name, input, &predicted, problem);
	input->reference_errors = 0;
	for (size_t p = 0; rc == 0 && p < predicted.count; p++)
		input->reference_errors +=
			memcmp(shots_row(&predicted, p),
			       shots_row(&input->observables, p),
			       predicted.stride) != 0;
	shots_release(&predicted);
	return rc;
}

/* Edges that are likelier than not are in every shot; see dem.h. */
static void apply_flips(struct input *input)
{
	for (size_t p = 0; p < input->shots.count; p++) {
		uint8_t *row = shots_row(&input->shots, p);

		for (uint32_t i = 0; i < input->shots.stride; i++)
			row[i] ^= input->dem.flips[i];
	}
}

int input_distance(const struct options *options, const struct dem *dem,
		   uint32_t *distance_out, struct problem *problem)
{
	uint32_t most = 0, distance = 1;

	for (uint32_t l = 0; l < dem->layer_count; l++) {
		uint32_t count = dem->layer_first[l + 1] - dem->layer_first[l];

		if (most < count)
			most = count;
	}
	if (options->distance > 0) {
		*distance_out = (uint32_t)options->distance;
		return 0;
	}
	if (dem->dimensions <= 2) {
		*distance_out = most + 1;
		return 0;
	}
	while (distance * distance < most + 1)
		distance++;
	if (distance * distance != most + 1)
		return problem_set(problem, -EINVAL,
				   "%s: %u detectors in a "
				   "layer are no square minus one, so this is no "
				   "rotated surface code; give --distance=D",
				   options->model, most);
	*distance_out = distance;
	return 0;
}

static int make_plan(const struct options *options, struct input *input,
		     struct problem *problem)
{
	uint32_t distance = 0;
	int rc = 0;

	if (options->commit < 0 || options->buffer < 0)
		rc = input_distance(options, &input->dem, &distance, problem);
	if (rc != 0)
		return rc;
	rc = plan_create(
		&input->dem,
		options->commit < 0 ? distance : (uint32_t)options->commit,
		options->buffer < 0 ? distance : (uint32_t)options->buffer,
		&input->plan);
	if (rc != 0)
		problem_set(problem, rc,
			    "%s: no memory for its windows; use "
			    "a smaller model",
			    options->model);
	return rc;
}

int input_read(const struct options *options, struct input *input_out,
	       struct problem *problem)
{
	struct input *input = input_out;
	int rc;

	memset(input, 0, sizeof(*input));
	rc = dem_read(options->model, &input->dem, problem);
	if (rc == 0)
		rc = shots_read(options->shots, input->dem.detector_count,
				options->shot_limit, &input->shots, problem);
	if (rc == 0 && input->shots.count > UINT32_MAX)
		rc = problem_set(problem, -EINVAL,
				 "%s: over 4294967295 shots;"
				 " use --shots=N",
				 options->shots);
	if (rc == 0)
		rc = read_observables(options, input, problem);
	if (rc == 0)
		rc = read_reference(options, input, problem);
	if (rc == 0)
		rc = make_plan(options, input, problem);
	if (rc == 0)
		apply_flips(input);
	else
		input_release(input);
	return rc;
}

void input_release(struct input *input)
{
	dem_release(&input->dem);
	shots_release(&input->shots);
	shots_release(&input->observables);
	plan_release(&input->plan);
}
