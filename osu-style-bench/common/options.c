/* SPDX-License-Identifier: BSD-3-Clause */
#include "options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	OPTION_JSON = 0x100,
	OPTION_LABEL,
	OPTION_LIMIT,
	OPTION_ONLY,
	OPTION_PLOT,
	OPTION_QUICK,
	OPTION_SEED,
	OPTION_STRICT,
	OPTION_SUMMARY,
	OPTION_TOUCH,
	OPTION_BLOCK
};

static const struct argp_option common_options[] = {
	{ "repetitions", 'r', "N", 0,
	  "measure each side N times, in random order (default 15, quick 7)", 0 },
	{ "iterations", 'i', "N", 0,
	  "at most N iterations of a side in a repetition (default 2000)", 0 },
	{ "block-ms", OPTION_BLOCK, "MS", 0,
	  "aim at MS ms for a side in a repetition (default 20, quick 8)", 0 },
	{ "seed", OPTION_SEED, "N", 0, "seed of the order (default 1)", 0 },
	{ "only", OPTION_ONLY, "TEXT", 0, "only cases with TEXT in the name", 0 },
	{ "quick", OPTION_QUICK, NULL, 0, "fewer cases, less time", 0 },
	{ "touch", OPTION_TOUCH, NULL, 0,
	  "write and read whole buffers in each iteration, untimed", 0 },
	{ "limit", OPTION_LIMIT, "RATIO", 0,
	  "hold every ratio of times to RATIO, not to its own target", 0 },
	{ "strict", OPTION_STRICT, NULL, 0, "exit with 1 if a target is missed",
	  0 },
	{ "label", OPTION_LABEL, "TEXT", 0, "put TEXT before each row's name",
	  0 },
	{ "json", OPTION_JSON, "FILE", 0, "write the results as JSON", 0 },
	{ "plot", OPTION_PLOT, "FILE.png", 0,
	  "draw histograms of the latencies (needs gnuplot)", 0 },
	{ "summary", OPTION_SUMMARY, "FILE", 0,
	  "append the rows to FILE, separated by tabs", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 }
};

struct parse_input {
	struct bench_options *options;
	void *own_input;
	bool has_own;
};

long bench_number_parse(struct argp_state *state, const char *text, long low,
			long high)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || value < low ||
	    value > high)
		argp_error(state, "'%s' is not a number in %ld..%ld", text, low,
			   high);
	return value;
}

static double ratio_parse(struct argp_state *state, const char *text)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end != '\0' || !(value > 0.0))
		argp_error(state, "'%s' is not a ratio above 0", text);
	return value;
}

static error_t number_option_parse(int key, char *arg, struct argp_state *state,
				   struct bench_options *options)
{
	switch (key) {
	case 'r':
		options->repetitions =
			(int)bench_number_parse(state, arg, 1, 1000);
		return 0;
	case 'i':
		options->iterations_max =
			(int)bench_number_parse(state, arg, 1, 1000000);
		return 0;
	case OPTION_BLOCK:
		options->block_ms =
			(int)bench_number_parse(state, arg, 1, 10000);
		return 0;
	case OPTION_SEED:
		options->seed =
			(uint64_t)bench_number_parse(state, arg, 0, 1000000000);
		return 0;
	case OPTION_LIMIT:
		options->limit = ratio_parse(state, arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t option_parse(int key, char *arg, struct argp_state *state)
{
	struct parse_input *input = state->input;
	struct bench_options *options = input->options;

	switch (key) {
	case ARGP_KEY_INIT:
		if (input->has_own)
			state->child_inputs[0] = input->own_input;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s': no argument is expected", arg);
		return 0;
	case OPTION_ONLY:
		options->only = arg;
		return 0;
	case OPTION_QUICK:
		options->quick = true;
		return 0;
	case OPTION_TOUCH:
		options->touch = true;
		return 0;
	case OPTION_STRICT:
		options->strict = true;
		return 0;
	case OPTION_LABEL:
		options->label = arg;
		return 0;
	case OPTION_JSON:
		options->json_path = arg;
		return 0;
	case OPTION_PLOT:
		options->plot_path = arg;
		return 0;
	case OPTION_SUMMARY:
		options->summary_path = arg;
		return 0;
	default:
		return number_option_parse(key, arg, state, options);
	}
}

void bench_options_parse(int argc, char **argv, const char *doc,
			 const struct argp *own, void *own_input,
			 struct bench_options *options_out)
{
	const struct argp_child children[] = {
		{ own, 0, "Of this program:", -1 }, { NULL, 0, NULL, 0 }
	};
	const struct argp parser = {
		.options = common_options,
		.parser = option_parse,
		.doc = doc,
		.children = own == NULL ? NULL : children,
	};
	struct parse_input input = { options_out, own_input, own != NULL };

	*options_out =
		(struct bench_options){ .iterations_max = 2000, .seed = 1 };
	argp_err_exit_status = 2;
	argp_parse(&parser, argc, argv, 0, NULL, &input);
	if (options_out->repetitions == 0)
		options_out->repetitions = options_out->quick ? 7 : 15;
	if (options_out->block_ms == 0)
		options_out->block_ms = options_out->quick ? 8 : 20;
}

bool bench_options_wants(const struct bench_options *options, const char *name)
{
	return options->only == NULL || strstr(name, options->only) != NULL;
}
