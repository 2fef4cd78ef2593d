/* SPDX-License-Identifier: BSD-3-Clause */
#include "examples/qwindow/dem_raw.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DETECTORS (1u << 24)
#define MAX_EDGES ((size_t)1 << 25)
#define MAX_LINES_READ ((uint64_t)1 << 26) /* with repeats unrolled */
#define MAX_DEPTH 16
#define MAX_COORDINATES 16
#define DECOMPOSE "make the model with stim analyze_errors --decompose_errors"

struct parser {
	const char *path;
	char **lines;
	size_t line_count;
	size_t line; /* the one being read, from 0 */
	uint64_t lines_read;
	uint64_t detector_shift;
	double shift[MAX_COORDINATES];
	struct dem_raw *raw;
	struct problem *problem;
};

/* One instruction, cut up: name, arguments in parentheses, the targets. */
struct instruction {
	char name[32];
	double arguments[MAX_COORDINATES];
	uint32_t argument_count;
	char *targets;
};

static int fail(struct parser *parser, const char *what)
{
	return problem_set(parser->problem, -EINVAL, "%s: line %zu: %s",
			   parser->path, parser->line + 1, what);
}

static char *skip_space(char *text)
{
	while (*text == ' ' || *text == '\t' || *text == '\r')
		text++;
	return text;
}

static int parse_arguments(struct parser *parser, char **text,
			   struct instruction *instruction)
{
	char *at = skip_space(*text + 1);

	while (*at != ')') {
		char *end;
		double value = strtod(at, &end);

		if (end == at)
			return fail(parser,
				    "a number or ')' is missing in "
				    "the parentheses; complete the line");
		if (instruction->argument_count == MAX_COORDINATES)
			return fail(parser,
				    "more than 16 numbers in "
				    "parentheses; drop the ones not needed");
		instruction->arguments[instruction->argument_count++] = value;
		at = skip_space(end);
		if (*at == ',')
			at = skip_space(at + 1);
	}
	*text = at + 1;
	return 0;
}

static int parse_instruction(struct parser *parser, char *text,
			     struct instruction *instruction)
{
	size_t length = 0;

	while (isalnum((unsigned char)text[length]) || text[length] == '_')
		length++;
	if (length == 0 || length >= sizeof(instruction->name))
		return fail(parser,
			    "not an instruction of a detector error "
			    "model; give a .dem made by stim analyze_errors");
	memcpy(instruction->name, text, length);
	instruction->name[length] = '\0';
	instruction->argument_count = 0;
	text += length;
	if (*text == '[') {
		text = strchr(text, ']');
		if (text == NULL)
			return fail(parser, "a tag without ']'; close it");
		text++;
	}
	if (*text == '(') {
		int rc = parse_arguments(parser, &text, instruction);

		if (rc != 0)
			return rc;
	}
	instruction->targets = skip_space(text);
	return 0;
}

/* "D12" or "L0" at *text; the number goes to *index_out. */
static int parse_target(struct parser *parser, char **text, uint64_t *index_out)
{
	char *end;
	unsigned long long value;

	if (!isdigit((unsigned char)(*text)[1]))
		return fail(parser, "a target has no number; write D0 or L0");
	errno = 0;
	value = strtoull(*text + 1, &end, 10);
	if (errno != 0 || (*end != '\0' && !isspace((unsigned char)*end)))
		return fail(parser, "a target's number is not whole; write "
				    "it in decimal digits");
	*text = skip_space(end);
	*index_out = value;
	return 0;
}

static int detector_use(struct parser *parser, uint64_t index)
{
	struct dem_raw *raw = parser->raw;

	if (index < MAX_DETECTORS)
		index += parser->detector_shift;
	if (index >= MAX_DETECTORS)
		return fail(parser, "a detector's number is over 16777215; "
				    "cut the circuit into shorter ones");
	while (raw->detector_room <= index) {
		uint32_t room = raw->detector_room * 2 + 1024;
		struct dem_detector *grown =
			realloc(raw->detectors, room * sizeof(*grown));

		if (grown == NULL)
			return problem_set(parser->problem, -ENOMEM,
					   "%s: no memory for %u detectors; use a "
					   "smaller model",
					   parser->path, room);
		memset(grown + raw->detector_room, 0,
		       (room - raw->detector_room) * sizeof(*grown));
		raw->detectors = grown;
		raw->detector_room = room;
	}
	if (raw->detector_count <= index)
		raw->detector_count = (uint32_t)index + 1;
	return 0;
}

static int observable_use(struct parser *parser, uint64_t index)
{
	if (index >= DEM_MAX_OBSERVABLES)
		return fail(parser, "more than 64 observables; decode them "
				    "in several models");
	if (parser->raw->observable_count <= index)
		parser->raw->observable_count = (uint32_t)index + 1;
	return 0;
}

