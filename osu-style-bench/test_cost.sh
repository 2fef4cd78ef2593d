#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What one call of qo_test costs: instructions (callgrind) and system calls
# (strace), of a pending and of a finished request.
# Appends its rows to the summary file that is given: see `run`.
set -euo pipefail

usage='usage: test_cost.sh BUILD_DIR SUMMARY_FILE'
build=${1:?$usage}
summary=${2:?$usage}
program=$build/osu-style-bench/qo_test_cost
instructions_max=25
counted=20000
traced=100000

if [ ! -x "$program" ]; then
	echo "test_cost.sh: $program is not there: build first (make)" >&2
	exit 2
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# row NAME LIMIT UNIT VALUE: "-" as VALUE says that it was not measured.
row() {
	local verdict=MISS
	if [ "$4" = - ]; then
		verdict='not measured'
	elif awk -v a="$4" -v b="$2" 'BEGIN { exit !(a <= b) }'; then
		verdict=PASS
	fi
	printf '%s\t<= %s %s\t%s %s\t%s..%s\t%s\n' "$1" "$2" "$3" "$4" "$3" \
		"$4" "$4" "$verdict" | tee -a "$summary"
}

# Inclusive instructions of the calls that tests_run makes to qo_test.
instructions() {
	local state=$1
	shift
	if ! command -v valgrind >"$scratch/which"; then
		row "qo_test of a $state request" $instructions_max instructions -
		return
	fi
	rm -f "$scratch"/callgrind.*
	LD_BIND_NOW=1 "$build/libtool" --silent --mode=execute valgrind -q \
		--tool=callgrind --compress-strings=no \
		--callgrind-out-file="$scratch/callgrind.%p" \
		"$program" --tests=$counted "$@" >"$scratch/out" 2>&1 ||
		{ cat "$scratch/out" >&2; exit 1; }
	row "qo_test of a $state request" $instructions_max instructions "$(
		cat "$scratch"/callgrind.* | awk -v wanted=$counted '
		/^fn=/ { caller = $0 }
		/^cfn=/ { callee = $0 }
		/^calls=/ {
			calls = substr($1, 7)
			getline
			if (caller ~ /tests_run/ && callee ~ /=qo_test$/) {
				count += calls
				cost += $NF
			}
		}
		END {
			if (count != wanted)
				print "-"
			else
				printf "%.1f", cost / count
		}')"
}

# System calls of the testing thread between the two marks.
system_calls() {
	local state=$1
	shift
	if ! strace -o "$scratch/trace" true 2>"$scratch/out"; then
		row "system calls in $traced tests, $state" 0 calls -
		return
	fi
	"$build/libtool" --silent --mode=execute strace -f \
		-o "$scratch/trace" "$program" --tests=$traced "$@" \
		>"$scratch/out" 2>&1 || { cat "$scratch/out" >&2; exit 1; }
	row "system calls in $traced tests, $state" 0 calls "$(
		awk '/dup[23]\(-1, 4242/ { marks++; thread = $1; next }
		marks == 1 && $1 == thread && !/ resumed>/ { calls++ }
		END { if (marks == 2) print calls + 0; else print "-" }' \
			"$scratch/trace")"
}

"$program"
"$program" --finished
instructions pending
instructions finished --finished
system_calls pending
system_calls finished --finished
