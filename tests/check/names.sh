# SPDX-License-Identifier: BSD-3-Clause
# No two tests share a name but for its extension: automake would give both one
# log, and run only one of them.
. "$top_srcdir/tests/check/lib.sh"
work_folder names
count=0
for test in $CHECK_TESTS; do
	count=$((count + 1))
	echo "${test%.*}"
done >"$work/names"
for twice in $(LC_ALL=C sort "$work/names" | uniq -d); do
	offend "two tests are named $twice"
done
[ "$count" -gt 0 ] || offend "no test was found"
finish "names: $count tests"
