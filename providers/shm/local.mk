# SPDX-License-Identifier: BSD-3-Clause
if PROVIDER_SHM
libqoffload_core_la_SOURCES += \
	providers/shm/attempt.c \
	providers/shm/conn.c \
	providers/shm/control.c \
	providers/shm/endpoint.c \
	providers/shm/handshake.c \
	providers/shm/mapping.c \
	providers/shm/mapping.h \
	providers/shm/shm.h \
	providers/shm/socket.c \
	providers/shm/socket.h \
	providers/shm/window.c \
	providers/shm/wire.h
endif
