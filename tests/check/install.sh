# SPDX-License-Identifier: BSD-3-Clause
# An installed copy is complete: a program compiles and runs with what
# pkg-config says, also linked static. The copy was moved, into a folder with
# a space in its name: libtool itself can not install to such a place.
. "$top_srcdir/tests/check/lib.sh"
[ "$CHECK_SANITIZER" = no ] || skip "a sanitizer's build is not for installing"
command -v pkg-config >/dev/null || skip "no pkg-config"
work_folder install
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
stage="$work/a place"

${MAKE:-make} -C "$top_builddir" install DESTDIR="$work/staged" \
	>"$work/said" 2>&1 || {
	cat "$work/said"
	offend "make install DESTDIR=$work/staged fails"
	finish install
}
mv "$work/staged" "$stage"
library=$stage$CHECK_LIBDIR
PKG_CONFIG_PATH=$library/pkgconfig
export PKG_CONFIG_PATH

# Who moves a copy tells its .pc files.
moved=$(printf '%s' "$stage$CHECK_PREFIX" | sed 's/ /\\\\ /g')
elsewhere=$(printf '%s' "$stage" | sed 's/ /\\\\ /g')
sed -i -e "s|^prefix=.*|prefix=$moved|" -e "s|^libdir=/|libdir=$elsewhere/|" \
	"$library"/pkgconfig/*.pc

flags() {
	pkg-config "$@" || offend "pkg-config $* fails"
}

# build PROGRAM FLAGS..: the flags are quoted for a shell, so eval.
build() {
	program=$1
	shift
	eval "$CC -Wall -Wextra -Werror -o '$work/$program' \
		'$top_srcdir/tests/check/sample.c' $*" >"$work/said" 2>&1 &&
		return
	cat "$work/said"
	offend "$program does not compile by: $*"
	return 1
}

start() {
	LD_LIBRARY_PATH=$library "$work/$1" >"$work/said" 2>&1 && return
	cat "$work/said"
	offend "$1 does not run"
}

for path in "$top_srcdir"/include/qoffload/*.h; do
	[ -f "$stage$CHECK_INCLUDEDIR/qoffload/${path##*/}" ] ||
		offend "${path##*/} is not installed"
done
grep -E -e '-L/(usr/)?lib(64|/[^/ ]*-linux-[^/ ]*)?/?( |$)' \
	"$library"/pkgconfig/*.pc && offend "a system's -L in a .pc file"
grep -E -e '%[A-Z_]+%|@[A-Za-z_]+@' "$library"/pkgconfig/*.pc &&
	offend "a place holder is left in a .pc file"

if [ -f "$library/libqoffload.so" ]; then
	build shared "$(flags --cflags --libs libqoffload)" && start shared
else
	echo "no shared library in this build"
fi
if [ -f "$library/libqoffload.a" ] && ! echo 'int main(void) { return 0; }' |
	$CC -x c -o /dev/null - $(flags --static --libs hwloc) 2>"$work/said"; then
	cat "$work/said"
	echo "hwloc's own static flags do not link here: ours are not tried"
elif [ -f "$library/libqoffload.a" ]; then
	all=$(flags --static --cflags --libs libqoffload)
	build static "$(printf '%s' "$all" |
		sed 's/-lqoffload/-l:libqoffload.a/g')" && start static
else
	echo "no static library in this build"
fi
for pc in "$library"/pkgconfig/libqoffload-mpi-*.pc; do
	[ -f "$pc" ] && [ -f "$library/libqoffload.so" ] || continue
	name=$(basename "$pc" .pc)
	build "$name" "-DQO_SAMPLE_MPI $(flags --cflags --libs "$name")" &&
		start "$name"
done
finish install
