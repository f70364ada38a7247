#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The rdma probe over ports of the tests' own making: who meets whom, what the journal says of
# it, and who is blamed for a slow, dead, corrupting, unproven or erring port. The victim is
# drawn; a healthy run is the control.
. "${top_srcdir:?run by make check}/tests/tap.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
cd "${scratch:?}" || exit 1
export FABRICHECK_DEADLINE=20s
program=$top_builddir/tests/double/fabricheck-rdma
on_nodes=$top_srcdir/tests/on-nodes

# start RANKS NODES OPTIONS…: a run of the probe alone in ./run.
start() {
    rm -rf run
    mpirun_n "$1" "$on_nodes" "$2" "$program" run --out run --probes rdma "${@:3}" >out 2>err
    status=$?
    jq -c 'select((.attempt // .params.attempt // 1) == 1)' run/journal.jsonl >lines.jsonl
    grep '^verdict' out | show
    return $status
}
holds() {
    [ "$(jq -s "$@" lines.jsonl)" = true ] && return 0
    grep '"matrix"' lines.jsonl | cut -c1-300 | show
    return 1
}
# finding SEVERITIES CHECK NODE TEXT: there is one, and no other node fails.
finding() {
    [ "$(jq --arg s "$1" --arg c "$2" --arg n "$3" --arg t "$4" '[.findings[] |
        select(.severity | inside($s)) | select(.check == $c and .subject.node == $n and
        (.message | contains($t)))] | length' run/report.json)" -gt 0 ] &&
        [ "$(jq --arg n "$3" '[.findings[] | select(.severity == "fail") |
            .subject.node | select(. != $n)] | length' run/report.json)" = 0 ] && return 0
    jq -c '.findings[] | [.severity, .check, .subject, .message]' run/report.json | show
    return 1
}
# Slow parts are not judged on a machine that others use; then the report says so.
found_slow() { # NODE TEXT
    if [ "$(jq '[.findings[] | select(.message | contains("not judged, since"))] | length' \
        run/report.json)" -gt 0 ]; then
        finding "warn fail" "$1" "$2" "$3"
    else
        finding fail "$1" "$2" "$3"
    fi
}

nodes="n0 n1 n2 n3"
FABRICHECK_RAILS=2 start 4 "$nodes" --level quick
ok "healthy: PASS" [ $? = 0 ]
ok "healthy: each pair of nodes along each rail, once" holds \
    '[.[] | select(.metric == "rdma.write_bw" and .type == "matrix") | .rail as $r |
        select(.peer_rail == $r) | .pair[] | [$r] + .] | length == 12 and
        (unique | length) == 12'
ok "healthy: both ways, a latency, a limit and a proven path each" holds \
    '[.[] | select(.metric == "rdma.write_bw" and .type == "matrix") |
        (.bw | flatten | all(. > 0)) and (.latency | all(. > 0)) and
        (.limit | all(. == 12.5)) and (.path | all(.name == "verbs RC"))] | all'
ok "healthy: all rails together, against the sum of their limits" holds \
    '[.[] | select(.metric == "rdma.all_rails_bw" and .type == "matrix")] |
        length == 3 and all(.limit | all(. == 25)) and all(.bw | flatten | all(. > 20))'
ok "healthy: the ports and their rails are a fact of each node" holds \
    '[.[] | select(.type == "fact") | .facts["rdma.ports"] // empty |
        map(.rail) == [0, 1]] | length == 4 and all'
ok "healthy: what was summed up has its path" holds \
    '[.[] | select(.type == "record" and .params.variant == "all pairs") |
        .path.name == "verbs RC"] | length == 3 and all'

FABRICHECK_RAILS=3 start 4 "a a b b" --level full --pairs full
ok "full: each rail with each rail" holds \
    '[.[] | select(.metric == "rdma.write_bw" and .type == "matrix") | [.rail, .peer_rail]] |
        sort == [range(3) as $a | range(3) as $b | [$a, $b]]'
ok "full: reads and sends as well" holds \
    '[.[] | select(.type == "matrix") | .metric] | unique ==
        ["rdma.all_rails_bw", "rdma.read_bw", "rdma.send_bw", "rdma.write_bw"]'
ok "full: sizes from 2 B to 8 MiB of each operation, verified" holds \
    '[.[] | select(.params.variant? == "sizes" and .unit == "GB/s")] |
        (group_by(.metric) | map(map(.bytes) | sort == [range(12) | pow(4; .) * 2]) | all) and
        length == 36 and all(.wrong == 0)'

FABRICHECK_RAILS=4 start 2 "a a" --level quick
ok "one node: its rails meet each other" holds \
    '[.[] | select(.type == "record" and .subject.kind == "link") |
        [.subject.nic, .subject.peer_nic] | sort] | length == 12 and (unique | length) == 6'
FABRICHECK_RAILS=1 start 1 "a" --level quick
ok "one port has nobody to meet: INCONCLUSIVE, said so" grep -q "nobody to meet" out
FABRICHECK_RAILS=0 start 2 "a b" --level quick
ok "no device, but demanded: INCONCLUSIVE" [ $? = 3 ]
ok "no device: said so" grep -q "no node has an RDMA device" out
rm -rf run
FABRICHECK_RAILS=0 mpirun_n 2 "$on_nodes" "a b" "$program" run --out run --level quick \
    --skip device,pairs,collectives,training >out 2>err
ok "no device, and not demanded: PASS" [ $? = 0 ]

victim=$((RANDOM % 4)) rail=$((RANDOM % 2)) v=n$((victim))
struck() { # FAULT
    FABRICHECK_RAILS=2 FABRICHECK_RDMA=n$victim:$rail:$1 start 4 "$nodes" --level quick
}
echo "# the victim is $v, rail $rail"
struck dead
ok "dead port: FAIL" [ $? = 1 ]
ok "dead port: its node and rail are named" finding fail pair.failed "$v" "rail $rail"
ok "dead port: perftest's lines for both ends" [ "$(jq --arg v "$v" --arg d "fake_$rail" '
    [.findings[] | select(.check == "pair.failed") | .reproduce] | length == 1 and
    all(contains($v + ": ib_write_bw -d " + $d))' run/report.json)" = true ]
struck down
ok "port that is down: FAIL" [ $? = 1 ]
ok "port that is down: named" finding fail result.failed "$v" "down"
struck locked
ok "port that nobody may open: INCONCLUSIVE, not FAIL" [ $? = 3 ]
ok "port that nobody may open: said so" grep -q "no right to it" run/journal.jsonl
struck corrupt
ok "corrupting port: FAIL" [ $? = 1 ]
ok "corrupting port: named as the one that receives" finding fail pair.wrong "$v" "receives"
struck slow=0.6
ok "slow port: named" found_slow pair.floor "$v" "rail $rail"
struck sends=0.6
ok "slow in one direction: named" found_slow pair.floor "$v" "that it sends"
struck grows=symbol_error
ok "growing error counter: named" finding "warn fail" rdma.counters "$v" symbol_error
struck flaps
ok "port that tells an error: named" finding "warn fail" rdma.event "$v" "port error"
struck idle
ok "counters that do not move prove nothing" holds --argjson v "$victim" \
    '[.[] | select(.metric == "rdma.write_bw" and .type == "matrix")] |
        [.[] | [.pair, .path] | transpose[] | select(.[0] | index($v))] | length > 0'
FABRICHECK_RDMA=n$victim:0:crash start 4 "$nodes" --level quick
ok "crashing worker: the run goes on and names it" finding "warn fail" worker.lost "$v" "rdma.mark"
done_testing
