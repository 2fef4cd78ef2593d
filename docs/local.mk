# SPDX-License-Identifier: BSD-3-Clause
# A tool's manual page and a generated document stand in the fragment of what
# they belong to; the overview and what is written by hand stand here.

dist_man_MANS += docs/man/qoffload.7
dist_doc_DATA += docs/architecture.md docs/architecture.svg docs/design-notes.md
# Units of systemd that qo_agentd(1) explains; they need a user's own path.
EXTRA_DIST += contrib/qo-agentd.service contrib/qo-agentd.socket
# The examples are not installed; nor are their pages.
EXTRA_DIST += README.md docs/man/qwindow.1 docs/man/steane_lut.1
