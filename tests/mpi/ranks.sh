#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Healthy runs of 1, 2, 3, 4, 8 and 64 ranks on few cores, on even and uneven nodes: all
# probes are measured, results verified, no node is blamed.
. "${top_srcdir:?run by make check}/tests/tap.sh"
cd "${scratch:?}" || exit 1

# healthy NAME RANKS NODES COMMAND…
healthy() {
    local name=$1 ranks=$2 nodes=$3 dir="$scratch/run-$tests"
    shift 3
    # shellcheck disable=SC2086 # the options are words
    "$@" run --out "$dir" --level quick ${options-} >out 2>err
    local status=$?
    show out
    [ $status = 0 ] || show err
    # On a busy machine a floor may be missed, and of many ranks that share a core not all
    # have a limit: neither is a wrong answer here; a wrong result or a crash is.
    ok "$name: measured and judged" grep -qE "^(0|1|3)$" <<<$status
    ok "$name: $ranks ranks on $nodes nodes" \
        grep -q "\"ranks\":$ranks,\"nodes\":$nodes," "$dir/journal.jsonl"
    ok "$name: complete" grep -q '"type":"end".*"status":"complete"' "$dir/journal.jsonl"
    ok "$name: nothing wrong" sh -c '! grep -q "\"wrong\":[1-9]" "$1"' - "$dir/journal.jsonl"
    ok "$name: every rank measured its GEMM" [ "$ranks" = "$(
        grep -o '"metric":"device.gemm.fp32".*"attempt":1' "$dir/journal.jsonl" |
            grep -o '"rank":[0-9]*' | sort -u | wc -l)" ]
    ok "$name: no spool is left" [ -z "$(ls "$dir"/spool-* 2>/dev/null)" ]
    rm -rf "$dir"
}

healthy "alone, without mpirun" 1 1 "$fabricheck"
for n in 1 2 3 4 8; do
    healthy "$n ranks" $n 1 mpirun_n $n "$fabricheck"
done
healthy "2+2" 4 2 mpirun_n 4 "$on_nodes" "a a b b" "$fabricheck"
healthy "3+1" 4 2 mpirun_n 4 "$on_nodes" "a a b a" "$fabricheck"
# Each rank has a thirtieth of a core: only small messages, and what has tests of its own not.
mpi_timeout=280
options="--skip pairs,training -b 1K -e 8K -f 8"
healthy "64 ranks" 64 1 mpirun_n 64 "$fabricheck"
left=$(find /dev/shm -name '*fabricheck*' 2>/dev/null)
ok "nothing is left in /dev/shm" [ -z "$left" ]
done_testing
