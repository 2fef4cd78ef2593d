# SPDX-License-Identifier: BSD-3-Clause
# What a client and the daemon share: names, messages, the segment.
libqoffload_core_la_SOURCES += \
	libqoffload/attach/address.c \
	libqoffload/attach/address.h \
	libqoffload/attach/door.c \
	libqoffload/attach/message.c \
	libqoffload/attach/message.h \
	libqoffload/attach/segment.c \
	libqoffload/attach/segment.h
