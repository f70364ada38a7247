#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The host benchmark: one line "name value target" a figure. Ratios are taken in one run, in
# turn, as medians; the others are sizes and differences of times. Wants an idle machine.
# Run it from the build's folder, or with top_builddir set; words after it go to host_gemm
# (repeats, then sizes; as they stand: the quick level's size and a large one).
set -eu -o pipefail
build=$(cd "${top_builddir:-.}" && pwd)
rounds=${rounds:-7}
ranks=4
make -s -C "$build" fabricheck tests/bench/host_gemm tests/bench/mpi_start
scratch=$(mktemp -d "${TMPDIR:-/tmp}/fc-bench-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
if [ "$(id -u)" = 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
launch() { mpirun -q --oversubscribe --bind-to none -np $ranks "$@"; }
now_us() { echo "${EPOCHREALTIME/[.,]/}"; }
median() { sort -n | awk '{x[NR] = $1} END {print x[int((NR + 1) / 2)]}'; }

echo "# $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores," \
    "$(uname -sr), $("$build/fabricheck" --version)"

[ $# -gt 0 ] || set -- 9 1280 4096
"$build/tests/bench/host_gemm" "$@" | grep -v '^#'

# Microseconds from the launch until all ranks have passed MPI_Init.
mpi_start() {
    local begin
    begin=$(now_us)
    launch "$build/tests/bench/mpi_start" | while read -r _; do
        echo $(($(now_us) - begin))
    done
}

# Microseconds from the launch until the first measured line is in the journal.
first_record() {
    local begin run
    begin=$(now_us)
    launch "$build/fabricheck" run -q --out "run-$1" --probes config >/dev/null &
    run=$!
    until grep -qsE '"type":"(fact|record)"' "run-$1/journal.jsonl"; do sleep 0.005; done
    echo $(($(now_us) - begin))
    wait $run || true
}
for i in $(seq "$rounds"); do
    mpi_start >>mpi
    first_record "$i" >>first
done
awk -v f="$(median <first)" -v m="$(median <mpi)" \
    'BEGIN {printf "start_to_first_record_beyond_mpi_s %.2f <=3\n", (f - m) / 1e6}'

# The largest resident set that a rank ever had (VmHWM), in a run whose buffers take 2 MiB.
launch "$build/fabricheck" run -q --out rss --probes collectives -b 4 -e 64K >/dev/null &
run=$!
hwm_kib=0
while kill -0 $run 2>/dev/null; do
    for status in $(pgrep -f "fabricheck run -q --out rss" | sed 's|.*|/proc/&/status|'); do
        kib=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "$status" 2>/dev/null || true)
        [ "${kib:-0}" -le "$hwm_kib" ] || hwm_kib=$kib
    done
    sleep 0.05
done
wait $run || true
awk -v k="$hwm_kib" 'BEGIN {printf "rank_resident_MB %.1f <=60\n", k * 1024 / 1e6 - 2 * 1.048576}'
