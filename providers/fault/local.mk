# SPDX-License-Identifier: BSD-3-Clause
if PROVIDER_FAULT
libqoffload_core_la_SOURCES += \
	providers/fault/conn.c \
	providers/fault/endpoint.c \
	providers/fault/fault.h \
	providers/fault/internal.h \
	providers/fault/plan.c \
	providers/fault/plan.h \
	providers/fault/queue.c
endif
