#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The runtime with 1, 2, 3, 4 and 8 ranks and with unequal nodes.
. "${top_srcdir:?run by make check}/tests/tap.sh"
program=$top_builddir/tests/mpi/rte

relay_fresh() {
    rm -rf "$scratch/journal"
    relay "$@" "$scratch/journal"
}
relay_fresh "without mpirun" "$program"
for n in 1 2 3 4 8; do
    relay_fresh "$n ranks" mpirun_n "$n" "$program"
done
FC_TEST_SHAPE=2,2 relay_fresh "2+2" mpirun_n 4 "$on_nodes" "a a b b" "$program"
FC_TEST_SHAPE=3,1 relay_fresh "3+1" mpirun_n 4 "$on_nodes" "a b a a" "$program"
FC_TEST_SHAPE=1,1,1 relay_fresh "1+1+1" mpirun_n 3 "$on_nodes" "a b c" "$program"
done_testing
