#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every probe's check can fail: a double makes one rank slow, wrong, dead or hung, and the
# verdict names that rank's node and no other. A healthy control runs beside, on the same
# doubles without a fault.
. "${top_srcdir:?run by make check}/tests/tap.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
cd "${scratch:?}" || exit 1
export FABRICHECK_DEADLINE=10s

# The rank that is faulty, and so the node that must be blamed, is drawn anew each time.
# Two ranks, so that each has a core of its own: a limit holds for no rank that shares one.
[ "$(nproc)" -ge 2 ] || skip_all "two ranks need two cores"
draw() { echo $((RANDOM % 2)); }
nodes="n0 n1"

# Slowness is not judged on a machine that others use at the same time: then, and only
# then, the truth is 3 where a quiet machine gives 1.
others_were_busy() {
    [ "$(jq '[.findings[] | select(.check == "config.foreign_load")] | length' report.json)" -gt 0 ]
}

# as_expected GOT WANTED
as_expected() {
    [ "$1" = "$2" ] || { [ "$1:$2" = 3:1 ] && others_were_busy; }
}

# faulty NAME STATUS CHECK FAULT [ARGS…]: FAULT on rank $victim.
faulty() {
    local name=$1 status=$2 check=$3 fault=$4 dir=$scratch/run-$tests
    shift 4
    FABRICHECK_FAULT=$fault mpirun_n 2 "$on_nodes" "$nodes" "$double" run --out "$dir" "$@" \
        >out 2>err
    local got=$?
    show out
    "$double" judge "$dir" --json >report.json 2>judge-err
    ok "$name: judged offline with status $status" as_expected $? "$status"
    # mpirun's own status tells the signal that ended a rank
    ok "$name: status $status" as_expected "$([ $got -gt 128 ] && echo 3 || echo $got)" "$status"
    ok "$name: check $check names n$victim" blames "$check" "n$victim"
    ok "$name: n$((1 - victim)) is not blamed" innocent "n$((1 - victim))"
    ok "$name: stamped simulated" grep -q '"simulated":true' "$dir/journal.jsonl"
    rm -rf "$dir"
}

# blames CHECK NODE: a finding, or for "coverage" a gap, of that check about that node.
blames() {
    local hits
    if [ "$1" = coverage ]; then
        hits=$(jq --arg n "$2" '[.coverage[] | select(.node == $n)] | length' report.json)
    else
        hits=$(jq --arg c "$1" --arg n "$2" '[.findings[] | select(.check == $c and
            .severity != "info" and (.subject.node == $n or (.message | contains($n))))] |
            length' report.json)
    fi
    [ "${hits:-0}" -gt 0 ] && return 0
    jq -c '.findings[] | [.severity, .check, .subject, .message]' report.json | show
    jq -c '.coverage[]' report.json | show
    return 1
}

innocent() { # NODE: whatever its verdict, it is not FAIL
    [ "$(jq -r --arg n "$1" '.nodes[] | select(.name == $n) | .verdict' report.json)" != FAIL ] &&
        return 0
    jq -c '.findings[] | [.severity, .check, .subject, .message]' report.json | show
    return 1
}

FABRICHECK_FAULT='' mpirun_n 2 "$on_nodes" "$nodes" "$double" run --out control >out 2>err
control=$?
show out
control_is_clean() {
    [ $control != 2 ] && ! grep -qE 'result.wrong|result.failed|rank.hung' control/report.json
}
ok "control: nobody is wrong, dead or hung" control_is_clean

# run_fault NAME STATUS CHECK FAULT [ARGS…]: draws the victim; RANK in FAULT becomes it.
run_fault() {
    local fault=$4
    victim=$(draw)
    faulty "$1" "$2" "$3" "${fault/RANK/rank=$victim}" "${@:5}"
}
run_fault "slow GEMM" 1 limit.floor gemm:slow:RANK:by=4 --probes device
run_fault "slow copy" 1 limit.floor copy:slow:RANK:by=4 --probes device
run_fault "wrong GEMM" 1 result.wrong gemm:wrong:RANK:from=3 --probes device
run_fault "wrong copy" 1 result.wrong copy:wrong:RANK:from=2 --probes device
run_fault "dead GEMM" 1 result.failed gemm:dead:RANK:from=2 --probes device
run_fault "hung GEMM" 1 rank.hung gemm:hang:RANK:from=2 --probes device
run_fault "crash in GEMM" 3 rank.silent gemm:crash:RANK:from=2 --probes device
run_fault "wrong all-reduce at one size" 1 result.wrong all_reduce:wrong:RANK:bytes=65536 \
    --probes collectives
run_fault "wrong reduce-scatter" 1 result.wrong reduce_scatter:wrong:RANK --probes collectives
run_fault "dead all-reduce" 1 result.failed all_reduce:dead:RANK:from=5 --probes collectives
run_fault "facts that hang" 3 coverage facts:hang:RANK --probes config
run_fault "facts that crash" 3 coverage facts:crash:RANK --probes config
run_fault "facts that cannot be read" 3 coverage facts:dead:RANK --probes config
run_fault "facts unlike the other's" 0 config.differs facts:differ:RANK --probes config

# A hung collective: nobody can tell whose fault it is, but it is named and it ends.
FABRICHECK_FAULT="all_reduce:hang:rank=1:from=5" mpirun_n 2 "$on_nodes" "$nodes" "$double" \
    run --out hung --probes collectives >out 2>err
ok "hung all-reduce: status 1" [ $? = 1 ]
show out
ok "hung all-reduce: the operation is named" grep -q "all_reduce" err
"$double" judge hung --json >report.json
ok "hung all-reduce: judged offline" [ $? = 1 ]
ok "hung all-reduce: the report names it" grep -q '"collective.hung"' report.json

# A device that fails between the communicator's steps: the others are not left waiting.
FABRICHECK_FAULT="copy:dead:rank=1:from=2" mpirun_n 2 "$double" \
    run --out dead --probes collectives -b 4M -e 4M >out 2>err
ok "dead copy of a limit: status 1" [ $? = 1 ]
show out
cp dead/report.json report.json
ok "dead copy of a limit: named" blames result.failed "$(jq -r '.nodes[0].name' report.json)"
ok "dead copy of a limit: nobody hung" sh -c '! grep -q "deadline" dead/journal.jsonl'

# Slow communication inside one node misses the limit of that node.
FABRICHECK_FAULT="all_reduce:slow:rank=1:by=60:bytes=4194304" mpirun_n 2 "$double" \
    run --out slow --probes collectives -b 4M -e 4M >out 2>err
status=$?
show out
cp slow/report.json report.json
ok "slow all-reduce: status 1" as_expected $status 1
ok "slow all-reduce: named" blames limit.floor "$(jq -r '.nodes[0].name' report.json)"
done_testing
