# The agent: who makes progress, and what it carries out.
libqoffload_core_la_SOURCES += \
	libqoffload/agent/agent.c \
	libqoffload/agent/agent.h \
	libqoffload/agent/channel.c \
	libqoffload/agent/channel.h \
	libqoffload/agent/command.c \
	libqoffload/agent/command.h \
	libqoffload/agent/exec.c \
	libqoffload/agent/exec.h \
	libqoffload/agent/idle.c \
	libqoffload/agent/idle.h \
	libqoffload/agent/mesh.c \
	libqoffload/agent/mesh.h \
	libqoffload/agent/object.c \
	libqoffload/agent/object.h \
	libqoffload/agent/op.c \
	libqoffload/agent/op.h \
	libqoffload/agent/reach.c \
	libqoffload/agent/reach.h \
	libqoffload/agent/request.c \
	libqoffload/agent/request.h \
	libqoffload/agent/ring.h \
	libqoffload/agent/step.c \
	libqoffload/agent/step.h \
	libqoffload/agent/thread.c \
	libqoffload/agent/work.c \
	libqoffload/agent/work.h
