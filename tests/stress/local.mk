# SPDX-License-Identifier: BSD-3-Clause
check_PROGRAMS += tests/stress/queue_stress tests/stress/order_stress \
	tests/stress/bell_stress
TESTS += tests/stress/queue_stress tests/stress/order_stress \
	tests/stress/bell_stress

tests_stress_queue_stress_SOURCES = tests/stress/queue_stress.c
tests_stress_queue_stress_LDADD = libqoffload-core.la $(QO_LIBS)

tests_stress_order_stress_SOURCES = tests/stress/order_stress.c
tests_stress_order_stress_LDADD = libqoffload-core.la $(QO_LIBS)

tests_stress_bell_stress_SOURCES = tests/stress/bell_stress.c
tests_stress_bell_stress_LDADD = libqoffload-core.la $(QO_LIBS)

# Measures the queue from inside; ./dev bench runs it.
noinst_PROGRAMS += tests/bench/queue_echo
tests_bench_queue_echo_SOURCES = tests/bench/queue_echo.c \
	tests/bench/samples.h
tests_bench_queue_echo_LDADD = libqoffload-core.la $(QO_LIBS)

# The whole library, ranks as threads.
check_PROGRAMS += tests/stress/op_ranks_stress tests/stress/mesh_ranks_stress
TESTS += tests/stress/op_ranks_stress tests/stress/mesh_ranks_stress
tests_stress_op_ranks_stress_SOURCES = tests/stress/op_ranks_stress.c \
	tests/support/daemon.c tests/support/daemon.h \
	tests/support/ranks.c tests/support/ranks.h
tests_stress_op_ranks_stress_LDADD = libqoffload-core.la $(QO_LIBS)
tests_stress_mesh_ranks_stress_SOURCES = tests/stress/mesh_ranks_stress.c \
	tests/support/ranks.c tests/support/ranks.h
tests_stress_mesh_ranks_stress_LDADD = libqoffload-core.la $(QO_LIBS)
