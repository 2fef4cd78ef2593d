/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/conformance/prov.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\n"

static int ranks_take(struct qoc_prov *prov)
{
	const char *word = strtok(NULL, BLANKS);

	if (word == NULL)
		return -1;
	prov->ranks = (uint32_t)strtoul(word, NULL, 10);
	return 0;
}

static int agents_take(struct qoc_prov *prov)
{
	const char *word;

	while ((word = strtok(NULL, BLANKS)) != NULL) {
		if (prov->agent_count == QOC_AGENTS_MAX)
			return -1;
		prov->agents[prov->agent_count++] = strdup(word);
	}
	return 0;
}

static int daemon_take(struct qoc_prov *prov)
{
	uint32_t count = 0;
	const char *word;

	prov->daemon = 1;
	while ((word = strtok(NULL, BLANKS)) != NULL) {
		if (count == QOC_ARGUMENTS_MAX)
			return -1;
		prov->arguments[count++] = strdup(word);
	}
	return 0;
}

static int memory_take(struct qoc_prov *prov)
{
	const char *word = strtok(NULL, BLANKS);

	prov->alloc = 1;
	return word != NULL && strcmp(word, "alloc") == 0 ? 0 : -1;
}

static int setting_take(struct qoc_prov *prov)
{
	const char *word = strtok(NULL, "\n");

	if (word == NULL || prov->setting_count == QOC_SETTINGS_MAX - 4)
		return -1;
	if (strncmp(word, "QO_FAULT_", 9) == 0)
		prov->faulty = 1;
	prov->settings[prov->setting_count++] = strdup(word);
	return 0;
}

static int skip_take(struct qoc_prov *prov)
{
	const char *word = strtok(NULL, "\n");

	/* A reason is due. */
	if (word == NULL || strchr(word, ' ') == NULL ||
	    prov->skip_count == QOC_SKIPS_MAX)
		return -1;
	prov->skips[prov->skip_count++] = strdup(word);
	return 0;
}

static const struct {
	const char *word;
	int (*take)(struct qoc_prov *prov);
} lines[] = {
	{ "ranks", ranks_take },   { "agents", agents_take },
	{ "daemon", daemon_take }, { "memory", memory_take },
	{ "set", setting_take },   { "skip", skip_take },
};

static int line_take(struct qoc_prov *prov, char *line)
{
	const char *word = strtok(line, BLANKS);

	if (word == NULL || word[0] == '#')
		return 0;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (strcmp(word, lines[i].word) == 0)
			return lines[i].take(prov);
	}
	return -1;
}

int qoc_prov_read(const char *path, struct qoc_prov *prov)
{
	char line[256];
	int number = 0;
	FILE *file = fopen(path, "r");

	if (file == NULL) {
		perror(path);
		return -1;
	}
	while (fgets(line, sizeof(line), file) != NULL) {
		number++;
		if (line_take(prov, line) == 0)
			continue;
		fprintf(stderr, "%s:%d: not understood\n", path, number);
		fclose(file);
		return -1;
	}
	fclose(file);
	return prov->agent_count == 0 || prov->ranks == 0 ? -1 : 0;
}

const char *qoc_prov_skip(const struct qoc_prov *prov, const char *name)
{
	size_t length = strlen(name);

	for (uint32_t i = 0; i < prov->skip_count; i++) {
		if (strncmp(prov->skips[i], name, length) == 0 &&
		    prov->skips[i][length] == ' ')
			return prov->skips[i] + length + 1;
	}
	return NULL;
}
