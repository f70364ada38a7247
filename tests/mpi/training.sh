#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The training probe: the step itself against plain arithmetic, records of healthy runs on
# several shapes, and planted faults: a flipped bit of a weight, a straggler in computation,
# one in communication, a dead device, a hung collective.
. "${top_srcdir:?run by make check}/tests/tap.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
cd "${scratch:?}" || exit 1
export FABRICHECK_DEADLINE=20s

relay "1 process" "$top_builddir/tests/mpi/training"
for n in 2 3 4; do
    relay "$n ranks" mpirun_n $n "$top_builddir/tests/mpi/training"
done

# measure NAME FAULT LAUNCH…: a run of the probe into run/, its records in records.json
# (without those of a retest, which a busy machine may get).
measure() {
    local name=$1 fault=$2
    shift 2
    rm -rf run
    FABRICHECK_FAULT=$fault "$@" "$double" run --out run --probes training >out 2>err
    status=$?
    show out
    cat run/*.jsonl | jq -c 'select(.type == "record" and .probe == "training" and
        .params.attempt == 1)' >records.json
    "$double" judge run --json >report.json 2>judge-err
}

# has FILTER: some record of the last run passes it.
has() { [ "$(jq -c "select($1)" records.json | wc -l)" -gt 0 ]; }
# number FILTER: the median of the record that passes it; nothing when not exactly one does.
number() { jq -s "[.[] | select($1)] | if length == 1 then .[0].median else empty end" records.json; }
# holds EXPRESSION: of numbers, as jq computes it; false when one is missing.
holds() { [ "$(jq -n "$1" 2>/dev/null)" = true ]; }

healthy() { # NAME RANKS LAUNCH…
    local name=$1 ranks=$2 metric kind=node
    shift 2
    [ "$name" != 2+2 ] || kind=fabric
    measure "$name" "" "$@"
    ok "$name: it is complete" grep -q '"type":"end".*"status":"complete"' run/journal.jsonl
    for metric in step_time compute_time mfu jitter; do
        ok "$name: one $metric of all" [ -n "$(number \
            ".metric == \"training.$metric\" and .subject.kind == \"$kind\" and
             .subject.rank == null and .status == \"ok\"")" ]
    done
    for metric in comm_time exposed_comm overlap; do
        ok "$name: $metric only where there is communication" [ "$(jq -c \
            "select(.metric == \"training.$metric\" and .subject.rank == null)" \
            records.json | wc -l)" = $((ranks > 1)) ]
    done
    ok "$name: computation of each rank" [ "$ranks" = "$(jq 'select(
        .metric == "training.compute_time" and .subject.rank != null and .samples >= 1) |
        .subject.rank' records.json | sort -u | wc -l)" ]
    ok "$name: weights compared and equal on each rank" [ "$ranks" = "$(jq 'select(
        .metric == "training.step_time" and .subject.rank != null and .wrong == 0) |
        .subject.rank' records.json | sort -u | wc -l)" ]
    ok "$name: nothing is wrong" sh -c '! grep -q "\"wrong\":[1-9]" records.json'
    # Communication takes time: a step is not much faster than its computation. (Both are
    # measured on busy machines, one after the other.)
    ok "$name: a step is no shorter than its computation" holds "$(number \
        '.metric == "training.step_time" and .subject.rank == null') > 0.3 * $(number \
        '.metric == "training.compute_time" and .subject.rank == null')"
    ok "$name: judged, and no FAIL" [ $status = 0 -o $status = 3 ]
}
healthy "1 rank" 1 mpirun_n 1
for n in 2 3 4; do
    healthy "$n ranks" $n mpirun_n $n
done
healthy 2+2 4 mpirun_n 4 "$on_nodes" "n0 n0 n1 n1"

# A bit of a weight flips on one rank of three: it is named, and the layer.
victim=$((RANDOM % 3))
measure "flipped" "axpy:wrong:rank=$victim:from=12" mpirun_n 3 "$on_nodes" "n0 n1 n2"
ok "a flipped bit: status 1" [ $status = 1 ]
ok "a flipped bit: the rank's record, with step and layer" has ".wrong >= 1 and .wrong <= 2 and
    .metric == \"training.step_time\" and .subject.rank == $victim and
    (.reason | test(\"^step [0-9]+: rank $victim's weights differ .*, first in layer [0-9]+\"))"
ok "a flipped bit: no other rank's" [ "$(jq -c 'select(.wrong >= 1)' records.json | wc -l)" = 1 ]
ok "a flipped bit: blamed on its node alone" [ "$(jq -r '[.nodes[] |
    select(.verdict == "FAIL") | .name] | join(" ")' report.json)" = "n$victim" ]
ok "a flipped bit: the step is still measured" has '.metric == "training.step_time" and
    .subject.rank == null and .samples >= 1'

# Of two nobody can tell.
measure "flipped, two" "axpy:wrong:rank=$((RANDOM % 2)):from=12" mpirun_n 2 "$on_nodes" "n0 n1"
ok "a flipped bit of two replicas: status 1" [ $status = 1 ]
ok "a flipped bit of two replicas: no rank is named" [ "$(jq -c 'select(.wrong >= 1) |
    [.subject.kind, .subject.rank]' records.json)" = '["fabric",null]' ]
ok "a flipped bit of two replicas: it says so" has '.wrong >= 1 and
    (.reason | test("two cannot tell"))'

# Stragglers: late in computation, late in communication, each in its own record.
rank_ratio() { # METRIC: the victim's time over the other's
    echo "$(number ".metric == \"training.$1\" and .subject.rank == $victim") / $(number \
        ".metric == \"training.$1\" and .subject.rank == $((1 - victim))")"
}
victim=$((RANDOM % 2))
measure "slow compute" "gemm:slow:rank=$victim:by=12" mpirun_n 2
ok "late in computation: it shows" holds "$(rank_ratio compute_time) > 2"
ok "late in computation: not in communication" holds "$(rank_ratio comm_time) < 4"
victim=$((RANDOM % 2))
measure "slow comm" "all_reduce:slow:rank=$victim:by=12" mpirun_n 2
ok "late in communication: it shows" holds "$(rank_ratio comm_time) > 2"
ok "late in communication: not in computation" holds "$(rank_ratio compute_time) < 4"
ok "late in communication: the whole step sees it" holds "$(number \
    '.metric == "training.exposed_comm"') > 0"

# A device that dies keeps nobody waiting.
victim=$((RANDOM % 3))
measure "dead" "axpy:dead:rank=$victim:from=20" mpirun_n 3 "$on_nodes" "n0 n1 n2"
ok "a dead device: status 1" [ $status = 1 ]
ok "a dead device: it is complete" grep -q '"type":"end".*"status":"complete"' run/journal.jsonl
ok "a dead device: its rank's record" has ".status == \"failed\" and
    .subject.rank == $victim and (.reason | test(\"does not answer\"))"
ok "a dead device: blamed on its node alone" [ "$(jq -r '[.nodes[] |
    select(.verdict == "FAIL") | .name] | join(" ")' report.json)" = "n$victim" ]

# A communicator that fails on one rank leaves the others waiting: it has said why.
FABRICHECK_DEADLINE=5s
victim=$((RANDOM % 2))
measure "dead comm" "all_reduce:dead:rank=$victim:from=3" mpirun_n 2
ok "a dead all-reduce: its rank's record is kept" has ".status == \"failed\" and
    .subject.rank == $victim and (.reason | test(\"transport\"))"
measure "hung" "all_reduce:hang:rank=1:from=3" mpirun_n 2
ok "a hung all-reduce: status 1" [ $status = 1 ]
ok "a hung all-reduce: the operation and its bucket are named" \
    grep -q "all_reduce of bucket 1 of 2" err
ok "a hung all-reduce: the computation's records are kept" has \
    '.metric == "training.compute_time"'
done_testing
