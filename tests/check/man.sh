# SPDX-License-Identifier: BSD-3-Clause
# The manual pages are without mistakes of layout, and each tool has one.
. "$top_srcdir/tests/check/lib.sh"
command -v groff >/dev/null || skip "no groff"
work_folder man
seen=0
for path in "$top_srcdir"/docs/man/*.[1-9]; do
	[ -f "$path" ] || continue
	seen=$((seen + 1))
	GROFF_NO_SGR=1 groff -man -Tascii -P-bou -ww "$path" >"$work/page" 2>"$work/said"
	[ -s "$work/said" ] && {
		cat "$work/said"
		offend "${path#"$top_srcdir"/} has mistakes of layout"
	}
	grep -q "^NAME" "$work/page" ||
		offend "${path#"$top_srcdir"/} has no section NAME"
done
for tool in $CHECK_TOOLS; do
	[ -f "$top_srcdir/docs/man/${tool##*/}.1" ] ||
		offend "docs/man/${tool##*/}.1 is missing"
done
[ "$seen" -gt 0 ] || offend "no manual page was found"
finish "man: $seen pages"
