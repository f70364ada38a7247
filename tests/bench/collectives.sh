#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The host probes' benchmark: one line "name value target" a figure. Ratios are taken in one
# run, in turn, as medians. Wants an idle machine with two cores or more. Run it from the
# build's folder, or with top_builddir set. Takes half an hour; "runs=0" leaves out the
# repeated quick runs, which take most of it.
set -eu -o pipefail
build=$(cd "${top_builddir:-.}" && pwd)
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
rounds=${rounds:-31} runs=${runs:-20}
make -s -C "$build" fabricheck tests/bench/all_reduce tests/bench/mpigraph
scratch=$(mktemp -d "${TMPDIR:-/tmp}/fc-bench-XXXXXX")
busy=()
trap 'kill "${busy[@]}" 2>/dev/null; rm -rf "$scratch"' EXIT
cd "$scratch"
if [ "$(id -u)" = 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
launch() { # RANKS COMMAND…
    local n=$1
    shift
    mpirun -q --oversubscribe --bind-to none -np "$n" "$@"
}

echo "# $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores," \
    "$(uname -sr), $("$build/fabricheck" --version)"

# All-reduce of two ranks: plain MPI, our path over it, our path through shared memory.
launch 2 "$build/tests/bench/all_reduce" "$rounds" 8 65536 262144 1048576 4194304 16777216 \
    67108864 >sizes
awk '$1 == 8 || $1 == 65536 || $1 == 4194304 {
         printf "mpi_path_over_plain_%d %.3f <=1.05\n", $1, $3 / $2}
     $1 >= 262144 {printf "node_aware_speedup_%d %.2f >=2\n", $1, $2 / $4}' sizes

# Every pair of 16 members, ours and by mpiGraph's method. The phase's own time, without the
# launch; of mpiGraph the loop's alone.
members=$(seq -f 'm%.0f' -s ' ' 16)
for i in 1 2 3; do
    launch 16 "$here/../on-nodes" "$members" "$build/fabricheck" run -q --out "pairs-$i" \
        --probes pairs --pairs full >/dev/null || true
    # A sweep that failed or was cut short is no fast one.
    jq -es 'any(.type == "phase" and .name == "pairs" and .state == "end" and .status == "ok") and
        (map(select(.type == "matrix" and .attempt == 1)) |
         length == 15 and all(.pair | length == 8))' "pairs-$i/journal.jsonl" >/dev/null
    jq -s 'map(select(.type == "phase" and .name == "pairs" and .attempt == 1) | .time |
        sub("\\.[0-9]*Z$"; "Z") as $whole | capture("\\.(?<f>[0-9]+)Z$").f as $f |
        ($whole | fromdate) + ("0." + $f | tonumber)) | .[1] - .[0]' "pairs-$i/journal.jsonl" >>ours
    launch 16 "$build/tests/bench/mpigraph" | awk '{print $1}' >>theirs
done
median() { sort -n | awk '{x[NR] = $1} END {print x[int((NR + 1) / 2)]}'; }
awk -v ours="$(median <ours)" -v theirs="$(median <theirs)" 'BEGIN {
    printf "pairs_of_16_s %.2f -\nmpigraph_of_16_s %.2f -\n", ours, theirs
    printf "pairs_over_mpigraph %.3f <=0.2\n", ours / theirs}'

# Quick runs: how long one takes, and how many are not PASS, idle and beside busy loops.
quick() { # NAME COUNT
    local bad=0 begin longest=0 took
    for i in $(seq "$2"); do
        begin=${EPOCHREALTIME/[.,]/}
        launch 4 "$build/fabricheck" run --level quick --out "$1-$i" >"$1-$i.out" 2>&1 || true
        took=$((${EPOCHREALTIME/[.,]/} - begin))
        [ "$took" -gt "$longest" ] && longest=$took
        if ! grep -q '^verdict: PASS' "$1-$i.out"; then
            bad=$((bad + 1))
            grep '^verdict:' "$1-$i.out" | sed "s/^/# $1 $i: /" || echo "# $1 $i: no verdict"
        fi
    done
    echo "quick_runs_${1}_not_pass_of_$2 $bad $3"
    awk -v us="$longest" -v name="$1" \
        'BEGIN {printf "quick_run_%s_longest_s %.1f %s\n", name, us / 1e6, name == "idle" ? "<=30" : "-"}'
}
if [ "$runs" -gt 0 ]; then
    quick idle "$runs" 0
    for _ in 1 2; do
        sh -c 'while :; do :; done' &
        busy+=($!)
    done
    quick busy "$runs" "<=1"
fi
