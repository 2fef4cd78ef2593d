/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What qo_info can tell: each section is collected once, as a JSON object,
 * and printed from that as text or as JSON.
 */
#ifndef QOI_TOOLS_INFO_SECTIONS_H
#define QOI_TOOLS_INFO_SECTIONS_H

#include <jansson.h>

/* Where the rank is taken to run: wherever the tool itself does. */
#define INFO_RANK_CPU_HERE (-2)

struct info_options {
	int rank_cpu;	    /* INFO_RANK_CPU_HERE, or for which to decide */
	const char *socket; /* of the daemon, or NULL */
};

/*
 * Each returns 0 or a negative errno, already logged.  The caller owns the
 * object.
 */
int info_collect_version(const struct info_options *options,
			 json_t **object_out);
int info_collect_topology(const struct info_options *options,
			  json_t **object_out);
int info_collect_agent(const struct info_options *options, json_t **object_out);
int info_collect_probe(const struct info_options *options, json_t **object_out);
int info_collect_config(const struct info_options *options, json_t **object_out);

#endif
