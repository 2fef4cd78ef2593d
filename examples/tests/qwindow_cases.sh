#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# qwindow as a user runs it: the same corrections on every number of ranks,
# controls that must fail, and inputs that must be refused.

. "${top_srcdir:-.}/examples/tests/launch.sh"

mpis=$(mpis_for qwindow)
if test -z "$mpis"; then
	echo "skipped: qwindow was built for no MPI that has a launcher here"
	exit 77
fi
model=$data/surfz_d5_r119_p0.003.dem
shots=$data/surfz_d5_r119_p0.003_n3000_s353.det.r8

digest() {
	sed -n 's/.*digest //p' "$work/out"
}

# same MPI RANKS NAME OPTIONS..: passes its own checks, with the corrections
# that the first run of this set of files had.
same() {
	mpi=$1 ranks=$2 name=$3
	shift 3
	launch "$mpi" "$ranks" qwindow "$@"
	expect 0 $? "$name, $mpi, $ranks ranks"
	wanted=${wanted:-$(digest)}
	require "$name, $mpi, $ranks ranks: same corrections" \
		test -n "$wanted" -a "$wanted" = "$(digest)"
}

wanted=
for mpi in $mpis; do
	for ranks in 1 2 3 4 8; do
		same $mpi $ranks "patch racks, throughput" -n 320 \
			"$model" "$shots"
		same $mpi $ranks "strip racks, latency" -n 320 -r strip \
			-m latency -p 37 "$model" "$shots"
	done
	same $mpi 3 "one patch at a time, mpi" -n 320 -p 1 -e mpi "$model" \
		"$shots"
	same $mpi 4 "real time" -n 320 -p 20 --round-ns=1000 "$model" "$shots"
	same $mpi 4 "poke" -n 320 -p 320 --poke "$model" "$shots"
done

# One agent for all ranks, which the first of them starts; then with all that
# there is to do left to it.
QO_AGENT_PROGRAM=$(cd "$top_builddir" && pwd)/libqoffload/tools/qo_agentd
QO_AGENT=process
export QO_AGENT QO_AGENT_PROGRAM
for mpi in $mpis; do
	for direct in auto off; do
		QO_AGENT_DIRECT=$direct
		export QO_AGENT_DIRECT
		for ranks in 1 3 8; do
			same $mpi $ranks "one agent, direct $direct" -n 320 \
				"$model" "$shots"
			require "one agent: it is a process, $mpi" \
				grep -q 'progress by process agent' "$work/out"
		done
		same $mpi 4 "one agent, direct $direct, strips, latency" \
			-n 320 -r strip -m latency -p 37 "$model" "$shots"
	done
done
unset QO_AGENT QO_AGENT_PROGRAM QO_AGENT_DIRECT

# The whole file: 286 errors are what these rules give.
wanted=
for mpi in $mpis; do
	same $mpi 4 "all shots" "$model" "$shots"
	require "286 errors, $mpi" grep -q 'logical errors *ok *286 ' "$work/out"
	same $mpi 4 "all shots, --exchange=mpi" -e mpi "$model" "$shots"
done

# Other codes, ragged ends, the three formats, folded and flat models.
mpi=${mpis%% *}
mpi=$(echo $mpi | cut -d' ' -f1)
for ranks in 2 5; do
	wanted=
	same $mpi $ranks "ragged d5 r100, b8" -p 33 \
		"$data/surfz_d5_r100_p0.003.dem" \
		"$data/surfz_d5_r100_p0.003_n500_s351.det.b8"
	wanted=
	for form in dem flat.dem; do
		same $mpi $ranks "d3 r30 $form" -r strip \
			"$data/surfz_d3_r30_p0.003.$form" \
			"$data/surfz_d3_r30_p0.003_n4000_s345.det.r8"
	done
	wanted=
	for form in dem flat.dem; do
		same $mpi $ranks "repetition d5 r50 $form" -r strip \
			"$data/rep_d5_r50_p0.01.$form" \
			"$data/rep_d5_r50_p0.01_n4000_s103.det.b8"
	done
	wanted=
	same $mpi $ranks "repetition d9 r100" "$data/rep_d9_r100_p0.02.dem" \
		"$data/rep_d9_r100_p0.02_n2000_s105.det.r8"
	wanted=
	same $mpi $ranks "one slab, 01" "$data/surfz_d3_r3_p0.01.dem" \
		"$data/surfz_d3_r3_p0.01_n1000_s804.det.01"
	wanted=
	same $mpi $ranks "d7 r167, latency" -m latency \
		"$data/surfz_d7_r167_p0.003.dem" \
		"$data/surfz_d7_r167_p0.003_n500_s361.det.r8"
