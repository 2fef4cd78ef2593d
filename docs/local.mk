# SPDX-License-Identifier: BSD-3-Clause
# A tool's manual page and a generated document stand in the fragment of what
# they belong to; the overview and what is written by hand stand here.
