# SPDX-License-Identifier: BSD-3-Clause
# The daemon and ranks as real processes: stopped, killed, restarted.  Sweeps
# are longer with QO_TEST_LONG=1.
qo_daemon_stand = tests/daemon/stand.c tests/daemon/stand.h \
	tests/conformance/suite.c tests/conformance/suite.h \
	tests/conformance/data.c tests/conformance/data.h \
	tests/support/daemon.c tests/support/daemon.h \
	tests/support/ranks.c tests/support/ranks.h
qo_daemon_libs = libqoffload-core.la $(QO_LIBS)
qo_daemon_tests =

qo_daemon_tests += tests/daemon/freeze_test
tests_daemon_freeze_test_SOURCES = tests/daemon/freeze_test.c $(qo_daemon_stand)
tests_daemon_freeze_test_LDADD = $(qo_daemon_libs)

qo_daemon_tests += tests/daemon/death_test
tests_daemon_death_test_SOURCES = tests/daemon/death_test.c $(qo_daemon_stand)
tests_daemon_death_test_LDADD = $(qo_daemon_libs)

qo_daemon_tests += tests/daemon/agent_lost_test
tests_daemon_agent_lost_test_SOURCES = tests/daemon/agent_lost_test.c $(qo_daemon_stand)
tests_daemon_agent_lost_test_LDADD = $(qo_daemon_libs)

qo_daemon_tests += tests/daemon/generations_test
tests_daemon_generations_test_SOURCES = tests/daemon/generations_test.c $(qo_daemon_stand)
tests_daemon_generations_test_LDADD = $(qo_daemon_libs)

qo_daemon_tests += tests/daemon/restart_test
tests_daemon_restart_test_SOURCES = tests/daemon/restart_test.c $(qo_daemon_stand)
tests_daemon_restart_test_LDADD = $(qo_daemon_libs)

qo_daemon_tests += tests/daemon/signals_test
tests_daemon_signals_test_SOURCES = tests/daemon/signals_test.c $(qo_daemon_stand)
tests_daemon_signals_test_LDADD = $(qo_daemon_libs)

qo_daemon_tests += tests/daemon/jobs_test
tests_daemon_jobs_test_SOURCES = tests/daemon/jobs_test.c $(qo_daemon_stand)
tests_daemon_jobs_test_LDADD = $(qo_daemon_libs)

qo_daemon_tests += tests/daemon/fini_test
tests_daemon_fini_test_SOURCES = tests/daemon/fini_test.c $(qo_daemon_stand)
tests_daemon_fini_test_LDADD = $(qo_daemon_libs)

qo_daemon_tests += tests/daemon/life_test
tests_daemon_life_test_SOURCES = tests/daemon/life_test.c $(qo_daemon_stand)
tests_daemon_life_test_LDADD = $(qo_daemon_libs)

qo_daemon_tests += tests/daemon/mixed_test
tests_daemon_mixed_test_SOURCES = tests/daemon/mixed_test.c $(qo_daemon_stand)
tests_daemon_mixed_test_LDADD = $(qo_daemon_libs)

qo_daemon_tests += tests/daemon/pause_test
tests_daemon_pause_test_SOURCES = tests/daemon/pause_test.c $(qo_daemon_stand)
tests_daemon_pause_test_LDADD = $(qo_daemon_libs)

# A rank that is started alone, for scripts.
tests_daemon_member_SOURCES = tests/daemon/member.c $(qo_daemon_stand)
tests_daemon_member_LDADD = $(qo_daemon_libs)
EXTRA_DIST += tests/daemon/namespace_test.sh

# A rank of an MPI job, as a user would build it.
qo_daemon_mpi_programs =
if HAVE_OPENMPI
qo_daemon_mpi_programs += tests/daemon/mpi_end-openmpi
tests_daemon_mpi_end_openmpi_SOURCES = tests/daemon/mpi_end.c
tests_daemon_mpi_end_openmpi_CPPFLAGS = $(AM_CPPFLAGS) $(OPENMPI_CFLAGS)
tests_daemon_mpi_end_openmpi_LDADD = libqoffload-mpi-openmpi.la \
	$(QO_USER_LIBS) $(OPENMPI_LIBS)
endif
if HAVE_MPICH
qo_daemon_mpi_programs += tests/daemon/mpi_end-mpich
tests_daemon_mpi_end_mpich_SOURCES = tests/daemon/mpi_end.c
tests_daemon_mpi_end_mpich_CPPFLAGS = $(AM_CPPFLAGS) $(MPICH_CFLAGS)
tests_daemon_mpi_end_mpich_LDADD = libqoffload-mpi-mpich.la \
	$(QO_USER_LIBS) $(MPICH_LIBS)
endif
EXTRA_DIST += tests/daemon/mpi_end_test.sh

if PROVIDER_SHM
check_PROGRAMS += $(qo_daemon_tests) tests/daemon/member \
	$(qo_daemon_mpi_programs)
TESTS += $(qo_daemon_tests) tests/daemon/namespace_test.sh \
	tests/daemon/mpi_end_test.sh
endif
