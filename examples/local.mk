# SPDX-License-Identifier: BSD-3-Clause
# Programs that a user could have written: public headers only. Each is built
# once per MPI that is here.

EXTRA_DIST += examples/README.md examples/data

# What qwindow and steane_lut share, and what needs no MPI.
noinst_LTLIBRARIES += examples/qwindow/libqwindow.la
examples_qwindow_libqwindow_la_SOURCES = \
	examples/qwindow/bits.h examples/qwindow/clock.h \
	examples/qwindow/dem.c examples/qwindow/dem.h \
	examples/qwindow/dem_raw.c examples/qwindow/dem_raw.h \
	examples/qwindow/freeze.c examples/qwindow/freeze.h \
	examples/qwindow/graph.c examples/qwindow/graph.h \
	examples/qwindow/input.c examples/qwindow/input.h \
	examples/qwindow/options.c examples/qwindow/options.h \
	examples/qwindow/pace.c examples/qwindow/pace.h \
	examples/qwindow/problem.c examples/qwindow/problem.h \
	examples/qwindow/rack.c examples/qwindow/rack.h \
	examples/qwindow/serial.c examples/qwindow/serial.h \
	examples/qwindow/shots.c examples/qwindow/shots.h \
	examples/qwindow/stats.c examples/qwindow/stats.h \
	examples/qwindow/timeline.c examples/qwindow/timeline.h \
	examples/qwindow/uf.c examples/qwindow/uf.h \
	examples/qwindow/window.c examples/qwindow/window.h \
	examples/qwindow/work.c examples/qwindow/work.h
examples_qwindow_libqwindow_la_LIBADD = -lm

qwindow_sources = \
	examples/qwindow/agree.c examples/qwindow/agree.h \
	examples/qwindow/exchange.c examples/qwindow/exchange.h \
	examples/qwindow/exchange_mpi.c examples/qwindow/exchange_qo.c \
	examples/qwindow/main.c \
	examples/qwindow/report.c examples/qwindow/report.h \
	examples/qwindow/report_json.c examples/qwindow/report_table.c \
	examples/qwindow/schedule.c examples/qwindow/schedule.h \
	examples/qwindow/verify.c examples/qwindow/verify.h

steane_lut_sources = \
	examples/qwindow/agree.c examples/qwindow/agree.h \
	examples/steane_lut/main.c \
	examples/steane_lut/table.c examples/steane_lut/table.h

if HAVE_OPENMPI
if HAVE_JANSSON
noinst_PROGRAMS += examples/qwindow-openmpi
examples_qwindow_openmpi_SOURCES = $(qwindow_sources)
examples_qwindow_openmpi_CPPFLAGS = $(AM_CPPFLAGS) $(OPENMPI_CFLAGS) \
	$(JANSSON_CFLAGS)
examples_qwindow_openmpi_LDADD = examples/qwindow/libqwindow.la \
	libqoffload-mpi-openmpi.la $(QO_USER_LIBS) $(OPENMPI_LIBS) \
	$(JANSSON_LIBS)
endif
noinst_PROGRAMS += examples/steane_lut-openmpi
examples_steane_lut_openmpi_SOURCES = $(steane_lut_sources)
examples_steane_lut_openmpi_CPPFLAGS = $(AM_CPPFLAGS) $(OPENMPI_CFLAGS)
examples_steane_lut_openmpi_LDADD = examples/qwindow/libqwindow.la \
	libqoffload-mpi-openmpi.la $(QO_USER_LIBS) $(OPENMPI_LIBS)
endif

if HAVE_MPICH
if HAVE_JANSSON
noinst_PROGRAMS += examples/qwindow-mpich
examples_qwindow_mpich_SOURCES = $(qwindow_sources)
examples_qwindow_mpich_CPPFLAGS = $(AM_CPPFLAGS) $(MPICH_CFLAGS) \
	$(JANSSON_CFLAGS)
examples_qwindow_mpich_LDADD = examples/qwindow/libqwindow.la \
	libqoffload-mpi-mpich.la $(QO_USER_LIBS) $(MPICH_LIBS) $(JANSSON_LIBS)
