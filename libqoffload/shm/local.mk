# SPDX-License-Identifier: BSD-3-Clause
libqoffload_core_la_SOURCES += \
	libqoffload/shm/atomic.h \
	libqoffload/shm/bell.c \
	libqoffload/shm/bell.h \
	libqoffload/shm/completion.h \
	libqoffload/shm/layout.h \
	libqoffload/shm/packet.c \
	libqoffload/shm/packet.h \
	libqoffload/shm/probe.c \
	libqoffload/shm/probe.h \
	libqoffload/shm/queue.c \
	libqoffload/shm/queue.h \
	libqoffload/shm/queue_chunk.c \
	libqoffload/shm/room.c \
	libqoffload/shm/room.h \
	libqoffload/shm/segment.c \
	libqoffload/shm/segment.h
