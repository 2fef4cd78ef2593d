# SPDX-License-Identifier: BSD-3-Clause
# One library per MPI from the same source: MPI has no common ABI yet.

qo_mpi_sources = libqoffload/mpi/team.c
qo_mpi_map = libqoffload/mpi/libqoffload-mpi.map
qo_mpi_ldflags = $(QO_SHARED_LDFLAGS) -Wl,--version-script=$(srcdir)/$(qo_mpi_map)
EXTRA_DIST += libqoffload-mpi.pc.in $(qo_mpi_map)
CLEANFILES += libqoffload-mpi-openmpi.pc libqoffload-mpi-mpich.pc

if HAVE_OPENMPI
lib_LTLIBRARIES += libqoffload-mpi-openmpi.la
pkgconfig_DATA += libqoffload-mpi-openmpi.pc
libqoffload_mpi_openmpi_la_SOURCES = $(qo_mpi_sources)
libqoffload_mpi_openmpi_la_CPPFLAGS = $(AM_CPPFLAGS) $(OPENMPI_CFLAGS)
libqoffload_mpi_openmpi_la_LDFLAGS = $(qo_mpi_ldflags)
libqoffload_mpi_openmpi_la_LIBADD = libqoffload.la $(OPENMPI_LIBS)
EXTRA_libqoffload_mpi_openmpi_la_DEPENDENCIES = $(qo_mpi_map)
endif

if HAVE_MPICH
lib_LTLIBRARIES += libqoffload-mpi-mpich.la
pkgconfig_DATA += libqoffload-mpi-mpich.pc
libqoffload_mpi_mpich_la_SOURCES = $(qo_mpi_sources)
libqoffload_mpi_mpich_la_CPPFLAGS = $(AM_CPPFLAGS) $(MPICH_CFLAGS)
libqoffload_mpi_mpich_la_LDFLAGS = $(qo_mpi_ldflags)
libqoffload_mpi_mpich_la_LIBADD = libqoffload.la $(MPICH_LIBS)
EXTRA_libqoffload_mpi_mpich_la_DEPENDENCIES = $(qo_mpi_map)
endif

libqoffload-mpi-openmpi.pc: libqoffload-mpi.pc
	$(AM_V_GEN)$(SED) -e 's|%MPI%|openmpi|g' -e 's|%MPI_LIBS%|$(OPENMPI_LIBS)|' -e 's|%MPI_CFLAGS%|$(OPENMPI_CFLAGS)|' libqoffload-mpi.pc >$@

libqoffload-mpi-mpich.pc: libqoffload-mpi.pc
	$(AM_V_GEN)$(SED) -e 's|%MPI%|mpich|g' -e 's|%MPI_LIBS%|$(MPICH_LIBS)|' -e 's|%MPI_CFLAGS%|$(MPICH_CFLAGS)|' libqoffload-mpi.pc >$@