done

# Negative controls: a decoder that does less must be seen to.
control() {
	what=$1
	shift
	launch $mpi 4 qwindow "$@" "$model" "$shots"
	expect 1 $? "control: $what is noticed"
}
control "no buffer" --buffer=0
require "control: no buffer leaves defects" \
	grep -q 'global residual *FAILED' "$work/out"
control "a buffer of one layer" --buffer=1
require "control: a buffer of one layer costs errors" \
	grep -q 'logical errors *FAILED' "$work/out"
control "2 % of seams lost" --drop-seams=2
require "control: lost seams change corrections" \
	grep -q 'same as serial *FAILED' "$work/out"
require "control: lost seams leave defects" \
	grep -q 'global residual *FAILED' "$work/out"
require "control: the error count alone would pass" \
	grep -q 'logical errors *ok' "$work/out"
control "all seams lost" --drop-seams=100

# JSON says what the table says.
launch $mpi 2 qwindow -n 100 --json="$work/result.json" "$model" "$shots"
expect 0 $? "json to a file"
require "json names the digest" grep -q "\"digest\": \"$(digest)\"" \
	"$work/result.json"

# Bad input: exit status 2 and one line with the place and the fix.
refuse() {
	what=$1 text=$2
	shift 2
	alone $mpi qwindow "$@"
	expect 2 $? "refused: $what"
	require "refused in one line: $what" \
		test "$(wc -l <"$work/err")" -eq 1
	require "refused with '$text'" grep -q -e "$text" "$work/err"
}
head -c 100000 "$shots" >"$work/cut.det.r8"
head -c 100001 "$data/surfz_d5_r100_p0.003_n500_s351.det.b8" \
	>"$work/cut.det.b8"
: >"$work/empty.det.b8"
head -n 700 "$model" >"$work/cut.dem"
refuse "a truncated r8" 'cut.det.r8: shot [0-9]*, byte 100000: the file ends' \
	"$model" "$work/cut.det.r8"
refuse "a truncated b8" 'cut.det.b8: shot 333, byte 100001: the file ends' \
	"$data/surfz_d5_r100_p0.003.dem" "$work/cut.det.b8"
refuse "an empty file" 'empty.det.b8: shot 0, byte 0: no shots' \
	"$model" "$work/empty.det.b8"
refuse "a truncated model" 'cut.dem: line 700: the file ends inside' \
	"$work/cut.dem" "$shots"
refuse "a hyperedge" 'line 1: hyperedge.*--decompose_errors' \
	"$data/steane_cap_d3_r1_p0.01.dem" "$shots"
refuse "shots of another model" 'does not fit the model' \
	"$data/surfz_d5_r100_p0.003.dem" "$shots"
refuse "no patches" '--patches=0: give' -p 0 "$model" "$shots"
refuse "no shots wanted" '--shots=0: give' -n 0 "$model" "$shots"
refuse "a wrong option" '--frobnicate: unknown' --frobnicate "$model" "$shots"
refuse "a wrong exchange" '--exchange=ftp: give qo or mpi' -e ftp "$model" \
	"$shots"
refuse "a missing file" 'nowhere.dem: cannot be opened' "$work/nowhere.dem" \
	"$shots"
refuse "no files" 'are missing'
launch $mpi 3 qwindow "$model" "$work/cut.det.r8"
expect 2 $? "refused by three ranks"
require "refused by three ranks in one line" \
	test "$(wc -l <"$work/err")" -eq 1
finish
