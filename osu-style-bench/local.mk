# SPDX-License-Identifier: BSD-3-Clause
# Programs a user could have written: they see the public headers only.

bench_cppflags = -D_GNU_SOURCE -I$(top_srcdir)/include $(JANSSON_CFLAGS)
bench_libs = osu-style-bench/libbench.la libqoffload.la $(JANSSON_LIBS) -lm
bench_openmpi_cppflags = $(bench_cppflags) $(OPENMPI_CFLAGS)
bench_openmpi_libs = osu-style-bench/libbench-openmpi.la \
	libqoffload-mpi-openmpi.la $(bench_libs) $(OPENMPI_LIBS)
bench_mpich_cppflags = $(bench_cppflags) $(MPICH_CFLAGS)
bench_mpich_libs = osu-style-bench/libbench-mpich.la \
	libqoffload-mpi-mpich.la $(bench_libs) $(MPICH_LIBS)

EXTRA_DIST += osu-style-bench/README.md osu-style-bench/run \
	osu-style-bench/test_cost.sh

bench_sources = \
	osu-style-bench/common/bounce.c \
	osu-style-bench/common/bounce.h \
	osu-style-bench/common/clock.h \
	osu-style-bench/common/cores.c \
	osu-style-bench/common/cores.h \
	osu-style-bench/common/daemon.c \
	osu-style-bench/common/daemon.h \
	osu-style-bench/common/die.c \
	osu-style-bench/common/forked.c \
	osu-style-bench/common/forked.h \
	osu-style-bench/common/json.c \
	osu-style-bench/common/options.c \
	osu-style-bench/common/options.h \
	osu-style-bench/common/pair.c \
	osu-style-bench/common/pair.h \
	osu-style-bench/common/payload.c \
	osu-style-bench/common/payload.h \
	osu-style-bench/common/plot.c \
	osu-style-bench/common/report.c \
	osu-style-bench/common/report.h \
	osu-style-bench/common/shared.c \
	osu-style-bench/common/shared.h \
	osu-style-bench/common/stats.c \
	osu-style-bench/common/stats.h \
	osu-style-bench/common/task.c \
	osu-style-bench/common/task.h \
	osu-style-bench/common/work.c \
	osu-style-bench/common/work.h
bench_mpi_sources = \
	osu-style-bench/common/coll.c \
	osu-style-bench/common/coll.h \
	osu-style-bench/common/exchange.c \
	osu-style-bench/common/exchange.h \
	osu-style-bench/common/measure.c \
	osu-style-bench/common/measure.h \
	osu-style-bench/common/ranks.c \
	osu-style-bench/common/ranks.h \
	osu-style-bench/common/trip.c \
	osu-style-bench/common/trip.h

if HAVE_JANSSON
noinst_LTLIBRARIES += osu-style-bench/libbench.la
osu_style_bench_libbench_la_SOURCES = $(bench_sources)
osu_style_bench_libbench_la_CPPFLAGS = $(bench_cppflags)

if HAVE_CMOCKA
check_PROGRAMS += osu-style-bench/common_test
TESTS += osu-style-bench/common_test
osu_style_bench_common_test_SOURCES = osu-style-bench/common_test.c
osu_style_bench_common_test_CPPFLAGS = $(bench_cppflags) $(CMOCKA_CFLAGS)
osu_style_bench_common_test_LDADD = osu-style-bench/libbench.la \
	$(CMOCKA_LIBS) $(JANSSON_LIBS) -lm
endif

noinst_PROGRAMS += \
	osu-style-bench/qo_agent_fairness \
	osu-style-bench/qo_agent_idle \
	osu-style-bench/qo_agent_roundtrip \
	osu-style-bench/qo_idle_cost \
	osu-style-bench/qo_test_cost
osu_style_bench_qo_agent_fairness_SOURCES = osu-style-bench/qo_agent_fairness.c
osu_style_bench_qo_agent_fairness_CPPFLAGS = $(bench_cppflags)
osu_style_bench_qo_agent_fairness_LDADD = $(bench_libs)
osu_style_bench_qo_agent_idle_SOURCES = osu-style-bench/qo_agent_idle.c
osu_style_bench_qo_agent_idle_CPPFLAGS = $(bench_cppflags)
osu_style_bench_qo_agent_idle_LDADD = $(bench_libs)
osu_style_bench_qo_agent_roundtrip_SOURCES = \
	osu-style-bench/qo_agent_roundtrip.c
