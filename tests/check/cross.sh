# SPDX-License-Identifier: BSD-3-Clause
# The freestanding parts compile without warnings for other architectures, by
# either compiler, and against another C library; their atomics need no
# library there.
. "$top_srcdir/tests/check/lib.sh"
work_folder cross
count=0

works() { # COMPILER FLAGS..
	command -v "$1" >/dev/null &&
		printf '#include <errno.h>\n#include <linux/futex.h>\nint x;\n' |
		"$@" -x c -c -o "$work/probe.o" - 2>/dev/null
}

compile() { # SOURCE COMPILER FLAGS..
	source=$1
	shift
	"$@" -std=gnu11 -O2 -Wall -Wextra -Werror -DHAVE_CONFIG_H -DQOI_BINDIR='"/usr/bin"' \
		-I"$top_srcdir" -I"$top_srcdir/include" -I"$top_builddir" \
		-c "$source" -o "$work/object.o" >"$work/said" 2>&1 || {
		cat "$work/said"
		offend "${source#"$top_srcdir"/} does not compile by $*"
		return
	}
	nm -u "$work/object.o" 2>/dev/null | grep '__atomic_' &&
		offend "${source#"$top_srcdir"/} calls libatomic by $*"
}

all_with() { # COMPILER FLAGS..
	works "$@" || {
		echo "not here, or without its C library: $*"
		return
	}
	for path in $sources; do
		compile "$path" "$@"
		count=$((count + 1))
	done
	echo "done by $*"
}

# hwloc for another architecture is not expected to be here.
sources=$(grep -L hwloc "$top_srcdir"/libqoffload/base/*.c \
	"$top_srcdir"/libqoffload/shm/*.c "$top_srcdir"/libqoffload/coll/*.c \
	2>/dev/null)
[ -n "$sources" ] || offend "no sources were found"

all_with aarch64-linux-gnu-gcc
all_with clang --target=aarch64-linux-gnu -isystem /usr/aarch64-linux-gnu/include
all_with riscv64-linux-gnu-gcc
all_with clang --target=riscv64-linux-gnu -isystem /usr/riscv64-linux-gnu/include
all_with i686-linux-gnu-gcc
all_with musl-gcc -idirafter /usr/include \
	-idirafter "/usr/include/$(${CC:-cc} -print-multiarch)"

[ "$count" -gt 0 ] || [ "$offences" -gt 0 ] || skip "no other compiler is here"
finish "cross: $count compiled"
