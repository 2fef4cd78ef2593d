# The public entry points: check, prepare, post, test, wait.
libqoffload_core_la_SOURCES += \
	libqoffload/client/context.c \
	libqoffload/client/exchange.c \
	libqoffload/client/exchange.h \
	libqoffload/client/handle.h \
	libqoffload/client/memory.c \
	libqoffload/client/mesh_check.c \
	libqoffload/client/mesh_check.h \
	libqoffload/client/mesh_create.c \
	libqoffload/client/mesh_post.c \
	libqoffload/client/mesh_window.c \
	libqoffload/client/mesh_window.h \
	libqoffload/client/op_create.c \
	libqoffload/client/op_create.h \
	libqoffload/client/op_describe.c \
	libqoffload/client/op_describe.h \
	libqoffload/client/operation.c \
	libqoffload/client/patience.c \
	libqoffload/client/patience.h \
	libqoffload/client/post.c \
	libqoffload/client/reader.c \
	libqoffload/client/reader.h \
	libqoffload/client/team.c \
	libqoffload/client/team_build.c \
	libqoffload/client/team_build.h \
	libqoffload/client/team_split.c \
	libqoffload/client/test.c \
	libqoffload/client/wait.c
