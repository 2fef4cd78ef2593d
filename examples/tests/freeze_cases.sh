#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# One rank of qwindow is stopped with all its threads while it decodes: the
# corrections stay those of an undisturbed run, whoever carries the exchange,
# and what the others did meanwhile is told.

. "${top_srcdir:-.}/examples/tests/launch.sh"

mpis=$(mpis_for qwindow)
if test -z "$mpis"; then
	echo "skipped: qwindow was built for no MPI that has a launcher here"
	exit 77
fi
model=$data/surfz_d5_r119_p0.003.dem
shots=$data/surfz_d5_r119_p0.003_n3000_s353.det.r8
frozen_ms=300
# What QO_AGENT=process starts.
QO_AGENT_PROGRAM=$(cd "$top_builddir" && pwd)/libqoffload/tools/qo_agentd
export QO_AGENT_PROGRAM

# The first number of that name in the JSON of the run.
number() {
	sed -n "s/^ *\"$1\": \([0-9]*\),*\$/\1/p" "$work/result.json" | head -1
}

# frozen MPI NAME OPTIONS..: passes its checks with the corrections of the
# undisturbed run. Every frame needs every rank, and four frames are to come
# after the middle: some rank must have waited for the one that stood still.
frozen() {
	mpi=$1 what="$2, $1"
	shift 2
	rm -f "$work/result.json"
	launch "$mpi" 4 qwindow -n 320 --json="$work/result.json" "$@" \
		"$model" "$shots"
	expect 0 $? "$what"
	require "$what: same corrections" \
		grep -q "digest $wanted\$" "$work/out"
	require "$what: it stood still" \
		test "$(number frozen_ns)" -ge $((frozen_ms * 1000000))
	require "$what: another waited for it" \
		test "$(number others_longest_call_ns)" -ge \
		$((frozen_ms * 1000000 / 2))
	require "$what: the table tells it" \
		grep -q '^frozen    rank 1 before its window ' "$work/out"
}

# An agent's name, as the run tells it.
by() {
	require "$what: progress by $1" \
		grep -q "progress by $1" "$work/out"
}

launch $(echo $mpis | cut -d' ' -f1) 4 qwindow -n 320 --json="$work/result.json" "$model" "$shots"
expect 0 $? "nobody is stopped"
wanted=$(sed -n 's/.*digest //p' "$work/out")
require "nobody is stopped: no word of it" \
	grep -q '"freeze": null' "$work/result.json"

for mpi in $mpis; do
	QO_AGENT=thread
	export QO_AGENT
	frozen $mpi "thread agents" --freeze=1:$frozen_ms
	by "thread agent"
	frozen $mpi "thread agents, latency" -m latency -r strip \
		--freeze=1:$frozen_ms
	QO_AGENT=inline
	frozen $mpi "inline agents" --freeze=1:$frozen_ms
	by "inline agent"
	QO_AGENT=process
	frozen $mpi "one agent" --freeze=1:$frozen_ms
	by "process agent"
	QO_AGENT_DIRECT=off
	QO_COLL_ALLREDUCE=ring
	export QO_AGENT_DIRECT QO_COLL_ALLREDUCE
	frozen $mpi "one agent, all left to it" --freeze=1:$frozen_ms
	QO_AGENT_MEMORY=stage
	export QO_AGENT_MEMORY
	frozen $mpi "one agent, staged, latency" -m latency -r strip \
		--freeze=1:$frozen_ms
	unset QO_AGENT_DIRECT QO_AGENT_MEMORY QO_COLL_ALLREDUCE
	frozen $mpi "MPI" -e mpi --freeze=1:$frozen_ms
	frozen $mpi "MPI, latency" -e mpi -m latency --freeze=1:$frozen_ms
	unset QO_AGENT
done

# The first window, the last one, and a rank alone.
mpi=$(echo $mpis | cut -d' ' -f1)
launch $mpi 2 qwindow -n 100 --freeze=0:20:1 "$model" "$shots"
expect 0 $? "the first window"
require "the first window is told" \
	grep -q 'rank 0 before its window 1, ' "$work/out"
launch $mpi 2 qwindow -n 100 --freeze=1:20:700 "$model" "$shots"
expect 0 $? "the last window"
launch $mpi 1 qwindow -n 100 --freeze=0:20 "$model" "$shots"
expect 0 $? "a rank alone"

refuse() {
	what=$1 text=$2
	shift 2
	launch $mpi 2 qwindow -n 100 "$@" "$model" "$shots"
	expect 2 $? "refused: $what"
	require "refused with '$text'" grep -q -e "$text" "$work/err"
}
refuse "no rank" '--freeze=x: give RANK, RANK:MS or RANK:MS:WINDOW' --freeze=x
refuse "an empty field" '--freeze=1::3: give' --freeze=1::3
refuse "a field too many" '--freeze=1:2:3:4: give' --freeze=1:2:3:4
refuse "a colon at the end" '--freeze=1:: give' --freeze=1:
refuse "no time" '--freeze=1:0: give' --freeze=1:0
refuse "a minute" '--freeze=1:60000: give' --freeze=1:60000
refuse "a rank that is not there" 'no rank 2; give one from 0 to 1' --freeze=2
refuse "a window that is not there" \
	'rank 1 decodes 700 windows; give WINDOW from 1 to that' \
	--freeze=1:20:701
finish
