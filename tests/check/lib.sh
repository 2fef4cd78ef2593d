# SPDX-License-Identifier: BSD-3-Clause
# What the shell tests share. Each prints what offends and ends by finish.

: "${top_srcdir:?run by make check}" "${top_builddir:?run by make check}"
offences=0

offend() {
	printf '%s\n' "$*"
	offences=$((offences + 1))
}

skip() {
	printf 'skipped: %s\n' "$*"
	exit 77
}

finish() {
	echo "$1: $offences offences"
	[ "$offences" -eq 0 ]
	exit
}

# work_folder NAME: an empty folder, gone when the test ends.
work_folder() {
	work=$(mktemp -d "${TMPDIR:-/tmp}/$1.XXXXXX") || exit 99
	trap 'rm -rf "$work"' EXIT
	trap 'exit 99' HUP INT TERM
}
