/* SPDX-License-Identifier: BSD-3-Clause */
#include "examples/qwindow/options.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "examples/qwindow/freeze.h"

enum option_key {
	KEY_HELP = 'h',
	KEY_EXCHANGE = 'e',
	KEY_MODE = 'm',
	KEY_PATCHES = 'p',
	KEY_SHOTS = 'n',
	KEY_RACKS = 'r',
	KEY_COMMIT = 'c',
	KEY_BUFFER = 'b',
	KEY_DISTANCE = 'd',
	KEY_OBSERVABLES = 'o',
	KEY_REFERENCE = 'f',
	KEY_JSON = 'j',
	KEY_ROUND_NS = 0x100,
	KEY_DROP_SEAMS,
	KEY_POKE,
	KEY_FREEZE,
};

static const struct argp_option option_table[] = {
	{ 0, 0, 0, 0, "What is decoded:", 1 },
	{ "observables", KEY_OBSERVABLES, "FILE", 0,
	  "True observable flips "
	  "(default: SHOTS with .det. replaced by .obs.)",
	  0 },
	{ "reference", KEY_REFERENCE, "FILE|N", 0,
	  "Predictions of a reference "
	  "decoder, or its number of errors (default: SHOTS with .pm.)",
	  0 },
	{ "shots", KEY_SHOTS, "N", 0, "Only the first N shots", 0 },
	{ 0, 0, 0, 0, "How it is decoded:", 2 },
	{ "patches", KEY_PATCHES, "S", 0,
	  "Patches (shots) in a batch, 1 to "
	  "65536 (64)",
	  0 },
	{ "commit", KEY_COMMIT, "LAYERS", 0,
	  "Layers that an A window commits "
	  "(the distance)",
	  0 },
	{ "buffer", KEY_BUFFER, "LAYERS", 0,
	  "Layers of look-ahead on either "
	  "side (the distance); too few is a negative control",
	  0 },
	{ "distance", KEY_DISTANCE, "D", 0, "Code distance (from the model)", 0 },
	{ 0, 0, 0, 0, "How ranks exchange:", 3 },
	{ "exchange", KEY_EXCHANGE, "qo|mpi", 0,
	  "libqoffload (default), or "
	  "MPI's nonblocking calls",
	  0 },
	{ "mode", KEY_MODE, "throughput|latency", 0,
	  "B windows one step later "
	  "while seams fly (default), or at once",
	  0 },
	{ "racks", KEY_RACKS, "patch|strip", 0,
	  "A control rack has whole "
	  "patches (default) or columns of all",
	  0 },
	{ "round-ns", KEY_ROUND_NS, "NS", 0,
	  "Bits come at this cadence; tells "
	  "deadline misses and backlog",
	  0 },
	{ "poke", KEY_POKE, 0, 0,
	  "Call the exchange between sub-batches, for "
	  "libraries that progress only inside calls",
	  0 },
	{ "drop-seams", KEY_DROP_SEAMS, "PERCENT", 0,
	  "Lose some seam messages:"
	  " a negative control",
	  0 },
	{ "freeze", KEY_FREEZE, "RANK[:MS[:WINDOW]]", 0,
	  "Stop a rank and all its threads for MS milliseconds (500) before "
	  "its WINDOW-th window (the middle one), and tell what the others "
	  "did meanwhile",
	  0 },
	{ 0, 0, 0, 0, "Output:", 4 },
	{ "json", KEY_JSON, "FILE", OPTION_ARG_OPTIONAL,
	  "The result as JSON, "
	  "to FILE or instead of the table",
	  0 },
	{ "help", KEY_HELP, 0, 0, "This text", 5 },
	{ 0 },
};

