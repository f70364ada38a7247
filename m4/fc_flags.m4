dnl SPDX-License-Identifier: BSD-3-Clause
dnl FC_FLAGS: C17, the house's warnings, --enable-werror, --enable-sanitizers.
AC_DEFUN([FC_FLAGS], [
AX_APPEND_COMPILE_FLAGS([-std=c17], [FC_CFLAGS])
AX_APPEND_COMPILE_FLAGS([-Wall -Wextra -Wconversion -Wshadow -Wformat=2 \
  -Wstrict-prototypes -Wmissing-prototypes -Wundef -Wvla -Wcast-qual \
  -Wdouble-promotion -Wduplicated-cond -Wlogical-op], [FC_CFLAGS])
AC_ARG_ENABLE([werror],
  [AS_HELP_STRING([--enable-werror], [treat compiler warnings as errors])],
  [fc_werror=$enableval], [fc_werror=no])
AS_IF([test "x$fc_werror" = xyes],
  [AX_APPEND_COMPILE_FLAGS([-Werror], [FC_CFLAGS])])
AC_ARG_ENABLE([sanitizers],
  [AS_HELP_STRING([--enable-sanitizers],
    [build with AddressSanitizer and UndefinedBehaviorSanitizer])],
  [fc_sanitizers=$enableval], [fc_sanitizers=no])
AS_IF([test "x$fc_sanitizers" = xyes], [
  FC_SAN_FLAGS="-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer"
  save_CFLAGS=$CFLAGS
  CFLAGS="$CFLAGS $FC_SAN_FLAGS"
  AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [],
    [AC_MSG_ERROR([--enable-sanitizers: the compiler cannot link with $FC_SAN_FLAGS])])
  CFLAGS=$save_CFLAGS
  FC_CFLAGS="$FC_CFLAGS $FC_SAN_FLAGS"
  FC_LDFLAGS="$FC_SAN_FLAGS"
])
AM_CONDITIONAL([SANITIZERS], [test "x$fc_sanitizers" = xyes])
AC_SUBST([FC_CFLAGS])
AC_SUBST([FC_LDFLAGS])
])
