# SPDX-License-Identifier: BSD-3-Clause
# What tests find in their environment.

QO_TESTS_ENVIRONMENT = \
	top_srcdir='$(abs_top_srcdir)'; top_builddir='$(abs_top_builddir)'; \
	CC='$(CC)'; CXX='$(CXX)'; MAKE='$(MAKE)'; PYTHON='$(PYTHON)'; \
	CHECK_PREFIX='$(prefix)'; CHECK_LIBDIR='$(libdir)'; \
	CHECK_INCLUDEDIR='$(includedir)'; CHECK_SANITIZER='$(QO_SANITIZER)'; \
	CHECK_HEADERS='$(qoffloadinclude_HEADERS)'; \
	CHECK_MPI_CFLAGS='$(OPENMPI_CFLAGS)'; CHECK_TOOLS='$(bin_PROGRAMS)'; \
	CHECK_TESTS='$(TESTS)'; \
	QO_AGENT_SOCKET=@qo-tests-take-no-daemon-of-the-user; \
	export QO_AGENT_SOCKET; \
	PYTHONDONTWRITEBYTECODE=1; export top_srcdir top_builddir CC CXX \
	MAKE PYTHON CHECK_PREFIX CHECK_LIBDIR CHECK_INCLUDEDIR CHECK_SANITIZER \
	CHECK_HEADERS CHECK_MPI_CFLAGS CHECK_TOOLS CHECK_TESTS PYTHONDONTWRITEBYTECODE;

EXTRA_DIST += tests/lsan.supp tests/valgrind.supp

# For ./dev, which runs some folders' tests alone.
print-tests:
	@for test in $(TESTS); do echo $$test; done
.PHONY: print-tests
