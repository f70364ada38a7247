#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What is released works: "make distcheck", and then the tarball itself, without git and below
# a path with a space, by the README's command. Not in TESTS, since it builds in this build's
# folder: "make check TESTS=tests/house/distribution.sh", or ./quickstart test.
# shellcheck source=tests/house/common.bash
. "${top_srcdir:?}/tests/house/common.bash"
cd "${top_builddir:?}" || exit 1

# This make's own variables (TESTS is one) are not those of the one below.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
export XZ_OPT=-0
jobs=$(nproc)

# The last lines of a log when the command before it failed.
complaint() { # status log
    [ "$1" -eq 0 ] || {
        printf 'status %d; the end of its output:\n' "$1"
        tail -n 20 "$2"
    }
}

rm -f fabricheck-*.tar.xz
# One quick test inside: all of them run outside of distcheck.
make -j "$jobs" distcheck TESTS=tests/unit/units DISTCHECK_CONFIGURE_FLAGS=--enable-werror \
    >"$scratch/distcheck.log" 2>&1
ok_if_empty "make distcheck" "$(complaint $? "$scratch/distcheck.log")"

mkdir "$scratch/a folder"
tar -C "$scratch/a folder" --strip-components=1 -xf fabricheck-*.tar.xz
"$scratch/a folder/quickstart" build >"$scratch/build.log" 2>&1 </dev/null
ok_if_empty "the tarball builds by quickstart, below a path with a space" \
    "$(complaint $? "$scratch/build.log")"
"$scratch/a folder/build/fabricheck" list >"$scratch/list.log" 2>&1
ok_if_empty "the program from the tarball runs" "$(complaint $? "$scratch/list.log")"
rm -f fabricheck-*.tar.xz
done_testing
