# SPDX-License-Identifier: BSD-3-Clause
# The program in the README is examples/hello.c, letter by letter, and the
# commands under it do what they say: by pkg-config, with two ranks.
. "$top_srcdir/tests/check/lib.sh"
work_folder readme
awk '/^```/ { inside = !inside && /^```c$/; next } inside' \
	"$top_srcdir/README.md" >"$work/hello.c"
[ -s "$work/hello.c" ] || offend "README.md has no program"
diff "$work/hello.c" "$top_srcdir/examples/hello.c" ||
	offend "the program of README.md is not examples/hello.c"
grep -q 'cc hello.c -o hello $(pkg-config --cflags --libs libqoffload-mpi-' \
	"$top_srcdir/README.md" ||
	offend "README.md does not say how to compile the program"

OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
export OMPI_MCA_rmaps_base_oversubscribe
# MPI leaks by itself, and is not built for a thread sanitizer.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
export ASAN_OPTIONS
ran=0
for mpi in openmpi mpich; do
	case $CHECK_SANITIZER in *thread*) continue ;; esac
	program=$top_builddir/examples/hello-$mpi
	[ -x "$program" ] && command -v mpirun.$mpi >/dev/null || continue
	ran=$((ran + 1))
	timeout 60 mpirun.$mpi -np 2 "$program" >"$work/said" 2>&1 </dev/null &&
		[ "$(grep -c '^2 ranks are here$' "$work/said")" = 2 ] &&
		continue
	cat "$work/said"
	offend "examples/hello-$mpi does not print what README.md says"
done
finish "readme_program: run with $ran MPIs"
