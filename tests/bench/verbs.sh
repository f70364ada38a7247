#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The benchmark of RDMA transfers: one line "name value target" a figure, ratios of medians of
# `fabricheck bench` and perftest, run in turn with the same numbers of messages and the same
# time-out (perftest's: what a packet that rxe drops costs) between two
# ports of the verbs guest (tests/lab/verbs-guest). Wants an idle machine with two cores or more.
# Run it from the build's folder, or with top_builddir set; "rounds" (11) is how many pairs.
set -eu -o pipefail
build=$(cd "${top_builddir:-.}" && pwd)
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
rounds=${rounds:-11}
median() { sort -n | awk '{x[NR] = $1} END {print x[int((NR + 1) / 2)]}'; }

if [ "${1-}" != --inside ]; then
    make -s -C "$build" fabricheck
    echo "# $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores," \
        "$(uname -sr), $("$build/fabricheck" --version)"
    exec env rounds="$rounds" top_builddir="$build" "$here/../lab/verbs-guest/boot" --mtu 9000 \
        --timeout $((120 + rounds * 90)) bash "$here/verbs.sh" --inside
fi

# shellcheck source=tests/lab/verbs-guest/guest.sh
. "${FC_GUEST:?run by boot}"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# ours WHAT COLUMN [OPTION…], theirs TOOL COLUMN [OPTION…]: one number.
ours() {
    local what=$1 column=$2
    shift 2
    mpirun -q --oversubscribe --bind-to none -np 2 "$build/fabricheck" bench "$what" -d rxe1,rxe2 \
        "$@" 2>>errors | awk -v n="$column" '!/^#/ && $1 ~ /^[0-9]+$/ { print $n }'
}
theirs() {
    local tool=$1 column=$2
    shift 2
    perf "$tool" 2 1 "$@" 2>>errors | awk -v n="$column" '{ print $n }'
}
# Rounds in which either had no number (perftest under load) count for neither.
compare() { # NAME TARGET WHAT COLUMN SIZE COUNT [OPTION of ours…]
    local name=$1 target=$2 what=$3 column=$4 size=$5 count=$6 a b i
    shift 6
    rm -f a b
    for ((i = 0; i < rounds; i++)); do
        a=$(ours "$what" "$column" -s "$size" -n "$count" "$@") || a=""
        b=$(theirs "ib_$what" "$column" -s "$size" -n "$count") || b=""
        if [[ $a =~ ^[0-9.]*[1-9] && $b =~ ^[0-9.]*[1-9] ]]; then
            echo "$a" >>a
            echo "$b" >>b
        fi
    done
    awk -v n="$name" -v a="$(median <a)" -v b="$(median <b)" -v t="$target" -v k="$(wc -l <a)" \
        'BEGIN { printf "# %s: ours %s, perftest %s, %d pairs\n%s %.3f %s\n", n, a, b, k, n, a / b, t }'
}
compare write_bw_64k_over_perftest ">=1.0" write_bw 4 65536 300 -u 14 --report_gbits
compare write_bw_1m_over_perftest ">=1.0" write_bw 4 1048576 20 -u 14 --report_gbits
compare write_lat_8_over_perftest "<=1.1" write_lat 5 8 1000 -u 14
