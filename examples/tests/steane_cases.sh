#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# steane_lut gives the known number of errors on any number of ranks.

. "${top_srcdir:-.}/examples/tests/launch.sh"

mpis=$(mpis_for steane_lut)
if test -z "$mpis"; then
	echo "skipped: steane_lut was built for no MPI with a launcher here"
	exit 77
fi

exact() {
	launch "$1" "$2" steane_lut "$data/$3.lut" "$data/$4"
	expect 0 $? "$4, $1, $2 ranks"
	require "$4: $5 errors, $1, $2 ranks" \
		grep -q "logical errors  ok      $5, reference $5" "$work/out"
}

for mpi in $mpis; do
	for ranks in 1 2 3 4; do
		exact $mpi $ranks steane_cap_d3_r1_p0.01 \
			steane_cap_d3_r1_p0.01_n30000_s201.det.b8 53
		exact $mpi $ranks steane_flag_d3_r2_p0.005 \
			steane_flag_d3_r2_p0.005_n20000_s204.det.b8 347
	done
	exact $mpi 3 steane_cap_d3_r1_p0.01 \
		steane_cap_d3_r1_p0.01_n5000_s701.det.01 6
	exact $mpi 3 steane_cap_d3_r1_p0.05 \
		steane_cap_d3_r1_p0.05_n30000_s202.det.b8 1000
	exact $mpi 3 steane_flag_d3_r2_p0.001 \
		steane_flag_d3_r2_p0.001_n30000_s203.det.b8 20
done

mpi=$(echo $mpis | cut -d' ' -f1)
# A table of another noise model is a decoder with another answer.
launch $mpi 2 steane_lut "$data/steane_flag_d3_r2_p0.001.lut" \
	"$data/steane_flag_d3_r2_p0.005_n20000_s204.det.b8"
expect 1 $? "control: another table is noticed"

refuse() {
	what=$1 text=$2
	shift 2
	alone $mpi steane_lut "$@"
	expect 2 $? "refused: $what"
	require "refused in one line: $what" \
		test "$(wc -l <"$work/err")" -eq 1
	require "refused with '$text'" grep -q -e "$text" "$work/err"
}
head -c 100 "$data/steane_flag_d3_r2_p0.001.lut" >"$work/cut.lut"
refuse "a truncated table" 'cut.lut: byte 100: the file ends' \
	"$work/cut.lut" "$data/steane_flag_d3_r2_p0.001_n30000_s203.det.b8"
refuse "shots of another code" 'does not fit the model' \
	"$data/steane_cap_d3_r1_p0.01.lut" \
	"$data/steane_flag_d3_r2_p0.001_n30000_s203.det.b8"
refuse "no files" 'two files are needed'
finish
