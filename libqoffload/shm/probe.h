/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shows whether accesses of a width are atomic on this machine: one thread
 * writes words whose halves are equal, another looks for halves that differ.
 * It can disprove, not prove; a machine that tears shows it at once.
 */
#ifndef QOI_PROBE_H
#define QOI_PROBE_H

#include <stdint.h>

struct qoi_probe_result {
	uint64_t reads;	  /* loads that were judged */
	uint64_t changes; /* loads that saw another value than the one before */
	uint64_t torn;	  /* loads whose halves differ */
};

/*
 * Probes aligned accesses at every place of a cache line.
 * width_bytes: 8 or 16.  rounds: loads in all, bounded by a second of time.
 * Returns 0; -EOPNOTSUPP: no such access on this architecture; -EINVAL: the
 * width; -ENOMEM: no second thread.
 */
int qoi_probe_atomic(uint32_t width_bytes, uint64_t rounds,
		     struct qoi_probe_result *result_out);

/*
 * The same with each half in an access of its own, which tears by design, so
 * that a test can see that the probe sees.
 */
int qoi_probe_torn(uint64_t rounds, struct qoi_probe_result *result_out);

/*
 * The widest chunk encoding that this machine bears: QOI_ENCODING_CHUNK16
 * when its accesses exist and a short probe saw none torn, else
 * QOI_ENCODING_CHUNK8.  Probes once per process; any thread.
 */
uint32_t qoi_probe_encoding(void);

#endif
