/* SPDX-License-Identifier: BSD-3-Clause */
#include "libqoffload/base/config.h"

#include <inttypes.h>
#include <string.h>

#include "libqoffload/base/config_value.h"

static const char head[] =
	"# Configuration\n"
	"\n"
	"This page is the output of `qo_info -c`.\n"
	"\n"
	"Variables are read once, by `qo_init()`. A setting in\n"
	"`qo_init_params.settings` goes before the environment, which goes\n"
	"before the default. A wrong value makes `qo_init()` fail with\n"
	"`-EINVAL` and say what it wants; an unknown `QO_*` variable in the\n"
	"environment gets one warning. Names that begin with `QO_TEST_`\n"
	"belong to the tests.\n";

static void print_entry(FILE *stream, const struct qoi_config_entry *entry)
{
	char form[QOI_CONFIG_FORM_BYTES];

	qoi_config_value_form(entry, form);
	fprintf(stream, "| `%s` | `%s` | %s | %s | %s |\n", entry->name,
		entry->default_text, form, entry->unit, entry->doc);
}

void qoi_config_print(FILE *stream)
{
	size_t table_count;
	const struct qoi_config_table *tables = qoi_config_tables(&table_count);

	fputs(head, stream);
	for (size_t t = 0; t < table_count; t++) {
		fprintf(stream, "\n## %s\n\n", tables[t].component);
		fputs("| variable | default | accepts | unit | meaning |\n"
		      "|---|---|---|---|---|\n",
		      stream);
		for (size_t i = 0; i < tables[t].count; i++)
			print_entry(stream, &tables[t].entries[i]);
	}
}
