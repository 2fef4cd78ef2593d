# SPDX-License-Identifier: BSD-3-Clause
libqoffload_core_la_SOURCES += \
	providers/deadline.c \
	providers/deadline.h \
	providers/defaults.c \
	providers/mailbox.c \
	providers/mailbox.h \
	providers/provider.h \
	providers/put.h \
	providers/registry.c \
	providers/registry.h \
	providers/wrapper.h
EXTRA_DIST += providers/README.md
