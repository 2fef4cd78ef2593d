# SPDX-License-Identifier: BSD-3-Clause
qoffloadincludedir = $(includedir)/qoffload
qoffloadinclude_HEADERS = \
	include/qoffload/context.h \
	include/qoffload/error.h \
	include/qoffload/memory.h \
	include/qoffload/mesh.h \
	include/qoffload/operation.h \
	include/qoffload/qoffload.h \
	include/qoffload/request.h \
	include/qoffload/team.h \
	include/qoffload/types.h

# Goes with libqoffload-mpi-*; needs <mpi.h> where it is used.
qoffloadinclude_HEADERS += include/qoffload/mpi.h