static int edge_append(struct parser *parser, const struct dem_edge *edge)
{
	struct dem_raw *raw = parser->raw;

	if (raw->edge_count == raw->edge_room) {
		size_t room = raw->edge_room * 2 + 4096;
		struct dem_edge *grown = NULL;

		if (room <= MAX_EDGES)
			grown = realloc(raw->edges, room * sizeof(*grown));
		if (grown == NULL)
			return problem_set(
				parser->problem, -ENOMEM,
				"%s: line %zu: no room for %zu errors; use "
				"a smaller model",
				parser->path, parser->line + 1, room);
		raw->edges = grown;
		raw->edge_room = room;
	}
	raw->edges[raw->edge_count++] = *edge;
	return 0;
}

/* Twice the same end is none: errors act by XOR. */
static int edge_add_end(struct parser *parser, struct dem_edge *edge,
			uint64_t index)
{
	uint32_t end = (uint32_t)(index + parser->detector_shift);

	if (edge->a == end) {
		edge->a = edge->b;
		edge->b = DEM_BOUNDARY;
	} else if (edge->b == end) {
		edge->b = DEM_BOUNDARY;
	} else if (edge->a == DEM_BOUNDARY) {
		edge->a = end;
	} else if (edge->b == DEM_BOUNDARY) {
		edge->b = end;
	} else {
		return fail(parser, "hyperedge: a part of this error has more "
				    "than 2 detectors; " DECOMPOSE);
	}
	return 0;
}

/* A part with no detector can't be seen in a shot: it is left out. */
static int edge_finish(struct parser *parser, struct dem_edge *edge)
{
	int rc = 0;

	if (edge->b < edge->a) {
		uint32_t swap = edge->a;

		edge->a = edge->b;
		edge->b = swap;
	}
	if (edge->a != DEM_BOUNDARY && edge->probability > 0)
		rc = edge_append(parser, edge);
	edge->a = DEM_BOUNDARY;
	edge->b = DEM_BOUNDARY;
	edge->observables = 0;
	return rc;
}

static int error_target(struct parser *parser, struct dem_edge *edge,
			char **text)
{
	char kind = **text;
	uint64_t index;
	int rc = parse_target(parser, text, &index);

	if (rc != 0)
		return rc;
	if (kind == 'L') {
		rc = observable_use(parser, index);
		if (rc == 0)
			edge->observables ^= (uint64_t)1 << index;
		return rc;
	}
	rc = detector_use(parser, index);
	if (rc == 0)
		rc = edge_add_end(parser, edge, index);
	return rc;
}

static int parse_error(struct parser *parser, struct instruction *instruction)
{
	struct dem_edge edge = { .a = DEM_BOUNDARY, .b = DEM_BOUNDARY };
	char *at = instruction->targets;

	if (instruction->argument_count != 1 ||
	    !(instruction->arguments[0] >= 0 && instruction->arguments[0] <= 1))
		return fail(parser, "error() needs one probability from 0 "
				    "to 1; write error(0.001) D0 D1");
	edge.probability = instruction->arguments[0];
	while (*at != '\0') {
		int rc;

		if (*at == '^') {
			rc = edge_finish(parser, &edge);
			at = skip_space(at + 1);
		} else if (*at == 'D' || *at == 'L') {
			rc = error_target(parser, &edge, &at);
		} else {
			return fail(parser, "a target is not D, L or ^; "
					    "write error(0.001) D0 D1 ^ D2 L0");
		}
		if (rc != 0)
			return rc;
	}
	return edge_finish(parser, &edge);
}

static int parse_detector(struct parser *parser, struct instruction *instruction)
{
	uint32_t count = instruction->argument_count;
	char *at = instruction->targets;

	while (*at == 'D') {
		struct dem_detector *detector;
		uint64_t index;
		int rc = parse_target(parser, &at, &index);

		if (rc == 0)
			rc = detector_use(parser, index);
		if (rc != 0)
			return rc;
		if (count == 0)
			continue;
		detector =
			&parser->raw->detectors[index + parser->detector_shift];
		detector->dimensions = count;
		detector->first = instruction->arguments[0] + parser->shift[0];
		detector->time = instruction->arguments[count - 1] +
				 parser->shift[count - 1];
	}
	if (*at != '\0')
		return fail(parser, "detector() takes detectors only; write "
				    "detector(x, y, t) D0");
	return 0;
}

static int parse_shift(struct parser *parser, struct instruction *instruction)
{
	char *end = instruction->targets;
	unsigned long long amount = strtoull(instruction->targets, &end, 10);

	if (*skip_space(end) != '\0' || amount >= MAX_DETECTORS)
		return fail(parser, "shift_detectors takes one whole number; "
				    "write shift_detectors(0, 0, 1) 24");
	for (uint32_t i = 0; i < instruction->argument_count; i++)
		parser->shift[i] += instruction->arguments[i];
	parser->detector_shift += amount;
	if (parser->detector_shift >= MAX_DETECTORS)
		return fail(parser, "detectors are shifted over 16777215; "
				    "cut the circuit into shorter ones");
	return 0;
}