endif
noinst_PROGRAMS += examples/steane_lut-mpich
examples_steane_lut_mpich_SOURCES = $(steane_lut_sources)
examples_steane_lut_mpich_CPPFLAGS = $(AM_CPPFLAGS) $(MPICH_CFLAGS)
examples_steane_lut_mpich_LDADD = examples/qwindow/libqwindow.la \
	libqoffload-mpi-mpich.la $(QO_USER_LIBS) $(MPICH_LIBS)
endif

# Parts of qwindow, one by one.
qwindow_test_libs = examples/qwindow/libqwindow.la $(CMOCKA_LIBS)

unit_tests += tests/unit/qwindow_dem_test
tests_unit_qwindow_dem_test_SOURCES = tests/unit/qwindow_dem_test.c \
	tests/unit/qwindow_files.h
tests_unit_qwindow_dem_test_LDADD = $(qwindow_test_libs)

unit_tests += tests/unit/qwindow_shots_test
tests_unit_qwindow_shots_test_SOURCES = tests/unit/qwindow_shots_test.c \
	tests/unit/qwindow_files.h
tests_unit_qwindow_shots_test_LDADD = $(qwindow_test_libs)

unit_tests += tests/unit/qwindow_uf_test
tests_unit_qwindow_uf_test_SOURCES = tests/unit/qwindow_uf_test.c
tests_unit_qwindow_uf_test_LDADD = $(qwindow_test_libs)

unit_tests += tests/unit/qwindow_window_test
tests_unit_qwindow_window_test_SOURCES = tests/unit/qwindow_window_test.c \
	tests/unit/qwindow_files.h
tests_unit_qwindow_window_test_LDADD = $(qwindow_test_libs)

unit_tests += tests/unit/qwindow_stats_test
tests_unit_qwindow_stats_test_SOURCES = tests/unit/qwindow_stats_test.c
tests_unit_qwindow_stats_test_LDADD = $(qwindow_test_libs)

unit_tests += tests/unit/qwindow_timeline_test
tests_unit_qwindow_timeline_test_SOURCES = tests/unit/qwindow_timeline_test.c
tests_unit_qwindow_timeline_test_LDADD = $(qwindow_test_libs)

unit_tests += tests/unit/qwindow_freeze_test
tests_unit_qwindow_freeze_test_SOURCES = tests/unit/qwindow_freeze_test.c
tests_unit_qwindow_freeze_test_LDADD = $(qwindow_test_libs)

# The programs as a user runs them.
TESTS += examples/tests/qwindow_cases.sh examples/tests/freeze_cases.sh \
	examples/tests/steane_cases.sh
EXTRA_DIST += examples/tests/qwindow_cases.sh examples/tests/freeze_cases.sh \
	examples/tests/steane_cases.sh examples/tests/launch.sh

# The program of the README, and the one that shows what is hidden.
if HAVE_OPENMPI
noinst_PROGRAMS += examples/hello-openmpi examples/overlap-openmpi
examples_hello_openmpi_SOURCES = examples/hello.c
examples_hello_openmpi_CPPFLAGS = $(AM_CPPFLAGS) $(OPENMPI_CFLAGS)
examples_hello_openmpi_LDADD = libqoffload-mpi-openmpi.la $(QO_USER_LIBS) \
	$(OPENMPI_LIBS)
examples_overlap_openmpi_SOURCES = examples/overlap.c
examples_overlap_openmpi_CPPFLAGS = $(AM_CPPFLAGS) $(OPENMPI_CFLAGS)
examples_overlap_openmpi_LDADD = libqoffload-mpi-openmpi.la $(QO_USER_LIBS) \
	$(OPENMPI_LIBS)
endif
if HAVE_MPICH
noinst_PROGRAMS += examples/hello-mpich examples/overlap-mpich
examples_hello_mpich_SOURCES = examples/hello.c
examples_hello_mpich_CPPFLAGS = $(AM_CPPFLAGS) $(MPICH_CFLAGS)
examples_hello_mpich_LDADD = libqoffload-mpi-mpich.la $(QO_USER_LIBS) \
	$(MPICH_LIBS)
examples_overlap_mpich_SOURCES = examples/overlap.c
examples_overlap_mpich_CPPFLAGS = $(AM_CPPFLAGS) $(MPICH_CFLAGS)
examples_overlap_mpich_LDADD = libqoffload-mpi-mpich.la $(QO_USER_LIBS) \
	$(MPICH_LIBS)
endif
TESTS += examples/tests/overlap_cases.sh
EXTRA_DIST += examples/tests/overlap_cases.sh
