/* SPDX-License-Identifier: BSD-3-Clause */
/* One value of a variable: from text to a field, and back to what is wanted. */
#ifndef QOI_BASE_CONFIG_VALUE_H
#define QOI_BASE_CONFIG_VALUE_H

#include "libqoffload/base/config.h"

#define QOI_CONFIG_FORM_BYTES 256

/*
 * Parses @text and sets the field of @entry in @config; a string replaces, and
 * frees, the one that is there. 0, -EINVAL (nothing is logged), -ENOMEM.
 */
int qoi_config_value_set(struct qoi_config *config,
			 const struct qoi_config_entry *entry, const char *text);

/* What a value must look like, e.g. "one of off, on" or "0 to 100". */
void qoi_config_value_form(const struct qoi_config_entry *entry,
			   char form_out[QOI_CONFIG_FORM_BYTES]);

/* The field as text that the parser would take. */
void qoi_config_value_text(const struct qoi_config *config,
			   const struct qoi_config_entry *entry,
			   char text_out[QOI_CONFIG_FORM_BYTES]);

#endif
