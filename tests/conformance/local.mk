# SPDX-License-Identifier: BSD-3-Clause
# One program, run once for each .prov file.
qo_process_provs = tests/conformance/process.prov \
	tests/conformance/process-cross.prov \
	tests/conformance/process-stage.prov \
	tests/conformance/process-map.prov tests/conformance/process-far.prov \
	tests/conformance/process-sleep.prov \
	tests/conformance/process-private.prov
qo_conformance_provs =
if PROVIDER_SELF
qo_conformance_provs += tests/conformance/self.prov
if PROVIDER_SHM
qo_conformance_provs += tests/conformance/shm.prov \
	tests/conformance/shm-copy.prov tests/conformance/shm-sleep.prov \
	$(qo_process_provs)
if PROVIDER_FAULT
qo_conformance_provs += tests/conformance/fault.prov \
	tests/conformance/fault-sleep.prov \
	tests/conformance/process-fault.prov
endif
endif
endif

TEST_EXTENSIONS += .prov
PROV_LOG_COMPILER = $(QO_TEST_LIMIT) tests/conformance/conformance$(EXEEXT)
TESTS += $(qo_conformance_provs)
EXTRA_DIST += tests/conformance/self.prov tests/conformance/shm.prov \
	tests/conformance/shm-copy.prov tests/conformance/shm-sleep.prov \
	tests/conformance/fault.prov tests/conformance/fault-sleep.prov \
	tests/conformance/process-fault.prov $(qo_process_provs)

check_PROGRAMS += tests/conformance/conformance
tests_conformance_conformance_SOURCES = \
	tests/conformance/conformance.c \
	tests/conformance/prov.c tests/conformance/prov.h \
	tests/conformance/server.c tests/conformance/server.h \
	tests/conformance/suite.c tests/conformance/suite.h \
	tests/conformance/data.c tests/conformance/data.h \
	tests/conformance/coll_cases.c \
	tests/conformance/reduce_cases.c \
	tests/conformance/mismatch_cases.c \
	tests/conformance/mesh_cases.c \
	tests/conformance/mesh_error_cases.c \
	tests/conformance/team_cases.c \
	tests/conformance/request_cases.c \
	tests/conformance/thread_cases.c \
	tests/conformance/progress_cases.c \
	tests/conformance/death_cases.c \
	tests/conformance/limit_cases.c \
	tests/conformance/size_cases.c \
	tests/conformance/far_cases.c \
	tests/support/daemon.c tests/support/daemon.h \
	tests/support/ranks.c tests/support/ranks.h
tests_conformance_conformance_LDADD = libqoffload-core.la $(QO_LIBS)

# More than 2 GiB at once; alone, since it takes the memory for that.
check_PROGRAMS += tests/conformance/huge
TESTS += tests/conformance/huge
tests_conformance_huge_SOURCES = tests/conformance/huge.c \
	tests/support/ranks.c tests/support/ranks.h
tests_conformance_huge_LDADD = libqoffload-core.la $(QO_LIBS)
