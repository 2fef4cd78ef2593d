# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the tests of the examples: run a program under each MPI here.
# expects top_srcdir and top_builddir; sets $data and $work (a scratch folder).

top_srcdir=${top_srcdir:-.}
top_builddir=${top_builddir:-.}
data=$top_srcdir/examples/data
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
failures=0
OMPI_ALLOW_RUN_AS_ROOT=1
OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
OMPI_MCA_rmaps_base_oversubscribe=1
OMPI_MCA_mpi_yield_when_idle=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
export OMPI_MCA_rmaps_base_oversubscribe OMPI_MCA_mpi_yield_when_idle

# MPI leaks by itself, and is not built for a thread sanitizer.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
export ASAN_OPTIONS
case ${QO_SANITIZER:-no} in
*thread*)
	echo "skipped: the MPI here is not built for the thread sanitizer"
	exit 77
	;;
esac

# The MPIs for which the program $1 was built and that have a launcher.
mpis_for() {
	for mpi in openmpi mpich; do
		test -x "$top_builddir/examples/$1-$mpi" &&
			command -v mpirun.$mpi >/dev/null && echo $mpi
	done
}

# launch MPI RANKS PROGRAM ARGUMENTS..: its exit status; output in $work/out,
# what the program itself says on standard error in $work/err.
launch() {
	mpi=$1 ranks=$2 program=$3
	shift 3
	timeout 120 mpirun.$mpi -n "$ranks" \
		"$top_builddir/examples/$program-$mpi" "$@" \
		>"$work/out" 2>"$work/all-err" </dev/null
	launch_status=$?
	grep "^$program: " "$work/all-err" >"$work/err"
	return $launch_status
}

# alone MPI PROGRAM ARGUMENTS..: one rank, no launcher; all of standard error.
alone() {
	mpi=$1 program=$2
	shift 2
	timeout 120 "$top_builddir/examples/$program-$mpi" "$@" \
		>"$work/out" 2>"$work/err" </dev/null
}

# expect STATUS ACTUAL NAME: count a failure and show what was said.
expect() {
	if test "$1" = "$2"; then
		echo "ok      $3"
	else
		echo "FAILED  $3: exit status $2, not $1"
		sed 's/^/        /' "$work/out" "$work/err" | tail -30
		failures=$((failures + 1))
	fi
}

# require NAME COMMAND..: the command must succeed.
require() {
	name=$1
	shift
	"$@" >/dev/null 2>&1
	expect 0 $? "$name"
}

finish() {
	test "$failures" = 0 || echo "$failures failed"
	test "$failures" = 0
	exit
}
