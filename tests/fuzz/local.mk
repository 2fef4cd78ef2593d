# SPDX-License-Identifier: BSD-3-Clause
# Fuzz targets of what a client can say to the daemon.  As ordinary tests they
# run for two seconds on random bytes; tests/fuzz/run.sh gives them to libFuzzer.
fuzz_tests = tests/fuzz/fuzz_hello tests/fuzz/fuzz_commands
check_PROGRAMS += $(fuzz_tests)
TESTS += $(fuzz_tests)

fuzz_sources = tests/fuzz/fuzz.c tests/fuzz/fuzz.h tests/fuzz/replay.c \
	tests/support/raw_client.c tests/support/raw_client.h
tests_fuzz_fuzz_hello_SOURCES = tests/fuzz/fuzz_hello.c $(fuzz_sources)
tests_fuzz_fuzz_hello_LDADD = libqoffload-core.la $(QO_LIBS)
tests_fuzz_fuzz_commands_SOURCES = tests/fuzz/fuzz_commands.c \
	tests/fuzz/victim.c tests/fuzz/victim.h $(fuzz_sources)
tests_fuzz_fuzz_commands_LDADD = libqoffload-core.la $(QO_LIBS)

EXTRA_DIST += tests/fuzz/run.sh
