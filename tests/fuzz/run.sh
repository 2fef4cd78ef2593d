#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs a fuzz target under libFuzzer, with the address and the undefined
# behaviour sanitizers.  usage: run.sh hello|commands [SECONDS [libFuzzer's...]]
# What it finds, and the inputs it keeps, are in $FUZZ_DIR (build/fuzz).
set -eu

target=${1:?usage: run.sh hello|commands [SECONDS]}
seconds=${2:-60}
shift; [ $# -eq 0 ] || shift
source=$(cd "$(dirname "$0")/../.." && pwd)
dir=${FUZZ_DIR:-$source/build/fuzz}
checks=address,undefined
flags="-O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=all"

command -v clang >/dev/null || { echo "no clang"; exit 77; }
mkdir -p "$dir/build" "$dir/corpus-$target"
cd "$dir/build"
[ -f Makefile ] || "$source/configure" CC=clang --disable-shared \
	--without-openmpi --without-mpich \
	CFLAGS="$flags -fsanitize=$checks,fuzzer-no-link" >/dev/null
make -s libqoffload-core.la >/dev/null
others=
[ "$target" = hello ] || others="$source/tests/fuzz/victim.c"
# shellcheck disable=SC2086
clang $flags -fsanitize=$checks,fuzzer -I. -I"$source" -I"$source/include" \
	"$source/tests/fuzz/fuzz_$target.c" "$source/tests/fuzz/fuzz.c" \
	$others "$source/tests/support/raw_client.c" \
	.libs/libqoffload-core.a $(pkg-config --libs hwloc) -lpthread \
	-o "fuzz_$target"
cd ..
# An operation may ask for scratch memory that it never touches.
ASAN_OPTIONS=allocator_may_return_null=1:quarantine_size_mb=64 \
exec "build/fuzz_$target" -max_total_time="$seconds" -max_len=4096 \
	-timeout=20 -len_control=5 -rss_limit_mb=3000 -malloc_limit_mb=20000 \
	-print_final_stats=1 "$@" "corpus-$target"
