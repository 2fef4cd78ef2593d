# SPDX-License-Identifier: BSD-3-Clause
libqoffload_core_la_SOURCES += \
	libqoffload/base/clock.c libqoffload/base/clock.h \
	libqoffload/base/config.c libqoffload/base/config.h \
	libqoffload/base/config_print.c \
	libqoffload/base/config_tables.c \
	libqoffload/base/config_value.c libqoffload/base/config_value.h \
	libqoffload/base/error.c libqoffload/base/error.h \
	libqoffload/base/fail_point.c libqoffload/base/fail_point.h \
	libqoffload/base/log.c libqoffload/base/log.h \
	libqoffload/base/node.c libqoffload/base/node.h \
	libqoffload/base/topology.c libqoffload/base/topology.h
