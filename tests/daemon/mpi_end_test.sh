#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Ranks of an MPI job and the daemon: qo_fini() after MPI_Finalize(), an end
# without it, and a private daemon that is gone when the job is.
set -u

. "${top_srcdir:-.}/examples/tests/launch.sh"
agentd=$work/qo_agentd
daemon=
trap 'test -z "$daemon" || kill -9 $daemon; rm -rf "$work"' EXIT

# The variables of whoever runs this must not change the answers.
for name in $(env | sed -n 's/^\(QO_[A-Z_]*\)=.*/\1/p'); do
	unset "$name"
done
QO_AGENT=process
QO_COLL_ALLREDUCE=ring
QO_AGENT_SOCKET=@qo-test-mpi.$$
export QO_AGENT QO_COLL_ALLREDUCE QO_AGENT_SOCKET

# A path of its own, so that its processes can be told from any others.
cp "$top_builddir/libqoffload/tools/qo_agentd" "$agentd" || exit 99

# run MPI ARGUMENTS..
run() {
	mpi=$1
	shift
	timeout 60 mpirun.$mpi -n 3 "$top_builddir/tests/daemon/mpi_end-$mpi" \
		"$@" >"$work/out" 2>"$work/err" </dev/null &&
		grep -qx "finished, kind 3" "$work/out"
}

# daemons: how many run.
daemons() {
	find /proc/[0-9]*/exe -lname "$agentd" 2>/dev/null | wc -l
}

# One that was late, and finds all clients gone, waits for a while.
gone() {
	tries=1000
	while [ $tries -gt 0 ]; do
		[ "$(daemons)" -eq 0 ] && return 0
		sleep 0.02
		tries=$((tries - 1))
	done
	return 1
}

any=
for mpi in openmpi mpich; do
	test -x "$top_builddir/tests/daemon/mpi_end-$mpi" &&
		command -v mpirun.$mpi >/dev/null || continue
	any=yes
	QO_AGENT_PROGRAM=/nonexistent
	export QO_AGENT_PROGRAM
	: >"$work/daemon"
	"$agentd" --socket "$QO_AGENT_SOCKET" >"$work/daemon" 2>&1 &
	daemon=$!
	tries=250
	until grep -q "listening at" "$work/daemon" || [ $tries -eq 0 ]; do
		sleep 0.02
		tries=$((tries - 1))
	done
	run $mpi
	expect 0 $? "$mpi: qo_fini() after MPI_Finalize()"
	run $mpi exit
	expect 0 $? "$mpi: no qo_fini() at all"
	kill -TERM $daemon
	wait $daemon
	expect 0 $? "$mpi: the daemon ends when it is told"
	daemon=
	QO_AGENT_PROGRAM=$agentd
	run $mpi
	expect 0 $? "$mpi: a private daemon"
	gone
	expect 0 $? "$mpi: it is gone with the job"
	run $mpi exit
	expect 0 $? "$mpi: a private daemon, and no qo_fini()"
	gone
	expect 0 $? "$mpi: it is gone all the same"
done
if [ -z "$any" ]; then
	echo "skip: no MPI with a launcher here"
	exit 77
fi
finish
