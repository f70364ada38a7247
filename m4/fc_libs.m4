dnl SPDX-License-Identifier: BSD-3-Clause
dnl FC_REQUIRED_LIBS: what the program cannot be built without.
dnl Headers of others come through -isystem, so that the house's warnings are about its own code.
AC_DEFUN([FC_SYSTEM_INCLUDES], [$1=`AS_ECHO(["$$1"]) | sed 's/-I/-isystem /g'`])

AC_DEFUN([FC_REQUIRED_LIBS], [
PKG_CHECK_MODULES([JANSSON], [jansson >= 2.10], [],
  [AC_MSG_ERROR([jansson >= 2.10 not found (Debian: libjansson-dev)])])
PKG_CHECK_MODULES([INIH], [inih], [],
  [AC_MSG_ERROR([inih not found (Debian: libinih-dev)])])
PKG_CHECK_MODULES([XXHASH], [libxxhash], [],
  [AC_MSG_ERROR([xxhash not found (Debian: libxxhash-dev)])])
PKG_CHECK_MODULES([LIBXML2], [libxml-2.0 >= 2.9], [],
  [AC_MSG_ERROR([libxml2 >= 2.9 not found (Debian: libxml2-dev)])])
PKG_CHECK_MODULES([HWLOC], [hwloc >= 2.1], [],
  [AC_MSG_ERROR([hwloc >= 2.1 not found (Debian: libhwloc-dev)])])
fc_hwloc_version=`$PKG_CONFIG --modversion hwloc`
PKG_CHECK_MODULES([OPENBLAS], [openblas], [],
  [AC_MSG_ERROR([OpenBLAS not found (Debian: libopenblas-dev)])])
fc_openblas_version=`$PKG_CONFIG --modversion openblas`
PKG_CHECK_MODULES([MPI], [ompi-c], [fc_mpi_version=`$PKG_CONFIG --modversion ompi-c`],
  [AC_MSG_ERROR([Open MPI not found (Debian: libopenmpi-dev; elsewhere set PKG_CONFIG_PATH to the folder of ompi-c.pc)])])
FC_SYSTEM_INCLUDES([MPI_CFLAGS])
FC_SYSTEM_INCLUDES([HWLOC_CFLAGS])
FC_SYSTEM_INCLUDES([LIBXML2_CFLAGS])
FC_SYSTEM_INCLUDES([OPENBLAS_CFLAGS])
AC_SEARCH_LIBS([pthread_create], [pthread])
AC_SEARCH_LIBS([dlopen], [dl])
AC_SEARCH_LIBS([sqrt], [m])
])

dnl FC_HEADERS_ONLY(NAME, option, header, default folders, what it is for)
dnl --with-X=DIR|yes|no: explicit and missing is an error, unset is automatic.
AC_DEFUN([FC_HEADERS_ONLY], [
AC_ARG_WITH([$2],
  [AS_HELP_STRING([--with-$2=DIR], [$5 (headers only, for compile-time checks)])],
  [], [with_$2=auto])
fc_$2_summary=no
AS_IF([test "x$with_$2" != xno], [
  AS_CASE([$with_$2], [yes|auto], [fc_dirs="$4"], [fc_dirs=$with_$2])
  for fc_dir in $fc_dirs; do
    AS_IF([test "x$fc_$2_summary" = xno && test -r "$fc_dir/include/$3"], [
      fc_$2_summary=$fc_dir
      $1_CFLAGS="-isystem $fc_dir/include"
      AC_DEFINE([HAVE_$1_HEADERS], [1], [Define to 1 if the $1 headers were found])])
  done
  AS_IF([test "x$fc_$2_summary" = xno && test "x$with_$2" != xauto],
    [AC_MSG_ERROR([--with-$2: $3 not found in: $fc_dirs])])
])
AM_CONDITIONAL([HAVE_$1_HEADERS], [test "x$fc_$2_summary" != xno])
AC_SUBST([$1_CFLAGS])
])
AC_DEFUN([FC_WITH_CUDA], [FC_HEADERS_ONLY([CUDA], [cuda], [cuda_runtime_api.h],
  [${CUDA_HOME:-/usr/local/cuda} /usr/local/cuda /usr], [CUDA runtime])])
AC_DEFUN([FC_WITH_NCCL], [FC_HEADERS_ONLY([NCCL], [nccl], [nccl.h],
  [${NCCL_HOME:-/usr/local/cuda} /usr/local/cuda /usr /usr/local], [NCCL])])

dnl FC_WITH_VERBS: libibverbs; without it the program knows no RDMA. 1.11 is the first with
dnl ibv_query_gid_table.
AC_DEFUN([FC_WITH_VERBS], [
AC_ARG_WITH([verbs],
  [AS_HELP_STRING([--with-verbs], [RDMA through libibverbs (default: if found)])],
  [], [with_verbs=auto])
fc_verbs_summary=no
AS_IF([test "x$with_verbs" != xno], [
  PKG_CHECK_MODULES([VERBS], [libibverbs >= 1.11], [
    fc_verbs_summary=`$PKG_CONFIG --modversion libibverbs`
    AC_DEFINE([HAVE_VERBS], [1], [Define to 1 if libibverbs was found])], [
    AS_IF([test "x$with_verbs" != xauto],
      [AC_MSG_ERROR([--with-verbs: libibverbs >= 1.11 not found (Debian: libibverbs-dev)])])])
])
FC_SYSTEM_INCLUDES([VERBS_CFLAGS])
AM_CONDITIONAL([HAVE_VERBS], [test "x$fc_verbs_summary" != xno])
FC_BESIDE_VERBS([RDMACM], [rdmacm], [librdmacm], [connections through rdma_cm])
FC_BESIDE_VERBS([EFADV], [efa], [libefa], [SRD queue pairs of AWS EFA])
])

dnl FC_BESIDE_VERBS(NAME, option, pkg-config module, what it is for): only with libibverbs.
AC_DEFUN([FC_BESIDE_VERBS], [
AC_ARG_WITH([$2], [AS_HELP_STRING([--with-$2], [$4 (default: if $3 is found)])],
  [], [with_$2=auto])
fc_$2_summary=no
AS_IF([test "x$with_$2" = xauto && test "x$fc_verbs_summary" = xno], [with_$2=no])
AS_IF([test "x$with_$2" != xno], [
  PKG_CHECK_MODULES([$1], [$3], [
    fc_$2_summary=`$PKG_CONFIG --modversion $3`
    AC_DEFINE([HAVE_$1], [1], [Define to 1 if $3 was found])], [
    AS_IF([test "x$with_$2" != xauto], [AC_MSG_ERROR([--with-$2: $3 not found])])])
  AS_IF([test "x$fc_$2_summary" != xno && test "x$fc_verbs_summary" = xno],
    [AC_MSG_ERROR([--with-$2 needs libibverbs])])
])
FC_SYSTEM_INCLUDES([$1_CFLAGS])
AM_CONDITIONAL([HAVE_$1], [test "x$fc_$2_summary" != xno])
])

dnl FC_CMOCKA: the unit tests need it, the program does not.
AC_DEFUN([FC_CMOCKA], [
PKG_CHECK_MODULES([CMOCKA], [cmocka],
  [fc_cmocka_summary=`$PKG_CONFIG --modversion cmocka`],
  [fc_cmocka_summary="no (Debian: libcmocka-dev)"])
AM_CONDITIONAL([HAVE_CMOCKA], [test -n "$CMOCKA_LIBS"])
])
