# SPDX-License-Identifier: BSD-3-Clause
# The tools link the core: they show what the public headers don't.
bin_PROGRAMS += libqoffload/tools/qo_agentd
dist_man_MANS += docs/man/qo_agentd.1
libqoffload_tools_qo_agentd_SOURCES = libqoffload/tools/qo_agentd.c
libqoffload_tools_qo_agentd_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS)
libqoffload_tools_qo_agentd_LDADD = libqoffload-core.la $(SYSTEMD_LIBS) \
	$(QO_LIBS)

if HAVE_JANSSON
bin_PROGRAMS += libqoffload/tools/qo_info
dist_man_MANS += docs/man/qo_info.1
endif

libqoffload_tools_qo_info_SOURCES = \
	libqoffload/tools/info_sections.c libqoffload/tools/info_sections.h \
	libqoffload/tools/info_status.c libqoffload/tools/info_status.h \
	libqoffload/tools/info_watch.c libqoffload/tools/info_watch.h \
	libqoffload/tools/qo_info.c
libqoffload_tools_qo_info_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
libqoffload_tools_qo_info_LDADD = libqoffload-core.la $(JANSSON_LIBS) \
	$(QO_LIBS)

dist_doc_DATA += docs/config.md