static const char documentation[] =
	"Decode surface or repetition code memories in parallel time windows "
	"spread over ranks, which exchange while they decode."
	"\vMODEL.dem is a decomposed Stim detector error model, SHOTS its "
	"detection events (.b8, .r8 or .01). The program checks itself: the "
	"corrections equal the serial windowed decoder's, no defect of the "
	"file is left, and logical errors are at most 1.15 ref + 3 sqrt(ref) "
	"against a reference. Exit status: 0 all checks passed, 1 one failed, "
	"2 bad input.\n\nExample: mpirun -n 4 qwindow-openmpi "
	"data/surfz_d5_r119_p0.003.dem "
	"data/surfz_d5_r119_p0.003_n3000_s353.det.r8";

struct parsing {
	struct options *options;
	struct problem *problem;
};

static int bad_value(struct parsing *parsing, const char *option,
		     const char *value, const char *wanted)
{
	return problem_set(parsing->problem, -EINVAL, "option --%s=%s: give %s",
			   option, value, wanted);
}

/* A whole number from low to high; 1 if it is one. */
static int number(const char *text, int64_t low, int64_t high,
		  int64_t *value_out)
{
	char *end;
	long long value;

	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || value < low ||
	    value > high)
		return 0;
	*value_out = value;
	return 1;
}

/* 0 the first word, 1 the second, -1 neither. */
static int choice(const char *text, const char *first, const char *second)
{
	if (strcmp(text, first) == 0)
		return 0;
	return strcmp(text, second) == 0 ? 1 : -1;
}

static int parse_exchange_option(struct parsing *parsing, int key,
				 const char *text)
{
	struct options *options = parsing->options;
	int which;

	switch (key) {
	case KEY_EXCHANGE:
		which = choice(text, "qo", "mpi");
		options->mpi = which;
		return which >= 0 ? 0
				  : bad_value(parsing, "exchange", text,
					      "qo or mpi");
	case KEY_MODE:
		which = choice(text, "throughput", "latency");
		options->latency = which;
		return which >= 0 ? 0
				  : bad_value(parsing, "mode", text,
					      "throughput or latency");
	case KEY_RACKS:
		which = choice(text, "patch", "strip");
		options->racks = which == 1 ? RACK_STRIP : RACK_PATCH;
		return which >= 0 ? 0
				  : bad_value(parsing, "racks", text,
					      "patch or strip");
	case KEY_ROUND_NS:
		if (!number(text, 1, 1000000000, &options->round_ns))
			return bad_value(parsing, "round-ns", text,
					 "nanoseconds from 1 to 1000000000");
		return 0;
	case KEY_POKE:
		options->poke = 1;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int parse_drop(struct parsing *parsing, const char *text)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end != '\0' || !(value >= 0 && value <= 100))
		return bad_value(parsing, "drop-seams", text,
				 "a percentage from 0 to 100");
	parsing->options->drop_seams = value;
	return 0;
}

/* A number that ends at a colon, or at the end of the text. */
static int field(const char **text, int64_t low, int64_t high,
		 int64_t *value_out)
{
	char digits[24];
	size_t length = strcspn(*text, ":");

	if (length >= sizeof(digits))
		return 0;
	memcpy(digits, *text, length);
	digits[length] = '\0';
	*text += length + ((*text)[length] == ':');
	return number(digits, low, high, value_out);
}

static int parse_freeze(struct parsing *parsing, const char *text)
{
	struct options *options = parsing->options;
	const char *rest = text;
	size_t length = strlen(text);
	int ok = field(&rest, 0, UINT32_MAX, &options->freeze_rank);

	if (ok && *rest != '\0')
		ok = field(&rest, 1, FREEZE_MS_MOST, &options->freeze_ms);
	if (ok && *rest != '\0')
		ok = field(&rest, 1, INT64_MAX, &options->freeze_window);
	if (!ok || *rest != '\0' || text[length - 1] == ':')
		return bad_value(parsing, "freeze", text,
				 "RANK, RANK:MS or RANK:MS:WINDOW, MS from 1 "
				 "to 30000, WINDOW from 1");
	return 0;
}