osu_style_bench_qo_agent_roundtrip_CPPFLAGS = $(bench_cppflags)
osu_style_bench_qo_agent_roundtrip_LDADD = $(bench_libs)
osu_style_bench_qo_idle_cost_SOURCES = osu-style-bench/qo_idle_cost.c
osu_style_bench_qo_idle_cost_CPPFLAGS = $(bench_cppflags)
osu_style_bench_qo_idle_cost_LDADD = $(bench_libs)
osu_style_bench_qo_test_cost_SOURCES = osu-style-bench/qo_test_cost.c
osu_style_bench_qo_test_cost_CPPFLAGS = $(bench_cppflags)
osu_style_bench_qo_test_cost_LDADD = $(bench_libs)

if HAVE_OPENMPI
noinst_LTLIBRARIES += osu-style-bench/libbench-openmpi.la
osu_style_bench_libbench_openmpi_la_SOURCES = $(bench_mpi_sources)
osu_style_bench_libbench_openmpi_la_CPPFLAGS = $(bench_openmpi_cppflags)

noinst_PROGRAMS += \
	osu-style-bench/qo_agent_latency-openmpi \
	osu-style-bench/qo_coll_latency-openmpi \
	osu-style-bench/qo_mesh_latency-openmpi \
	osu-style-bench/qo_osu_overlap-openmpi
osu_style_bench_qo_agent_latency_openmpi_SOURCES = \
	osu-style-bench/qo_agent_latency.c
osu_style_bench_qo_agent_latency_openmpi_CPPFLAGS = $(bench_openmpi_cppflags)
osu_style_bench_qo_agent_latency_openmpi_LDADD = $(bench_openmpi_libs)
osu_style_bench_qo_coll_latency_openmpi_SOURCES = \
	osu-style-bench/qo_coll_latency.c
osu_style_bench_qo_coll_latency_openmpi_CPPFLAGS = $(bench_openmpi_cppflags)
osu_style_bench_qo_coll_latency_openmpi_LDADD = $(bench_openmpi_libs)
osu_style_bench_qo_mesh_latency_openmpi_SOURCES = \
	osu-style-bench/qo_mesh_latency.c
osu_style_bench_qo_mesh_latency_openmpi_CPPFLAGS = $(bench_openmpi_cppflags)
osu_style_bench_qo_mesh_latency_openmpi_LDADD = $(bench_openmpi_libs)
osu_style_bench_qo_osu_overlap_openmpi_SOURCES = \
	osu-style-bench/qo_osu_overlap.c
osu_style_bench_qo_osu_overlap_openmpi_CPPFLAGS = $(bench_openmpi_cppflags)
osu_style_bench_qo_osu_overlap_openmpi_LDADD = $(bench_openmpi_libs)
endif

if HAVE_MPICH
noinst_LTLIBRARIES += osu-style-bench/libbench-mpich.la
osu_style_bench_libbench_mpich_la_SOURCES = $(bench_mpi_sources)
osu_style_bench_libbench_mpich_la_CPPFLAGS = $(bench_mpich_cppflags)

noinst_PROGRAMS += \
	osu-style-bench/qo_agent_latency-mpich \
	osu-style-bench/qo_coll_latency-mpich \
	osu-style-bench/qo_mesh_latency-mpich \
	osu-style-bench/qo_osu_overlap-mpich
osu_style_bench_qo_agent_latency_mpich_SOURCES = \
	osu-style-bench/qo_agent_latency.c
osu_style_bench_qo_agent_latency_mpich_CPPFLAGS = $(bench_mpich_cppflags)
osu_style_bench_qo_agent_latency_mpich_LDADD = $(bench_mpich_libs)
osu_style_bench_qo_coll_latency_mpich_SOURCES = \
	osu-style-bench/qo_coll_latency.c
osu_style_bench_qo_coll_latency_mpich_CPPFLAGS = $(bench_mpich_cppflags)
osu_style_bench_qo_coll_latency_mpich_LDADD = $(bench_mpich_libs)
osu_style_bench_qo_mesh_latency_mpich_SOURCES = \
	osu-style-bench/qo_mesh_latency.c
osu_style_bench_qo_mesh_latency_mpich_CPPFLAGS = $(bench_mpich_cppflags)
osu_style_bench_qo_mesh_latency_mpich_LDADD = $(bench_mpich_libs)
osu_style_bench_qo_osu_overlap_mpich_SOURCES = \
	osu-style-bench/qo_osu_overlap.c
osu_style_bench_qo_osu_overlap_mpich_CPPFLAGS = $(bench_mpich_cppflags)
osu_style_bench_qo_osu_overlap_mpich_LDADD = $(bench_mpich_libs)
endif
endif
