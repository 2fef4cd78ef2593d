dnl SPDX-License-Identifier: BSD-3-Clause
dnl QO_MPI([name], [wrapper to look for], [compile query], [link query])
dnl
dnl libqoffload-mpi is built once per MPI, in one build tree, by the ordinary
dnl compiler: the wrapper is only asked for its flags. Sets and substitutes
dnl NAME_CC, NAME_CFLAGS and NAME_LIBS; the conditional is HAVE_NAME.
dnl --with-<name>=DIR takes DIR/bin/mpicc, --with-<name>=FILE takes FILE.
AC_DEFUN([QO_MPI], [
  m4_pushdef([qo_NAME], m4_toupper([$1]))
  AC_ARG_WITH([$1],
    [AS_HELP_STRING([--with-$1=PATH],
      [build libqoffload-mpi-$1 with this prefix or wrapper (default: $2)])],
    [], [with_$1=auto])
  AS_CASE([$with_$1],
    [no], [qo_mpi_cc=],
    [yes|auto], [AC_PATH_PROG(qo_NAME[_CC], [$2])
      qo_mpi_cc=$qo_NAME[]_CC],
    [AS_IF([test -d "$with_$1"],
       [qo_mpi_cc=$with_$1/bin/mpicc], [qo_mpi_cc=$with_$1])])
  qo_mpi_usable=no
  AS_IF([test -n "$qo_mpi_cc"], [
    AC_MSG_CHECKING([what $qo_mpi_cc adds for $1])
    qo_NAME[]_CFLAGS=`$qo_mpi_cc $3 2>/dev/null | QO_MPI_WORDS([-I -D])`
    qo_NAME[]_LIBS=`$qo_mpi_cc $4 2>/dev/null | QO_MPI_WORDS([-L -l -Wl])`
    AC_MSG_RESULT([$qo_NAME[]_CFLAGS $qo_NAME[]_LIBS])
    qo_save_CPPFLAGS=$CPPFLAGS qo_save_LIBS=$LIBS
    CPPFLAGS="$CPPFLAGS $qo_NAME[]_CFLAGS" LIBS="$LIBS $qo_NAME[]_LIBS"
    AC_MSG_CHECKING([whether a program links with $1])
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[@%:@include <mpi.h>]],
      [[int version, sub; return MPI_Get_version(&version, &sub);]])],
      [qo_mpi_usable=yes])
    AC_MSG_RESULT([$qo_mpi_usable])
    CPPFLAGS=$qo_save_CPPFLAGS LIBS=$qo_save_LIBS
  ])
  AS_CASE([$with_$1:$qo_mpi_usable], [no:*|auto:*|*:yes], [],
    [AC_MSG_ERROR([$1 was asked for and does not work: $qo_mpi_cc])])
  qo_NAME[]_CC=$qo_mpi_cc
  AC_SUBST(qo_NAME[_CC]) AC_SUBST(qo_NAME[_CFLAGS]) AC_SUBST(qo_NAME[_LIBS])
  AM_CONDITIONAL([HAVE_]qo_NAME, [test $qo_mpi_usable = yes])
  AS_IF([test $qo_mpi_usable = yes], [qo_mpis="$qo_mpis $1"])
  m4_popdef([qo_NAME])
])

dnl A filter: keeps the words that begin with one of these prefixes, one each,
dnl and drops -L of a folder that the linker searches anyway, so that no
dnl pkg-config file carries -L/usr/lib.
AC_DEFUN([QO_MPI_WORDS], [tr ' ' '\n' |
      grep -E -e "^(m4_bpatsubst([$1], [ ], [|]))" |
      grep -v -E -e '^-L/(usr/)?lib(64|/@<:@^/@:>@*-linux-@<:@^/@:>@*)?/?$' |
      awk '!seen@<:@$[]0@:>@++' | tr '\n' ' ' | sed 's/ *$//'])