static int parse_decoder_option(struct parsing *parsing, int key,
				const char *text)
{
	struct options *options = parsing->options;
	int64_t value;

	switch (key) {
	case KEY_PATCHES:
		if (!number(text, 1, 65536, &value))
			return bad_value(parsing, "patches", text,
					 "a number from 1 to 65536");
		options->patches = (uint32_t)value;
		return 0;
	case KEY_SHOTS:
		if (!number(text, 1, INT64_MAX, &value))
			return bad_value(parsing, "shots", text,
					 "how many to decode, 1 or more");
		options->shot_limit = (uint64_t)value;
		return 0;
	case KEY_COMMIT:
	case KEY_BUFFER:
	case KEY_DISTANCE:
		if (!number(text, key == KEY_BUFFER ? 0 : 1, 1000000, &value))
			return bad_value(
				parsing,
				key == KEY_COMMIT   ? "commit"
				: key == KEY_BUFFER ? "buffer"
						    : "distance",
				text,
				"a number of layers up to 1000000, 1 or more "
				"(a buffer: 0 or more)");
		if (key == KEY_COMMIT)
			options->commit = (int32_t)value;
		else if (key == KEY_BUFFER)
			options->buffer = (int32_t)value;
		else
			options->distance = (int32_t)value;
		return 0;
	case KEY_DROP_SEAMS:
		return parse_drop(parsing, text);
	case KEY_FREEZE:
		return parse_freeze(parsing, text);
	default:
		return parse_exchange_option(parsing, key, text);
	}
}

static int parse_positional(struct parsing *parsing, const char *text)
{
	struct options *options = parsing->options;

	if (options->model == NULL)
		options->model = text;
	else if (options->shots == NULL)
		options->shots = text;
	else
		return problem_set(
			parsing->problem, -EINVAL,
			"argument %s: "
			"only MODEL.dem and SHOTS are taken; see --help",
			text);
	return 0;
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
	struct parsing *parsing = state->input;
	struct options *options = parsing->options;
	int rc = 0;

	switch (key) {
	case KEY_OBSERVABLES:
		options->observables = text;
		break;
	case KEY_REFERENCE:
		if (!number(text, 0, INT64_MAX, &options->reference_errors))
			options->reference = text;
		break;
	case KEY_JSON:
		options->json = text != NULL ? text : "-";
		break;
	case KEY_HELP:
		options->help = 1;
		break;
	case ARGP_KEY_ARG:
		rc = parse_positional(parsing, text);
		break;
	case ARGP_KEY_ERROR:
		problem_set(parsing->problem, -EINVAL,
			    "option %s: unknown, "
			    "or its value is missing or not wanted; see --help",
			    state->next > 0 && state->next <= state->argc
				    ? state->argv[state->next - 1]
				    : "");
		break;
	default:
		rc = parse_decoder_option(parsing, key, text);
		break;
	}
	return rc < 0 ? -rc : rc;
}

static const struct argp parser = {
	.options = option_table,
	.parser = parse_option,
	.args_doc = "MODEL.dem SHOTS",
	.doc = documentation,
};

int options_parse(int argc, char **argv, struct options *options_out,
		  struct problem *problem)
{
	struct options options = {
		.patches = 64,
		.reference_errors = -1,
		.commit = -1,
		.buffer = -1,
		.freeze_rank = -1,
		.freeze_ms = FREEZE_MS,
	};
	struct parsing parsing = { .options = &options, .problem = problem };
	int rc;

	/* Every rank parses, one prints: argp itself must stay silent. */
	rc = -argp_parse(&parser, argc, argv,
			 ARGP_NO_ERRS | ARGP_NO_HELP | ARGP_NO_EXIT, NULL,
			 &parsing);
	if (rc != 0)
		return problem_set(problem, rc,
				   "the options are wrong; see "
				   "--help");
	if (options.help == 0 && options.shots == NULL)
		return problem_set(problem, -EINVAL,
				   "MODEL.dem and SHOTS are "
				   "missing: name the two files; see --help");
	*options_out = options;
	return 0;
}

void options_print_help(void)
{
	char name[] = "qwindow";

	argp_help(&parser, stdout,
		  ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, name);
}
