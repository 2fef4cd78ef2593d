# SPDX-License-Identifier: BSD-3-Clause
libqoffload_core_la_SOURCES += \
	libqoffload/coll/allgather.c \
	libqoffload/coll/allreduce.c \
	libqoffload/coll/alltoall.c \
	libqoffload/coll/barrier.c \
	libqoffload/coll/bcast.c \
	libqoffload/coll/bruck.c \
	libqoffload/coll/build.c \
	libqoffload/coll/build.h \
	libqoffload/coll/choose.c \
	libqoffload/coll/coll.c \
	libqoffload/coll/print.c \
	libqoffload/coll/reduce.c \
	libqoffload/coll/schedule.c \
	libqoffload/coll/schedule.h \
	libqoffload/coll/type.c \
	libqoffload/coll/validate.c
