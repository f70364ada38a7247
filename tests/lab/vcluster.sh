#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A virtual cluster with real Slurm, PMIx and Open MPI (doc/labs.md): one cluster of four nodes
# with slow links, in which every case_* of tests/lab/vcluster/cases-*.sh runs. FC_LAB_CASES
# chooses cases by a regular expression.
. "${top_srcdir:?run by make check}/tests/tap.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
lab=$top_srcdir/tests/lab/vcluster
"$lab/vcluster" --check 2>"$scratch/missing" ||
    skip_all "$(sed -n 's/^vcluster: //p' "$scratch/missing" | tail -n 1)"

# What could be left, seen from outside.
host() {
    compgen -G '/sys/class/net/*' | grep -E '/(br|veth)[0-9]+$'
    grep vcluster /proc/mounts
}
host >"$scratch/before"
export TMPDIR=$scratch
relay "four nodes" "$lab/vcluster" --gpus 2 --rate 50mbit --timeout 500 bash "$lab/inside.sh"
host >"$scratch/after"

"$lab/vcluster" --no-slurm --nodes 2 bash -c 'exit 7'
ok "the command's exit status is given back" [ $? = 7 ]
"$lab/vcluster" --no-slurm --nodes 2 --timeout 1 sleep 100
ok "a command that takes too long is ended" [ $? = 124 ]

# ends_with SIGNAL: nothing of a cluster is left a moment after vcluster got it.
ends_with() {
    local cluster tag=fc-lab-$$-$1
    "$lab/vcluster" --no-slurm --nodes 2 bash -c '. "$FC_CLUSTER"
        on_node node2 bash -c "exec -a $1 sleep 300" &
        exec -a "$1" sleep 300' - "$tag" >/dev/null 2>&1 &
    cluster=$!
    for _ in {1..200}; do
        [ "$(pgrep -c -f "^$tag")" != 2 ] || break
        sleep 0.1
    done
    [ "$(pgrep -c -f "^$tag")" = 2 ] || { echo "# it did not come up" && return 1; }
    kill -"$1" $cluster
    wait $cluster 2>/dev/null
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        pgrep -f "^$tag" >/dev/null || return 0
        sleep 0.5
    done
    return 1
}
for signal in TERM KILL; do
    ok "SIG$signal: everything goes" ends_with $signal
done
ok "nothing is left on this machine" cmp -s "$scratch/before" "$scratch/after"
done_testing
