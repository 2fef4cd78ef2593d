# SPDX-License-Identifier: BSD-3-Clause
# The daemon: one agent for all ranks of a node.
libqoffload_core_la_SOURCES += \
	libqoffload/daemon/closer.c \
	libqoffload/daemon/closer.h \
	libqoffload/daemon/daemon.c \
	libqoffload/daemon/daemon.h \
	libqoffload/daemon/errors.c \
	libqoffload/daemon/errors.h \
	libqoffload/daemon/greeting.c \
	libqoffload/daemon/group.c \
	libqoffload/daemon/group.h \
	libqoffload/daemon/half.c \
	libqoffload/daemon/half.h \
	libqoffload/daemon/loop.c \
	libqoffload/daemon/region.c \
	libqoffload/daemon/request.c \
	libqoffload/daemon/session.c \
	libqoffload/daemon/session.h \
	libqoffload/daemon/status.c \
	libqoffload/daemon/turn.c
