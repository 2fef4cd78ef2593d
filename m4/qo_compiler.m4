dnl SPDX-License-Identifier: BSD-3-Clause
dnl QO_CHECK_FLAG([variable], [flag]): adds the flag if compiler and linker
dnl take it without a word.
AC_DEFUN([QO_CHECK_FLAG], [
  AC_MSG_CHECKING([whether $CC takes $2])
  qo_save_CFLAGS=$CFLAGS
  CFLAGS="$CFLAGS -Werror $2"
  AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])],
    [qo_flag_ok=yes; $1="$$1 $2"], [qo_flag_ok=no])
  CFLAGS=$qo_save_CFLAGS
  AC_MSG_RESULT([$qo_flag_ok])
])

dnl QO_CHECK_ATOMICS: shared words are 8 bytes and must be lock free; some
dnl targets need libatomic to link them. ATOMIC_LIBS is empty elsewhere.
AC_DEFUN([QO_CHECK_ATOMICS], [
  AC_SUBST([ATOMIC_LIBS])
  qo_save_LIBS=$LIBS
  qo_atomics=no
  for qo_try in "" "-latomic"; do
    AC_MSG_CHECKING([whether 8-byte atomics link with "$qo_try"])
    LIBS="$qo_save_LIBS $qo_try"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[
        @%:@include <stdint.h>
        @%:@include <stdatomic.h>
        _Atomic uint64_t word;
      ]], [[
        uint64_t old = 1;
        atomic_compare_exchange_strong(&word, &old, 2);
        atomic_store_explicit(&word, 3, memory_order_release);
        return (int) (atomic_load(&word) + atomic_fetch_add(&word, 1));
      ]])], [qo_atomics=yes; ATOMIC_LIBS=$qo_try])
    AC_MSG_RESULT([$qo_atomics])
    test $qo_atomics = yes && break
  done
  LIBS=$qo_save_LIBS
  AS_IF([test $qo_atomics = no],
    [AC_MSG_ERROR([8-byte atomics do not link, not even with -latomic])])
])
