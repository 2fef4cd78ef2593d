# SPDX-License-Identifier: BSD-3-Clause
# The public symbols are those of libqoffload.symbols, in every place that
# names them: headers, map, shared library. Within, names are qoi_ or, in a
# provider, qo_<provider>_.
. "$top_srcdir/tests/check/lib.sh"
work_folder symbols
wanted=$top_srcdir/libqoffload/libqoffload.symbols

same() { # FILE WHAT
	diff -u "$wanted" "$1" >"$work/diff" && return
	sed -n '/^[+-][^+-]/p' "$work/diff"
	offend "$2 differs from libqoffload.symbols (- missing, + too many)"
}

defined_in() { # NM-ARGUMENTS: names alone, less the sanitizers' own
	nm "$@" | awk 'NF == 3 { print $3 }' | sed 's/@.*//' |
		grep -v -E '^(__|_init$|_fini$|QOFFLOAD_)' | LC_ALL=C sort -u
}

prototypes() { # every qo_name( of a header, comments and macros aside
	cat "$@" | sed -e ':a' -e '/\\$/{N;s/\\\n//;ba' -e '}' |
		sed -e '/^#/d' |
		tr '\n' ' ' | sed -e 's|/\*|\n/*|g' -e 's|\*/|\n|g' |
		sed -e '/^\/\*/d' | grep -o -E '\bqo_[a-z0-9_]+\(' |
		tr -d '(' | LC_ALL=C sort -u
}

public=$(ls "$top_srcdir"/include/qoffload/*.h |
	grep -v -E '/(mpi|device)\.h$')
prototypes $public >"$work/headers"
same "$work/headers" "the list of prototypes in the headers"

sed -n 's/^\t\(qo_[a-z0-9_]*\);$/\1/p' "$top_srcdir/libqoffload.map" |
	LC_ALL=C sort >"$work/map"
same "$work/map" libqoffload.map

if [ -f "$top_builddir/.libs/libqoffload.so" ]; then
	defined_in -D --defined-only "$top_builddir/.libs/libqoffload.so" \
		>"$work/shared"
	same "$work/shared" "what libqoffload.so exports"
else
	echo "no shared library in this build: its exports are not looked at"
fi

for mpi in openmpi mpich; do
	library=$top_builddir/.libs/libqoffload-mpi-$mpi.so
	[ -f "$library" ] || continue
	defined_in -D --defined-only "$library" >"$work/mpi"
	[ "$(cat "$work/mpi")" = qo_team_from_mpi ] ||
		offend "libqoffload-mpi-$mpi.so exports" $(cat "$work/mpi")
done

objects=$(cd "$top_builddir" &&
	find libqoffload providers -name '*.o' ! -path '*/tools/*' 2>/dev/null)
[ -n "$objects" ] || offend "no object files below $top_builddir"
for object in $objects; do
	case $object in
	libqoffload/mpi/*) allowed='^(qo_team_from_mpi|qoi_)' ;;
	providers/*/*)
		provider=${object#providers/}
		allowed="^(qoi_|qo_${provider%%/*}(_|\$))" ;;
	*) allowed='^qoi_' ;;
	esac
	defined_in -g --defined-only "$top_builddir/$object" |
		grep -v -x -F -f "$wanted" | grep -v -E "$allowed" \
		>"$work/strange" || continue
	offend "$object: neither public nor internal:" $(cat "$work/strange")
done
finish symbols
