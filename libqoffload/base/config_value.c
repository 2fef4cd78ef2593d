/* SPDX-License-Identifier: BSD-3-Clause */
#include "libqoffload/base/config_value.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Cpu numbers above this are a slip of the finger. */
#define CPU_MAX 65535

struct suffix {
	const char *text;
	uint64_t factor;
};

/* In falling order, as number_text() wants it; the last one is "none". */
static const struct suffix byte_suffixes[] = {
	{ "g", UINT64_C(1) << 30 },
	{ "m", UINT64_C(1) << 20 },
	{ "k", UINT64_C(1) << 10 },
	{ "", 1 },
};

static const struct suffix duration_suffixes[] = {
	{ "s", UINT64_C(1000000000) },
	{ "ms", UINT64_C(1000000) },
	{ "us", UINT64_C(1000) },
	{ "ns", 1 },
	{ "", 1 },
};

static const struct suffix plain_suffixes[] = { { "", 1 } };

static const struct suffix *type_suffixes(enum qoi_config_type type)
{
	if (type == QOI_CONFIG_BYTES)
		return byte_suffixes;
	if (type == QOI_CONFIG_DURATION)
		return duration_suffixes;
	return plain_suffixes;
}

static int parse_suffix(const struct suffix *suffix, const char *text,
			uint64_t *factor_out)
{
	for (;; suffix++) {
		if (strcasecmp(suffix->text, text) == 0) {
			*factor_out = suffix->factor;
			return 0;
		}
		if (suffix->text[0] == '\0')
			return -EINVAL;
	}
}

static int parse_number(const struct qoi_config_entry *entry, const char *text,
			uint64_t *value_out)
{
	uint64_t value, factor;
	char *end;

	/* strtoull takes a sign and leading blanks; we don't. */
	if (isdigit((unsigned char)text[0]) == 0)
		return -EINVAL;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno != 0 ||
	    parse_suffix(type_suffixes(entry->type), end, &factor) != 0)
		return -EINVAL;
	if (value > UINT64_MAX / factor)
		return -EINVAL;
	value *= factor;
	if (value < entry->min || value > entry->max)
		return -EINVAL;
	*value_out = value;
	return 0;
}

static int parse_choice(const struct qoi_config_entry *entry, const char *text,
			int *value_out)
{
	for (int i = 0; entry->choices[i] != NULL; i++) {
		if (strcmp(entry->choices[i], text) == 0) {
			*value_out = i;
			return 0;
		}
	}
	return -EINVAL;
}

/* One "7" or "2-5" of a cpu list; returns where it ends, or NULL. */
static const char *skip_cpu_range(const char *text)
{
	unsigned long first, last;
	char *end;

	if (isdigit((unsigned char)text[0]) == 0)
		return NULL;
	first = last = strtoul(text, &end, 10);
	if (*end == '-') {
		if (isdigit((unsigned char)end[1]) == 0)
			return NULL;
		last = strtoul(end + 1, &end, 10);
	}
	return first <= last && last <= CPU_MAX ? end : NULL;
}

static int check_cpu_list(const char *text)
{
	if (strcmp(text, "auto") == 0 || strcmp(text, "none") == 0)
		return 0;
	for (;;) {
		text = skip_cpu_range(text);
		if (text == NULL)
			return -EINVAL;
		if (*text == '\0')
			return 0;
		if (*text++ != ',')
			return -EINVAL;
	}
}

static int set_string(const char **field, const char *text)
{
	char *copy = strdup(text);

	if (copy == NULL)
		return -ENOMEM;
	free((char *)*field);
	*field = copy;
	return 0;
}

int qoi_config_value_set(struct qoi_config *config,
			 const struct qoi_config_entry *entry, const char *text)
{
	void *field = (char *)config + entry->offset;

	switch (entry->type) {
	case QOI_CONFIG_STRING:
		return text[0] == '\0' ? -EINVAL : set_string(field, text);
	case QOI_CONFIG_CPU_LIST:
		if (check_cpu_list(text) != 0)
			return -EINVAL;
		return set_string(field, text);
	case QOI_CONFIG_CHOICE:
		return parse_choice(entry, text, field);
	case QOI_CONFIG_UINT:
	case QOI_CONFIG_BYTES:
	case QOI_CONFIG_DURATION:
		return parse_number(entry, text, field);
	}
	return -EINVAL;
}

/* 32768 as "32k": the largest suffix that leaves a whole number. */
static void number_text(const struct qoi_config_entry *entry, uint64_t value,
			char *text_out, size_t bytes)
{
	const struct suffix *suffix = type_suffixes(entry->type);

	while (value % suffix->factor != 0)
		suffix++;
	/* 0 needs no suffix. */
	snprintf(text_out, bytes, "%" PRIu64 "%s", value / suffix->factor,
		 value == 0 ? "" : suffix->text);
}

static void choice_form(const struct qoi_config_entry *entry, char *form_out)
{
	size_t length = 0;

	snprintf(form_out, QOI_CONFIG_FORM_BYTES, "one of ");
	for (int i = 0; entry->choices[i] != NULL; i++) {
		length = strlen(form_out);
		snprintf(form_out + length, QOI_CONFIG_FORM_BYTES - length,
			 "%s%s", i == 0 ? "" : ", ", entry->choices[i]);
	}
}

static void number_form(const struct qoi_config_entry *entry, char *form_out)
{
	char min[32], max[32];
	const char *kind = "a whole number";

	if (entry->type == QOI_CONFIG_BYTES)
		kind = "bytes (k, m or g may follow)";
	else if (entry->type == QOI_CONFIG_DURATION)
		kind = "a time (ns, us, ms or s may follow; else ns)";
	number_text(entry, entry->min, min, sizeof(min));
	number_text(entry, entry->max, max, sizeof(max));
	if (entry->max == UINT64_MAX)
		snprintf(form_out, QOI_CONFIG_FORM_BYTES, "%s, at least %s",
			 kind, min);
	else
		snprintf(form_out, QOI_CONFIG_FORM_BYTES, "%s, %s to %s", kind,
			 min, max);
}

void qoi_config_value_form(const struct qoi_config_entry *entry,
			   char form_out[QOI_CONFIG_FORM_BYTES])
{
	if (entry->type == QOI_CONFIG_CHOICE)
		choice_form(entry, form_out);
	else if (entry->type == QOI_CONFIG_CPU_LIST)
		snprintf(form_out, QOI_CONFIG_FORM_BYTES,
			 "auto, none or a cpu list such as 0,2-4");
	else if (entry->type == QOI_CONFIG_STRING)
		snprintf(form_out, QOI_CONFIG_FORM_BYTES, "a name");
	else
		number_form(entry, form_out);
}

void qoi_config_value_text(const struct qoi_config *config,
			   const struct qoi_config_entry *entry,
			   char text_out[QOI_CONFIG_FORM_BYTES])
{
	const void *field = (const char *)config + entry->offset;

	if (entry->type == QOI_CONFIG_CHOICE)
		snprintf(text_out, QOI_CONFIG_FORM_BYTES, "%s",
			 entry->choices[*(const int *)field]);
	else if (entry->type == QOI_CONFIG_STRING ||
		 entry->type == QOI_CONFIG_CPU_LIST)
		snprintf(text_out, QOI_CONFIG_FORM_BYTES, "%s",
			 *(const char *const *)field);
	else
		number_text(entry, *(const uint64_t *)field, text_out,
			    QOI_CONFIG_FORM_BYTES);
}