static int parse_observable(struct parser *parser,
			    struct instruction *instruction)
{
	char *at = instruction->targets;

	while (*at == 'L') {
		uint64_t index;
		int rc = parse_target(parser, &at, &index);

		if (rc == 0)
			rc = observable_use(parser, index);
		if (rc != 0)
			return rc;
	}
	if (*at != '\0')
		return fail(parser, "logical_observable takes observables; "
				    "write logical_observable L0");
	return 0;
}

static int parse_block(struct parser *parser, size_t first, int depth,
		       size_t *end_out);

/* Every turn reads the body's text again: short, and as fast as needed. */
static int parse_repeat(struct parser *parser, struct instruction *instruction,
			int depth, size_t *end_out)
{
	char *end = instruction->targets;
	unsigned long long turns = strtoull(instruction->targets, &end, 10);
	size_t body = parser->line + 1;

	end = skip_space(end);
	if (turns == 0 || turns > MAX_DETECTORS || end[0] != '{' ||
	    *skip_space(end + 1) != '\0')
		return fail(parser, "repeat needs a count and a brace; write "
				    "repeat 10 {");
	if (depth == MAX_DEPTH)
		return fail(parser, "repeat blocks nest over 16 deep; unroll "
				    "the inner ones");
	for (unsigned long long turn = 0; turn < turns; turn++) {
		int rc = parse_block(parser, body, depth + 1, end_out);

		if (rc != 0)
			return rc;
	}
	return 0;
}

static int parse_one(struct parser *parser, char *text)
{
	struct instruction instruction;
	int rc = parse_instruction(parser, text, &instruction);

	if (rc != 0)
		return rc;
	if (strcmp(instruction.name, "error") == 0)
		return parse_error(parser, &instruction);
	if (strcmp(instruction.name, "detector") == 0)
		return parse_detector(parser, &instruction);
	if (strcmp(instruction.name, "shift_detectors") == 0)
		return parse_shift(parser, &instruction);
	if (strcmp(instruction.name, "logical_observable") == 0)
		return parse_observable(parser, &instruction);
	return fail(parser, "unknown instruction; known are error, detector, "
			    "logical_observable, shift_detectors and repeat");
}

/* Lines from `first` to the end of the text or the block's brace; the line
 * of that brace, or the number of lines, goes to *end_out. */
static int parse_block(struct parser *parser, size_t first, int depth,
		       size_t *end_out)
{
	size_t at = first;

	for (; at < parser->line_count; at++) {
		char *text = skip_space(parser->lines[at]);
		int rc;

		parser->line = at;
		if (++parser->lines_read > MAX_LINES_READ)
			return fail(parser,
				    "over 67108864 lines when "
				    "unrolled; use a smaller repeat count");
		if (*text == '\0')
			continue;
		if (*text == '}') {
			if (depth == 0)
				return fail(parser, "a brace closes no repeat;"
						    " remove it");
			*end_out = at;
			return 0;
		}
		if (strncmp(text, "repeat", 6) == 0 && !isalnum(text[6])) {
			struct instruction instruction;

			rc = parse_instruction(parser, text, &instruction);
			if (rc == 0)
				rc = parse_repeat(parser, &instruction, depth,
						  &at);
		} else {
			rc = parse_one(parser, text);
		}
		if (rc != 0)
			return rc;
	}
	if (depth != 0)
		return fail(parser, "the file ends inside a repeat block; it "
				    "is cut short, copy it again");
	*end_out = at;
	return 0;
}

/* Cut the text into lines, without comments and trailing space. */
static int split_lines(struct parser *parser, char *text)
{
	size_t count = 1;

	for (char *at = text; *at != '\0'; at++)
		count += *at == '\n';
	parser->lines = malloc(count * sizeof(*parser->lines));
	if (parser->lines == NULL)
		return problem_set(
			parser->problem, -ENOMEM,
			"%s: no memory for %zu lines; use a smaller model",
			parser->path, count);
	while (text != NULL && *text != '\0') {
		char *line = strsep(&text, "\n");
		size_t length = strcspn(line, "#");

		while (length > 0 && isspace((unsigned char)line[length - 1]))
			length--;
		line[length] = '\0';
		parser->lines[parser->line_count++] = line;
	}
	return 0;
}

int dem_raw_parse(const char *path, char *text, struct dem_raw *raw_out,
		  struct problem *problem)
{
	struct parser parser = {
		.path = path,
		.raw = raw_out,
		.problem = problem,
	};
	size_t end;
	int rc;

	memset(raw_out, 0, sizeof(*raw_out));
	rc = split_lines(&parser, text);
	if (rc == 0)
		rc = parse_block(&parser, 0, 0, &end);
	free(parser.lines);
	if (rc != 0)
		dem_raw_release(raw_out);
	return rc;
}

void dem_raw_release(struct dem_raw *raw)
{
	free(raw->detectors);
	free(raw->edges);
	memset(raw, 0, sizeof(*raw));
}
