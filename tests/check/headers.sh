# SPDX-License-Identifier: BSD-3-Clause
# Each public header alone compiles in C99 and in C++11, has at most 250
# lines, and is in the list of what is installed.
. "$top_srcdir/tests/check/lib.sh"
work_folder headers
strict="-pedantic-errors -Wall -Wextra -Werror -fsyntax-only"

compile() { # HEADER COMPILER FLAGS..
	header=$1
	shift
	printf '#include <qoffload/%s>\n#include <qoffload/%s>\n' \
		"$header" "$header" >"$work/alone.c"
	"$@" $strict -I"$top_srcdir/include" "$work/alone.c" \
		>"$work/said" 2>&1 && return
	cat "$work/said"
	offend "$header alone does not compile by: $*"
}

seen=0
for path in "$top_srcdir"/include/qoffload/*.h; do
	name=${path##*/}
	seen=$((seen + 1))
	[ "$(wc -l <"$path")" -le 250 ] || offend "$name has over 250 lines"
	case " $CHECK_HEADERS " in
	*" include/qoffload/$name "*) ;;
	*) offend "$name is not in include/local.mk, so not installed" ;;
	esac
	more=
	if [ "$name" = mpi.h ]; then
		[ -n "$CHECK_MPI_CFLAGS" ] ||
			{ echo "mpi.h: no MPI here, not looked at"; continue; }
		more=$(printf '%s' "$CHECK_MPI_CFLAGS" | sed 's/-I/-isystem /g')
	fi
	compile "$name" $CC -x c -std=c99 $more
	[ -z "$CXX" ] || compile "$name" $CXX -x c++ -std=c++11 $more
done
[ -n "$CXX" ] || echo "no C++ compiler: C++11 is not looked at"
[ "$seen" -gt 0 ] || offend "no header was found"
finish "headers: $seen"
