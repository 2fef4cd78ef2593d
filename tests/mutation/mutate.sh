#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Builds the stress programs once per memory order with that order left out,
# and expects each to be found.  Without a mutation they must be silent, or
# else a finding would mean nothing.  Needs clang: gcc inlines memcpy() without
# instrumenting it, and misses the races.
set -u
srcdir=${srcdir:-$(dirname "$0")/../..}
clang=${CLANG:-clang}
mutants=$srcdir/tests/mutation/mutants.txt
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
TSAN_OPTIONS=exitcode=66:halt_on_error=1
export TSAN_OPTIONS

# The barrier does its work only where two threads run at once.
cpus=$(getconf _NPROCESSORS_ONLN)

build() { # KIND PROGRAM LABEL
	flags=-O2
	test "$1" = tsan && flags='-O1 -g -fsanitize=thread'
	test "$3" = none || flags="$flags -DQOI_MUTATE=$3"
	$clang -std=gnu11 $flags -I"$srcdir" -I"$srcdir/include" \
		-o "$work/$2" "$srcdir/tests/stress/$2.c" \
		"$srcdir"/libqoffload/shm/*.c \
		"$srcdir/libqoffload/attach/segment.c" \
		"$srcdir/libqoffload/base/clock.c" \
		"$srcdir/libqoffload/base/error.c" \
		"$srcdir/libqoffload/base/log.c" -lpthread
}

echo 'int main(void) { return 0; }' >"$work/try.c"
if ! $clang -fsanitize=thread -o "$work/try" "$work/try.c" 2>"$work/log" ||
	! "$work/try" 2>>"$work/log"; then
	echo "skipped: no clang with a working ThreadSanitizer ($clang)"
	exit 77
fi

failed=0
# Every label of the contract must have its mutant.
for label in $(sed -n 's/^#define QOI_EDGE_\([A-Z0-9]*\) .*/\1/p' \
	"$srcdir/libqoffload/shm/layout.h"); do
	test "$label" = NONE && continue
	grep -q "^$label " "$mutants" && continue
	echo "FAIL $label: no program in mutants.txt"
	failed=1
done

check() { # LABEL KIND PROGRAM ARGUMENTS...
	label=$1 kind=$2 program=$3
	shift 3
	if ! build "$kind" "$program" "$label"; then
		echo "FAIL $label: $program does not build"
		return 1
	fi
	"$work/$program" "$@" >"$work/log" 2>&1
	status=$?
	case $label.$kind in
	none.*) want=0 ;;
	*.tsan) want=66 ;;
	*) want=1 ;;
	esac
	if test $status -ne $want; then
		echo "FAIL $label: $program $*: status $status, wanted $want"
		tail -n 20 "$work/log"
		return 1
	fi
	echo "ok   $label: $program $*"
}

grep -v '^#' "$mutants" >"$work/list"
# Silent without a mutation: each program and arguments once.
sed 's/^[^ ]* //' "$work/list" | sort -u >"$work/plain"
while read -r line; do
	check none $line || failed=1
done <"$work/plain"
while read -r line; do
	if test "${line%% *}" = S1 && test "$cpus" -lt 2; then
		echo "left out S1: one cpu"
		continue
	fi
	check $line || failed=1
done <"$work/list"
exit $failed
