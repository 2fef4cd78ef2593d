#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# overlap runs, says what was hidden for both libraries, and stays short.

. "${top_srcdir:-.}/examples/tests/launch.sh"

mpis=$(mpis_for overlap)
if test -z "$mpis"; then
	echo "skipped: overlap was built for no MPI with a launcher here"
	exit 77
fi

lines=$(wc -l <"$top_srcdir/examples/overlap.c")
require "overlap.c has $lines lines, under 60" test "$lines" -lt 60
for mpi in $mpis; do
	launch $mpi 2 overlap
	expect 0 $? "overlap, $mpi, 2 ranks"
	for who in libqoffload MPI; do
		require "$mpi: a line for $who" grep -q -E \
			"^$who: [0-9]+ us, -?[0-9]+ of them behind [0-9]+ us of work$" \
			"$work/out"
	done
done
finish
