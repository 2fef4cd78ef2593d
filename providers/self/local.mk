# SPDX-License-Identifier: BSD-3-Clause
if PROVIDER_SELF
libqoffload_core_la_SOURCES += providers/self/self.c
endif
