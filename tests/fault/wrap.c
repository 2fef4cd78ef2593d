/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* memfd_create */
#include "tests/fault/wrap.h"

#include <errno.h>
#include <fcntl.h>
#include <hwloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>

static int64_t calls;
static int64_t fail_at = INT64_MAX;
static const char *failed;
static int64_t blocks;
static int64_t maps;

void qof_arm(int64_t nth)
{
	__atomic_store_n(&calls, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&failed, NULL, __ATOMIC_SEQ_CST);
	__atomic_store_n(&fail_at, nth, __ATOMIC_SEQ_CST);
}

const char *qof_disarm(void)
{
	__atomic_store_n(&fail_at, INT64_MAX, __ATOMIC_SEQ_CST);
	return __atomic_load_n(&failed, __ATOMIC_SEQ_CST);
}

int64_t qof_blocks(void)
{
	return __atomic_load_n(&blocks, __ATOMIC_SEQ_CST);
}

int64_t qof_maps(void)
{
	return __atomic_load_n(&maps, __ATOMIC_SEQ_CST);
}

/* Whether this call is the one. */
static int fails(const char *name, int error)
{
	if (__atomic_fetch_add(&calls, 1, __ATOMIC_SEQ_CST) !=
	    __atomic_load_n(&fail_at, __ATOMIC_SEQ_CST))
		return 0;
	__atomic_store_n(&failed, name, __ATOMIC_SEQ_CST);
	errno = error;
	return 1;
}

static void *taken(void *block)
{
	if (block != NULL)
		__atomic_fetch_add(&blocks, 1, __ATOMIC_SEQ_CST);
	return block;
}

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes)
{
	return fails("malloc", ENOMEM) ? NULL : taken(__real_malloc(bytes));
}

void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes)
{
	return fails("calloc", ENOMEM) ? NULL
				       : taken(__real_calloc(count, bytes));
}

void *__real_realloc(void *block, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes)
{
	if (fails("realloc", ENOMEM))
		return NULL;
	return block == NULL ? taken(__real_realloc(block, bytes))
			     : __real_realloc(block, bytes);
}

void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
	if (fails("aligned_alloc", ENOMEM))
		return NULL;
	return taken(__real_aligned_alloc(alignment, bytes));
}

char *__wrap_strdup(const char *text);
char *__wrap_strdup(const char *text)
{
	size_t bytes = strlen(text) + 1;
	char *copy =
		fails("strdup", ENOMEM) ? NULL : taken(__real_malloc(bytes));

	return copy == NULL ? NULL : memcpy(copy, text, bytes);
}

/* Allocates what the library frees. */
int __real_hwloc_bitmap_list_asprintf(char **text, hwloc_const_bitmap_t set);
int __wrap_hwloc_bitmap_list_asprintf(char **text, hwloc_const_bitmap_t set);
int __wrap_hwloc_bitmap_list_asprintf(char **text, hwloc_const_bitmap_t set)
{
	int length;

	if (fails("hwloc_bitmap_list_asprintf", ENOMEM))
		return -1;
	length = __real_hwloc_bitmap_list_asprintf(text, set);
	if (length >= 0)
		taken(*text);
	return length;
}

void __real_free(void *block);
void __wrap_free(void *block);
void __wrap_free(void *block)
{
	if (block != NULL)
		__atomic_fetch_sub(&blocks, 1, __ATOMIC_SEQ_CST);
	__real_free(block);
}

void *__real_mmap(void *at, size_t bytes, int prot, int flags, int fd,
		  off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int prot, int flags, int fd,
		  off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int prot, int flags, int fd,
		  off_t offset)
{
	void *map;

	if (fails("mmap", ENOMEM))
		return MAP_FAILED;
	map = __real_mmap(at, bytes, prot, flags, fd, offset);
	if (map != MAP_FAILED)
		__atomic_fetch_add(&maps, 1, __ATOMIC_SEQ_CST);
	return map;
}

int __real_munmap(void *at, size_t bytes);
int __wrap_munmap(void *at, size_t bytes);
int __wrap_munmap(void *at, size_t bytes)
{
	__atomic_fetch_sub(&maps, 1, __ATOMIC_SEQ_CST);
	return __real_munmap(at, bytes);
}

int __real_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags)
{
	return fails("memfd_create", EMFILE) ? -1
					     : __real_memfd_create(name, flags);
}

int __real_fallocate(int fd, int mode, off_t offset, off_t bytes);
int __wrap_fallocate(int fd, int mode, off_t offset, off_t bytes);
int __wrap_fallocate(int fd, int mode, off_t offset, off_t bytes)
{
	return fails("fallocate", ENOSPC)
		       ? -1
		       : __real_fallocate(fd, mode, offset, bytes);
}

int __real_ftruncate(int fd, off_t bytes);
int __wrap_ftruncate(int fd, off_t bytes);
int __wrap_ftruncate(int fd, off_t bytes)
{
	return fails("ftruncate", EFBIG) ? -1 : __real_ftruncate(fd, bytes);
}

int __real_eventfd(unsigned value, int flags);
int __wrap_eventfd(unsigned value, int flags);
int __wrap_eventfd(unsigned value, int flags)
{
	return fails("eventfd", EMFILE) ? -1 : __real_eventfd(value, flags);
}

int __real_epoll_create1(int flags);
int __wrap_epoll_create1(int flags);
int __wrap_epoll_create1(int flags)
{
	return fails("epoll_create1", EMFILE) ? -1 : __real_epoll_create1(flags);
}

int __real_epoll_ctl(int fd, int what, int other, struct epoll_event *event);
int __wrap_epoll_ctl(int fd, int what, int other, struct epoll_event *event);
int __wrap_epoll_ctl(int fd, int what, int other, struct epoll_event *event)
{
	if (what == EPOLL_CTL_ADD && fails("epoll_ctl", ENOSPC))
		return -1;
	return __real_epoll_ctl(fd, what, other, event);
}

int __real_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol)
{
	return fails("socket", EMFILE) ? -1
				       : __real_socket(domain, type, protocol);
}

int __real_bind(int fd, const struct sockaddr *at, socklen_t bytes);
int __wrap_bind(int fd, const struct sockaddr *at, socklen_t bytes);
int __wrap_bind(int fd, const struct sockaddr *at, socklen_t bytes)
{
	return fails("bind", EADDRINUSE) ? -1 : __real_bind(fd, at, bytes);
}

int __real_listen(int fd, int backlog);
int __wrap_listen(int fd, int backlog);
int __wrap_listen(int fd, int backlog)
{
	return fails("listen", ENOBUFS) ? -1 : __real_listen(fd, backlog);
}

int __real_connect(int fd, const struct sockaddr *at, socklen_t bytes);
int __wrap_connect(int fd, const struct sockaddr *at, socklen_t bytes);
int __wrap_connect(int fd, const struct sockaddr *at, socklen_t bytes)
{
	return fails("connect", ECONNREFUSED) ? -1
					      : __real_connect(fd, at, bytes);
}

ssize_t __real_getrandom(void *to, size_t bytes, unsigned flags);
ssize_t __wrap_getrandom(void *to, size_t bytes, unsigned flags);
ssize_t __wrap_getrandom(void *to, size_t bytes, unsigned flags)
{
	return fails("getrandom", ENOSYS) ? -1
					  : __real_getrandom(to, bytes, flags);
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*main)(void *), void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*main)(void *), void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*main)(void *), void *arg)
{
	if (fails("pthread_create", EAGAIN))
		return EAGAIN;
	return __real_pthread_create(thread, attributes, main, arg);
}
