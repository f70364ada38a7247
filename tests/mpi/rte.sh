#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The runtime with 1, 2, 3, 4 and 8 ranks and with unequal nodes. One TAP stream: each
# launch prints its own, whose lines are renumbered here.
. "${top_srcdir:?run by make check}/tests/tap.sh"
program=$top_builddir/tests/mpi/rte

# relay NAME LAUNCH…: runs it and passes its test points on under NAME.
relay() {
    local name=$1 points=0 planned
    shift
    "$@" >"$scratch/out" 2>"$scratch/err"
    local status=$?
    while read -r line; do
        case $line in
        ok\ *) tests=$((tests + 1)); points=$((points + 1))
               echo "ok $tests - $name: ${line#ok * - }" ;;
        not\ ok\ *) tests=$((tests + 1)); points=$((points + 1))
               echo "not ok $tests - $name: ${line#not ok * - }" ;;
        esac
    done <"$scratch/out"
    planned=$(sed -n 's/^1\.\.//p' "$scratch/out")
    ok "$name: all its tests ran, status 0" \
        [ "$status:${planned:-none}" = "0:$points" ]
    show "$scratch/err"
    rm -rf "$scratch/journal"
}

relay "without mpirun" "$program" "$scratch/journal"
for n in 1 2 3 4 8; do
    relay "$n ranks" mpirun_n "$n" "$program" "$scratch/journal"
done
FC_TEST_SHAPE=2,2 relay "2+2" mpirun_n 4 "$on_nodes" "a a b b" "$program" "$scratch/journal"
FC_TEST_SHAPE=3,1 relay "3+1" mpirun_n 4 "$on_nodes" "a b a a" "$program" "$scratch/journal"
FC_TEST_SHAPE=1,1,1 relay "1+1+1" mpirun_n 3 "$on_nodes" "a b c" "$program" "$scratch/journal"
done_testing
