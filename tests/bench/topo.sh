#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The benchmark of pictures: one line "name value target" a figure. Of topo, milliseconds from
# the command's start to its end, medians of processes run in turn (rounds=15). The corpus of
# real machines' files is ${FC_SHARED:-../shared}/corpus; without it the project's own fixtures
# are read. Run it from the build's folder, or with top_builddir set.
set -eu -o pipefail
build=$(cd "${top_builddir:-.}" && pwd)
source=${top_srcdir:-$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)}
rounds=${rounds:-15}
make -s -C "$build" fabricheck tests/topo/hwloc_counts tests/bench/pictures
scratch=$(mktemp -d "${TMPDIR:-/tmp}/fc-bench-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
now_us() { echo "${EPOCHREALTIME/[.,]/}"; }
median() { sort -n | awk '{x[NR] = $1} END {print x[int((NR + 1) / 2)]}'; }
time_us() { # COMMAND…
    local begin
    begin=$(now_us)
    "$@" >/dev/null 2>&1 || true
    echo $(($(now_us) - begin))
}

echo "# $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores," \
    "$(uname -sr), $("$build/fabricheck" --version)"

files=${FC_SHARED:-$source/../shared}/corpus/files
[ -d "$files" ] || files=$source/tests/fixtures/topo
largest='' # the picture that takes longest: all are tried once
slowest=0
for file in "$files"/*.xml "$files"/*.json; do
    [ -r "$file" ] || continue
    us=$(time_us "$build/fabricheck" topo --from "$file" --format json)
    if [ "$us" -gt "$slowest" ]; then
        slowest=$us
        largest=$file
    fi
done
biggest=$(find "$files" -name '*.xml' -printf '%s %p\n' | sort -n | tail -n 1 | cut -d ' ' -f 2-)
for _ in $(seq "$rounds"); do
    time_us "$build/tests/topo/hwloc_counts" >>"$scratch/hwloc"
    time_us "$build/fabricheck" topo >>"$scratch/live"
    time_us "$build/fabricheck" topo --format svg >>"$scratch/svg"
    time_us "$build/fabricheck" topo --from "$largest" --format json >>"$scratch/slowest"
    time_us "$build/fabricheck" topo --from "$biggest" --format json >>"$scratch/biggest"
done
report() { # NAME MICROSECONDS TARGET
    awk -v n="$1" -v us="$2" -v t="$3" 'BEGIN {printf "%s %.1f <=%s\n", n, us / 1000, t}'
}
hwloc=$(median <"$scratch/hwloc")
report topo_live_beyond_hwloc_ms $(($(median <"$scratch/live") - hwloc)) 100
report topo_live_svg_beyond_hwloc_ms $(($(median <"$scratch/svg") - hwloc)) 100
echo "# slowest: ${largest##*/}; largest: ${biggest##*/}"
report topo_slowest_file_ms "$(median <"$scratch/slowest")" 300
report topo_largest_file_ms "$(median <"$scratch/biggest")" 300
# 1024 nodes' pictures: what their leaders do, what rank 0 gathers and writes, and what it
# judges at the end, in CPU time and in memory beyond what it had.
TMPDIR=$scratch "$build/tests/bench/pictures"
