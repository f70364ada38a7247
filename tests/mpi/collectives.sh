#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every collective of every communicator with 1, 2, 3, 4 and 8 ranks, on one node, on 2+2 and
# on 3+1; counts beyond 2^31 where memory allows; the path that each record names.
. "${top_srcdir:?run by make check}/tests/tap.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
cd "${scratch:?}" || exit 1
program=$top_builddir/tests/mpi/collectives

# With one process MPI starts by itself all the same.
for n in 1 2 3 4 8; do
    relay "$n ranks" mpirun_n "$n" "$program"
done
relay "2+2" mpirun_n 4 "$on_nodes" "a a b b" "$program"
relay "3+1" mpirun_n 4 "$on_nodes" "a b a a" "$program"

available_gib=$(awk '/^MemAvailable/ {print int($2 / 1048576)}' /proc/meminfo)
if [ "$available_gib" -ge 16 ]; then
    relay "large" mpirun_n 2 "$program" large
else
    skip "large" "counts beyond 2^31 need 16 GiB of memory, $available_gib are there"
fi

# The path is what the counters say, not what was asked for.
paths() { # DIR: the path names of large all-reduces over MPI, each once
    jq -r 'select(.metric == "collective.all_reduce.busbw" and .bytes >= 65536 and
        .params.algorithm == "mpi") | .path.name' "$1/journal.jsonl" | sort -u
}
measure() { # DIR
    mpirun_n 2 "$fabricheck" run --out "$1" --probes collectives -b 64K -e 1M -f 16 >out 2>err
}
OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self measure tcp
ok "tcp forced: sockets" [ "$(paths tcp)" = sockets ]
OMPI_MCA_pml=ob1 OMPI_MCA_btl=vader,self measure vader
ok "shared memory forced: shared memory" [ "$(paths vader)" = "shared memory" ]
ok "the algorithm is in the records" [ "$(jq -r 'select(.metric == "collective.all_reduce.busbw") |
    .params.algorithm' vader/journal.jsonl | sort -u | tr '\n' ,)" = "mpi,shared memory," ]
sizes="$(jq -r 'select(.metric == "collective.alltoall.busbw") | .bytes' \
    vader/journal.jsonl | sort -un | tr '\n' ' ')"
ok "sizes from -b to -e by -f" [ "$sizes" = "65536 1048576 " ]
done_testing
