dnl SPDX-License-Identifier: BSD-3-Clause
dnl QO_PROVIDER([name], [description], [checks])
dnl
dnl One line in configure.ac per folder providers/<name>. It adds
dnl --enable/--disable-provider-<name>, the automake conditional
dnl PROVIDER_<NAME> and HAVE_PROVIDER_<NAME> (1 or 0) in config.h.
dnl [checks] look for what the provider needs; they set
dnl qo_provider_usable=no when it is not there. A provider that was asked for
dnl by name and can't be built is an error; one that was not is left out.
AC_DEFUN([QO_PROVIDER], [
  AC_ARG_ENABLE([provider-$1],
    [AS_HELP_STRING([--disable-provider-$1], [leave out: $2])],
    [], [enable_provider_$1=auto])
  qo_provider_usable=yes
  AS_IF([test "x$enable_provider_$1" != xno], [m4_default([$3], [:])],
    [qo_provider_usable=no])
  AS_IF([test "x$enable_provider_$1$qo_provider_usable" = xyesno],
    [AC_MSG_ERROR([provider $1 was asked for and can not be built])])
  AM_CONDITIONAL([PROVIDER_]m4_toupper([$1]), [test $qo_provider_usable = yes])
  AC_DEFINE_UNQUOTED([HAVE_PROVIDER_]m4_toupper([$1]),
    [`test $qo_provider_usable = yes && echo 1 || echo 0`],
    [Whether provider $1 is built ($2).])
  AS_IF([test $qo_provider_usable = yes],
    [qo_providers="$qo_providers $1"])
])
