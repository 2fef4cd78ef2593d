# SPDX-License-Identifier: BSD-3-Clause
# Each allocation and system call of the library fails once.
qo_fault_programs = tests/fault/resource_fault
check_PROGRAMS += $(qo_fault_programs)
TESTS += tests/fault/resource_inline.sh tests/fault/resource_thread.sh
EXTRA_DIST += tests/fault/resource_inline.sh tests/fault/resource_thread.sh

tests_fault_resource_fault_SOURCES = tests/fault/resource_fault.c \
	tests/fault/wrap.c tests/fault/wrap.h \
	tests/support/ranks.c tests/support/ranks.h
tests_fault_resource_fault_LDADD = libqoffload-core.la $(QO_LIBS)
qo_wrap = -Wl,--wrap
tests_fault_resource_fault_LDFLAGS = $(qo_wrap)=malloc $(qo_wrap)=calloc \
	$(qo_wrap)=realloc $(qo_wrap)=aligned_alloc $(qo_wrap)=strdup \
	$(qo_wrap)=free $(qo_wrap)=hwloc_bitmap_list_asprintf \
	$(qo_wrap)=mmap $(qo_wrap)=munmap $(qo_wrap)=memfd_create \
	$(qo_wrap)=fallocate $(qo_wrap)=ftruncate $(qo_wrap)=eventfd \
	$(qo_wrap)=epoll_create1 $(qo_wrap)=epoll_ctl $(qo_wrap)=socket \
	$(qo_wrap)=bind $(qo_wrap)=listen $(qo_wrap)=connect \
	$(qo_wrap)=getrandom $(qo_wrap)=pthread_create
